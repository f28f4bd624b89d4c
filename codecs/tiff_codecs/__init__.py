"""Zarr codecs for the tiles and strips of TIFF files, and the plain functions beneath them.

Zarr finds the codecs by their entry points: a process that reads an array with them imports nothing.
The functions work on bytes and NumPy arrays, without Zarr: `tiff_codecs.samples`, and `decode` and
`encode` in the module of each compression.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .ccitt import CcittCodec
    from .compression import COMPRESSION_NAMES, COMPRESSIONS, Compression
    from .deflate import DeflateCodec
    from .errors import (
        TiffAccessError,
        TiffDataError,
        TiffError,
        TiffFormatError,
        TiffNotFoundError,
        TiffOptionError,
        TiffSelectionError,
        TiffUnsupportedError,
        TiffWarning,
    )
    from .fill_order import FillOrderCodec
    from .jpeg import JpegCodec
    from .jpeg2000 import Jpeg2000Codec
    from .jpegxl import JpegxlCodec
    from .jpegxr import JpegxrCodec
    from .layout import ByteOrder, Predictor, SampleFormat, TileLayout
    from .lerc import LercCodec
    from .lzma import LzmaCodec
    from .lzw import LzwCodec
    from .mixed_bits import MixedBitsCodec
    from .next_rle import NextRleCodec
    from .old_jpeg import OldJpegCodec
    from .packbits import PackbitsCodec
    from .pixarlog import PixarlogCodec
    from .png import PngCodec
    from .samples import decode_samples, encode_samples
    from .sgilog import SgilogCodec
    from .thunderscan import ThunderscanCodec
    from .tile import TileCodec
    from .webp import WebpCodec
    from .ycbcr import YcbcrCodec
    from .zstd import ZstdCodec

__all__ = [
    "COMPRESSIONS",
    "COMPRESSION_NAMES",
    "ByteOrder",
    "CcittCodec",
    "Compression",
    "DeflateCodec",
    "FillOrderCodec",
    "Jpeg2000Codec",
    "JpegCodec",
    "JpegxlCodec",
    "JpegxrCodec",
    "LercCodec",
    "LzmaCodec",
    "LzwCodec",
    "MixedBitsCodec",
    "NextRleCodec",
    "OldJpegCodec",
    "PackbitsCodec",
    "PixarlogCodec",
    "PngCodec",
    "Predictor",
    "SampleFormat",
    "SgilogCodec",
    "ThunderscanCodec",
    "TiffAccessError",
    "TiffDataError",
    "TiffError",
    "TiffFormatError",
    "TiffNotFoundError",
    "TiffOptionError",
    "TiffSelectionError",
    "TiffUnsupportedError",
    "TiffWarning",
    "TileCodec",
    "TileLayout",
    "WebpCodec",
    "YcbcrCodec",
    "ZstdCodec",
    "decode_samples",
    "encode_samples",
]

_HOMES = {
    "ByteOrder": "layout",
    "COMPRESSIONS": "compression",
    "COMPRESSION_NAMES": "compression",
    "Compression": "compression",
    "DeflateCodec": "deflate",
    "FillOrderCodec": "fill_order",
    "LzmaCodec": "lzma",
    "LzwCodec": "lzw",
    "CcittCodec": "ccitt",
    "JpegCodec": "jpeg",
    "Jpeg2000Codec": "jpeg2000",
    "JpegxlCodec": "jpegxl",
    "JpegxrCodec": "jpegxr",
    "LercCodec": "lerc",
    "MixedBitsCodec": "mixed_bits",
    "NextRleCodec": "next_rle",
    "OldJpegCodec": "old_jpeg",
    "PixarlogCodec": "pixarlog",
    "PngCodec": "png",
    "SgilogCodec": "sgilog",
    "ThunderscanCodec": "thunderscan",
    "WebpCodec": "webp",
    "YcbcrCodec": "ycbcr",
    "PackbitsCodec": "packbits",
    "Predictor": "layout",
    "SampleFormat": "layout",
    "TiffAccessError": "errors",
    "TiffDataError": "errors",
    "TiffError": "errors",
    "TiffFormatError": "errors",
    "TiffNotFoundError": "errors",
    "TiffOptionError": "errors",
    "TiffSelectionError": "errors",
    "TiffUnsupportedError": "errors",
    "TiffWarning": "errors",
    "TileCodec": "tile",
    "TileLayout": "layout",
    "ZstdCodec": "zstd",
    "decode_samples": "samples",
    "encode_samples": "samples",
}
"""Where each name is defined: it is imported when it is first used, since the codecs bring zarr."""


def __getattr__(name: str) -> object:
    home = _HOMES.get(name)
    if home is None:
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message)
    value: object = getattr(importlib.import_module(f"{__name__}.{home}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
