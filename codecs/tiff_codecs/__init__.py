"""Zarr codecs for the tiles and strips of TIFF files, and the plain functions beneath them.

Zarr finds the codecs by their entry points: a process that reads an array with them imports nothing.
The functions work on bytes and NumPy arrays, without Zarr: `tiff_codecs.samples`, and `decode` and
`encode` in the module of each compression.
"""

from __future__ import annotations

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
from .layout import ByteOrder, Predictor, SampleFormat, TileLayout
from .lzma import LzmaCodec
from .lzw import LzwCodec
from .packbits import PackbitsCodec
from .samples import decode_samples, encode_samples
from .tile import TileCodec
from .zstd import ZstdCodec

__all__ = [
    "COMPRESSIONS",
    "COMPRESSION_NAMES",
    "ByteOrder",
    "Compression",
    "DeflateCodec",
    "FillOrderCodec",
    "LzmaCodec",
    "LzwCodec",
    "PackbitsCodec",
    "Predictor",
    "SampleFormat",
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
    "ZstdCodec",
    "decode_samples",
    "encode_samples",
]
