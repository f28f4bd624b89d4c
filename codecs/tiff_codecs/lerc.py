"""LERC, limited error raster compression: TIFF compression 34887, of libtiff (github.com/Esri/lerc)."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any, ClassVar, Literal, cast, get_args

import imagecodecs
import numpy as np

from . import deflate, zstd
from .errors import TiffOptionError
from .image_codec import ImageCodec, ImageSize, cast_samples, damaged

if TYPE_CHECKING:
    from collections.abc import Buffer

    from numpy.typing import NDArray

    from .layout import ByteOrder

__all__ = ["AdditionalCompression", "LercCodec"]

type AdditionalCompression = Literal["none", "deflate", "zstd"]

_ADDITIONAL: tuple[str, ...] = get_args(AdditionalCompression.__value__)

_HEADER_ROOM = 4096
_TYPES: tuple[str, ...] = ("i1", "u1", "i2", "u2", "i4", "u4", "f4", "f8")


@dataclass(frozen=True, slots=True)
class _Header:
    rows: int
    cols: int
    depth: int
    """Values of a pixel."""
    size: int
    """Bytes of the whole blob; what follows is another, or nothing."""
    dtype: str | None


@dataclass(frozen=True, kw_only=True)
class LercCodec(ImageCodec):
    """Zarr codec `tiff_codecs.lerc`, array to bytes.

    Floating point values that the mask of a tile leaves out come out as NaN, integers as 0, and an 8-bit tile
    with one value fewer than bands has its mask for the last band (alpha, 0 or 255), all as in libtiff.

    Attributes:
        additional_compression: What the LERC data is compressed with besides (LercParameters, tag 50674).
        byte_order: Of the file. libtiff swaps the samples of a big-endian file before it compresses them, so
            that what is decoded must be swapped back. It has no effect on 8-bit samples.
    """

    codec_name: ClassVar[str] = "tiff_codecs.lerc"
    required: ClassVar[tuple[str, ...]] = ("additional_compression",)

    additional_compression: AdditionalCompression
    byte_order: ByteOrder = "little"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.additional_compression not in _ADDITIONAL:
            raise TiffOptionError(
                "unknown compression of LERC data",
                found=repr(self.additional_compression),
                supported=", ".join(_ADDITIONAL),
            )
        if self.byte_order not in ("little", "big"):
            raise TiffOptionError("unknown byte order", found=repr(self.byte_order), supported="little, big")

    def decode_tile(
        self, data: Buffer, dtype: np.dtype[Any], *, rows: int, cols: int, bands: int, short: int | None = None
    ) -> NDArray[Any]:
        """See `ImageCodec.decode_tile`."""
        # LERC data that did not compress is as long as the pixels, with a header and a mask before them
        most = 2 * prod((rows, cols, bands, dtype.itemsize)) + _HEADER_ROOM
        if self.additional_compression == "deflate":
            data = deflate.decode(data, most)
        elif self.additional_compression == "zstd":
            data = zstd.decode(data, most)
        return super().decode_tile(data, dtype, rows=rows, cols=cols, bands=bands, short=short)

    def image_size(self, data: NDArray[np.uint8], dtype: np.dtype[Any], bands: int) -> ImageSize | None:
        """See `ImageCodec.image_size`."""
        header = _read_header(data, self.codec_name)
        if header.dtype is not None and header.dtype != dtype.str[1:]:
            raise damaged(self.codec_name, f"samples of type {header.dtype}", dtype.str[1:])
        masked = dtype == np.uint8 and header.depth == bands - 1
        return ImageSize(header.rows, header.cols, bands if masked else header.depth)

    def decode_image(
        self, data: NDArray[np.uint8], dtype: np.dtype[Any], *, rows: int, cols: int, bands: int
    ) -> NDArray[Any]:
        """See `ImageCodec.decode_image`."""
        header = _read_header(data, self.codec_name)
        # its types know only of a mask that is there
        decoded = imagecodecs.lerc_decode(data[: header.size], masks=True)
        pixels, mask = cast("tuple[NDArray[Any], NDArray[Any] | None]", decoded)
        pixels = cast_samples(pixels, dtype).reshape(rows, cols, header.depth)
        valid = None if mask is None else np.asarray(mask, bool).reshape(rows, cols)
        if header.depth < bands:
            with_alpha = np.full((rows, cols, bands), 255, dtype)
            with_alpha[..., :-1] = pixels
            if valid is not None:
                with_alpha[..., -1] *= valid
            return with_alpha
        if valid is not None and dtype.kind == "f":
            pixels[~valid] = np.nan
        # after the mask, as libtiff does: the samples that LERC had to mask were swapped ones
        return pixels.byteswap() if self.byte_order == "big" else pixels


def _read_header(data: NDArray[np.uint8], codec: str) -> _Header:
    head = data[:64].tobytes()
    if len(head) == 64 and head.startswith(b"Lerc2 "):
        (version,) = struct.unpack_from("<i", head, 6)
        at = 14 if version >= 3 else 10
        count = 7 if version >= 4 else 6
        values: tuple[int, ...] = struct.unpack_from(f"<{count}i", head, at)
        rows, cols = values[:2]
        depth = values[2] if version >= 4 else 1
        size, kind = values[-2:]
        if min(rows, cols, depth) > 0 and 0 < size <= data.size and 0 <= kind < len(_TYPES):
            return _Header(rows, cols, depth, size, _TYPES[kind])
    elif len(head) >= 34 and head.startswith(b"CntZImage "):  # the first version, of one float32 a pixel
        _, _, rows, cols = struct.unpack_from("<4i", head, 10)
        if min(rows, cols) > 0:
            return _Header(rows, cols, 1, data.size, "f4")
    raise damaged(codec, repr(head[:10]), "a LERC header, and all the bytes that it promises")
