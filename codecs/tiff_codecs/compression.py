"""The compressions of TIFF (tag 259), by number, and those that only Zarr's own codecs have, by name."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

from . import deflate, gzip, lz4, lzma, lzw, packbits, zstd
from .ccitt import CcittCodec
from .jpeg import JpegCodec
from .jpeg2000 import Jpeg2000Codec
from .jpegxl import JpegxlCodec
from .jpegxr import JpegxrCodec
from .lerc import LercCodec
from .next_rle import NextRleCodec
from .old_jpeg import OldJpegCodec
from .pixarlog import PixarlogCodec
from .png import PngCodec
from .sgilog import SgilogCodec
from .thunderscan import ThunderscanCodec
from .webp import WebpCodec

if TYPE_CHECKING:
    from collections.abc import Buffer, Callable, Mapping

    import numpy as np
    from numpy.typing import NDArray

    from .bytes_codec import TiffBytesCodec
    from .image_codec import ImageCodec

__all__ = ["BY_NAME", "COMPRESSIONS", "COMPRESSION_NAMES", "Compression"]


@dataclass(frozen=True)
class Compression:
    """A compression that is read.

    Attributes:
        number: Value of the tag Compression; None for one that TIFF has not, but Zarr's own codecs have.
        name: Lower case, without spaces.
        codec: The bytes to bytes Zarr codec; None where the bytes are stored as they are, where they are an image, and
            where the codec is Zarr's own.
        decode: `(data, size)` to at most `size` decompressed bytes; None where they are stored as they are, an image.
        gpu: Whether a GPU decodes it without the CPU.
        image: The array to bytes Zarr codec where a tile is an image of a format of its own, else None.
    """

    number: int | None
    name: str
    codec: type[TiffBytesCodec] | None
    decode: Callable[[Buffer, int], NDArray[np.uint8]] | None
    gpu: bool = False
    image: type[ImageCodec] | None = None

    @property
    def is_stored(self) -> bool:
        """Whether the bytes of a tile are its samples."""
        return self.decode is None and self.image is None


def _image(number: int, name: str, codec: type[ImageCodec], *, gpu: bool = False) -> Compression:
    return Compression(number, name, None, None, gpu=gpu, image=codec)


_ALL = (
    Compression(1, "none", None, None, gpu=True),
    Compression(5, "lzw", lzw.LzwCodec, lzw.decode, gpu=True),
    Compression(8, "deflate", deflate.DeflateCodec, deflate.decode, gpu=True),
    Compression(32773, "packbits", packbits.PackbitsCodec, packbits.decode, gpu=True),
    Compression(32946, "deflate", deflate.DeflateCodec, deflate.decode, gpu=True),
    Compression(34925, "lzma", lzma.LzmaCodec, lzma.decode),
    Compression(34926, "zstd", zstd.ZstdCodec, zstd.decode, gpu=True),
    Compression(50000, "zstd", zstd.ZstdCodec, zstd.decode, gpu=True),
    Compression(50013, "deflate", deflate.DeflateCodec, deflate.decode, gpu=True),
    *(_image(number, "ccitt", CcittCodec) for number in (2, 3, 4, 32771)),
    *(_image(number, "jpeg", JpegCodec, gpu=True) for number in (7, 33007, 34892)),
    *(_image(number, "jpeg2000", Jpeg2000Codec) for number in (33003, 33004, 33005, 34712)),
    *(_image(number, "jpegxl", JpegxlCodec) for number in (50002, 52546)),
    *(_image(number, "jpegxr", JpegxrCodec) for number in (22610, 34934)),
    *(_image(number, "sgilog", SgilogCodec) for number in (34676, 34677)),
    *(_image(number, "webp", WebpCodec) for number in (34927, 50001)),
    _image(6, "old_jpeg", OldJpegCodec),
    _image(32766, "next_rle", NextRleCodec),
    _image(32809, "thunderscan", ThunderscanCodec),
    _image(32909, "pixarlog", PixarlogCodec),
    _image(34887, "lerc", LercCodec),
    _image(34933, "png", PngCodec),
    Compression(None, "gzip", None, gzip.decode, gpu=True),
    Compression(None, "lz4", None, lz4.decode, gpu=True),
)

COMPRESSIONS: Mapping[int, Compression] = MappingProxyType(
    {compression.number: compression for compression in _ALL if compression.number is not None}
)
"""The compressions of TIFF that are read, by the value of the tag."""

BY_NAME: Mapping[str, Compression] = MappingProxyType({compression.name: compression for compression in _ALL})
"""All compressions that are read, of TIFF and of Zarr's own codecs."""

COMPRESSION_NAMES: Mapping[int, str] = MappingProxyType(
    {
        1: "none",
        2: "CCITT modified Huffman RLE",
        3: "CCITT Group 3 fax",
        4: "CCITT Group 4 fax",
        5: "LZW",
        6: "old-style JPEG",
        7: "JPEG",
        8: "DEFLATE",
        9: "JBIG on black and white",
        10: "JBIG on color",
        22610: "JPEG XR (NDPI)",
        32766: "NeXT 2-bit RLE",
        32771: "CCITT RLE with word alignment",
        32773: "PackBits",
        32809: "ThunderScan 4-bit RLE",
        32895: "IT8 CT with padding",
        32896: "IT8 linework RLE",
        32897: "IT8 monochrome picture",
        32898: "IT8 binary line art",
        32908: "Pixar companded 10-bit LZW",
        32909: "Pixar companded 11-bit DEFLATE",
        32946: "DEFLATE (PKZIP)",
        32947: "Kodak DCS",
        33003: "JPEG 2000 (Aperio, YCbCr)",
        33004: "JPEG 2000 (lossy)",
        33005: "JPEG 2000 (Aperio, RGB)",
        33007: "JPEG (alternative number)",
        34661: "ISO JBIG",
        34676: "SGI LogL",
        34677: "SGI LogLuv, 24 bits",
        34712: "JPEG 2000",
        34713: "Nikon NEF",
        34715: "JBIG2",
        34718: "Microsoft binary MDI",
        34719: "Microsoft progressive MDI",
        34720: "Microsoft vector MDI",
        34887: "LERC",
        34892: "lossy JPEG (DNG)",
        34925: "LZMA",
        34926: "Zstandard (number no longer in use)",
        34927: "WebP (number no longer in use)",
        34933: "PNG",
        34934: "JPEG XR",
        48124: "JETRAW",
        50000: "Zstandard",
        50001: "WebP",
        50002: "JPEG XL",
        50013: "DEFLATE (PIXTIFF)",
        52546: "JPEG XL (DNG)",
        65000: "Kodak DCR",
        65535: "Pentax PEF",
    }
)
"""The names of all compressions that are known to occur, for messages."""
