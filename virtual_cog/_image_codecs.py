"""The array to bytes codec of an image whose tiles are more than samples behind a decompressor."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from tiff_codecs.ccitt import CcittCodec, CcittScheme
from tiff_codecs.compression import COMPRESSIONS
from tiff_codecs.errors import TiffUnsupportedError
from tiff_codecs.jpeg import JpegCodec, encode_tables
from tiff_codecs.lerc import AdditionalCompression, LercCodec
from tiff_codecs.mixed_bits import MixedBitsCodec
from tiff_codecs.old_jpeg import OldJpegCodec, encode_header
from tiff_codecs.sgilog import SgilogCodec
from tiff_codecs.ycbcr import YcbcrCodec
from virtual_cog._tags import Tag, tag_name

if TYPE_CHECKING:
    from collections.abc import Callable

    from tiff_codecs.image_codec import ImageCodec
    from virtual_cog._image import Image

YCBCR: Final = 6

LOSSY_DNG: Final = 34892

CCITT_SCHEMES: Final[dict[int, CcittScheme]] = {2: "rle", 3: "group3", 4: "group4", 32771: "rle_word"}

LERC_COMPRESSIONS: Final[dict[int, AdditionalCompression]] = {0: "none", 1: "deflate", 2: "zstd"}


def image_codec(image: Image) -> ImageCodec | None:
    """The codec of ``image``'s tiles; None where they are samples, which the tile codec decodes.

    Raises:
        TiffUnsupportedError: the tags say something of the compression that is not known.
    """
    kind = COMPRESSIONS[image.compression].image
    if kind is not None:
        options = _OPTIONS[kind](image) if kind in _OPTIONS else {}
        return kind(last_strip_rows=image.last_strip_rows, **options)
    if is_subsampled(image):
        return YcbcrCodec(subsampling=image.subsampling, last_strip_rows=image.last_strip_rows)
    if image.is_mixed_integers:
        return MixedBitsCodec(bits_per_sample=image.bits_per_sample, last_strip_rows=image.last_strip_rows)
    return None


def _jpeg(image: Image) -> dict[str, Any]:
    tables = encode_tables(image.jpeg_tables) if image.jpeg_tables else None
    return {"ycbcr_to_rgb": _is_converted(image), "tables": tables}


def _old_jpeg(image: Image) -> dict[str, Any]:
    if not image.jpeg_tables:
        raise TiffUnsupportedError(
            "old-style JPEG without the tables to decode it",
            url=image.url,
            ifd=image.ifd,
            tag=tag_name(Tag.JPEGProc),
            supported="baseline, 8 bits, 1 or 3 interleaved bands, with the tables in the file",
            way_out="rewrite the file, e.g. `gdal_translate -of COG -co COMPRESS=JPEG`",
        )
    return {"ycbcr_to_rgb": _is_converted(image), "header": encode_header(image.jpeg_tables)}


def _is_converted(image: Image) -> bool:
    # lossy DNG says "linear raw" of RGB, and stores it as cameras' JPEGs do
    is_ycbcr = image.photometric == YCBCR or image.compression == LOSSY_DNG
    return is_ycbcr and image.tile_bands == 3 and image.ycbcr == "rgb"


def _lerc(image: Image) -> dict[str, Any]:
    if image.lerc_compression not in LERC_COMPRESSIONS:
        raise _unknown(image, Tag.LercParameters, image.lerc_compression, "0 (none), 1 (DEFLATE), 2 (ZSTD)")
    order = image.byte_order if image.dtype.itemsize > 1 else "little"
    return {"additional_compression": LERC_COMPRESSIONS[image.lerc_compression], "byte_order": order}


def _ccitt(image: Image) -> dict[str, Any]:
    if image.bits_per_sample != (1,):
        raise _unknown(image, Tag.BitsPerSample, image.bits_per_sample, "1 bit with a CCITT compression")
    scheme = CCITT_SCHEMES[image.compression]
    return {"scheme": scheme, "t4_options": image.t4_options & 7 if scheme == "group3" else 0}


def _sgilog(image: Image) -> dict[str, Any]:
    return {"scheme": "run_length" if image.compression == 34676 else "packed24"}


_OPTIONS: Final[dict[type[ImageCodec], Callable[[Image], dict[str, Any]]]] = {
    JpegCodec: _jpeg,
    OldJpegCodec: _old_jpeg,
    LercCodec: _lerc,
    CcittCodec: _ccitt,
    SgilogCodec: _sgilog,
}
"""What the tags say to each codec that has more to be told than the rows of the last strip."""


def is_subsampled(image: Image) -> bool:
    """Whether ``image`` is YCbCr that shares chroma samples, as the decompressed bytes of its tiles lie."""
    return image.photometric == YCBCR and image.subsampling != (1, 1) and COMPRESSIONS[image.compression].image is None


def _unknown(image: Image, tag: Tag, found: object, supported: str) -> TiffUnsupportedError:
    return TiffUnsupportedError(
        "a compression with an unknown parameter",
        url=image.url,
        ifd=image.ifd,
        tag=tag_name(tag),
        found=str(found),
        supported=supported,
        way_out="rewrite the file, e.g. `gdal_translate -of COG -co COMPRESS=ZSTD`",
    )
