"""One chunk at a time on the device: what the codecs do under zarr's own pipelines, with GPU buffers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tiff_codecs.gpu import zstd
from tiff_codecs.gpu.device import Device
from tiff_codecs.gpu.inflate import can_inflate, inflate
from tiff_codecs.gpu.lzw import can_decode_lzw, decode_lzw
from tiff_codecs.gpu.packbits import packbits
from tiff_codecs.gpu.scatter import TILE, is_supported, scatter

if TYPE_CHECKING:
    import cupy

    from tiff_codecs.layout import TileLayout

__all__ = ["decode_bytes", "decode_tile"]

ZLIB_HEADER = 2
ZLIB_TRAILER = 4


def decode_bytes(codec: str, data: cupy.ndarray, size: int) -> cupy.ndarray | None:
    """Decompress a chunk that lies on the device.

    Args:
        codec: name of the compression.
        data: its bytes, uint8 of one dimension, contiguous.
        size: the most bytes it can have.

    Returns:
        The decompressed bytes; None where the device has no decoder or cannot tell that all is right: the CPU then
        decodes it, and says what is wrong.
    """
    import cupy

    header, trailer = (ZLIB_HEADER, ZLIB_TRAILER) if codec == "deflate" else (0, 0)
    length = data.size - header - trailer
    if length < 1 or size < 1 or codec not in ("deflate", "lzw", "zstd", "packbits"):
        return None
    u8 = np.uint64
    lengths, sizes = np.array([length], u8), np.array([size], u8)
    with Device(data.device.id).current():
        out = cupy.empty(size, np.uint8)
        with Device().stream() as stream:
            # words past the last byte are read, so the bytes move to where there is room behind them
            room = cupy.empty(data.size + 32, np.uint8)
            room[: data.size] = data
            places = np.array([room.data.ptr + header], u8), lengths, np.array([out.data.ptr], u8), sizes
            outcome: Any
            if codec == "deflate":
                if not can_inflate(lengths, sizes):
                    return None
                outcome = inflate(*places, stream)
            elif codec == "lzw":
                if not can_decode_lzw(lengths, sizes):
                    return None
                outcome = decode_lzw(*places, stream)
            elif codec == "zstd":
                if not zstd.can_decode(lengths, sizes):
                    return None
                outcome = zstd.decode(*places, stream)
            else:
                outcome = packbits(*places, stream)
            status = int(outcome.statuses.get(stream=stream)[0])
            found = int(outcome.sizes.get(stream=stream)[0])
    return out[:found] if status == 0 and found <= size else None


def decode_tile(data: cupy.ndarray, layout: TileLayout, shape: tuple[int, int, int]) -> cupy.ndarray | None:
    """Decode the samples of a decompressed tile that lies on the device.

    Args:
        data: its bytes, uint8 of one dimension, contiguous.
        layout: what they mean.
        shape: of the chunk: (bands, rows, columns).

    Returns:
        The chunk, with rows past a short last strip zero; None where the device has no kernel for the layout, or
        the number of bytes is not right: the CPU then decodes it, or says what is wrong.
    """
    import cupy

    bands, rows, cols = shape
    row_bytes = layout.row_bytes(cols, bands)
    present = rows
    if data.size < rows * row_bytes:
        present = layout.last_strip_rows or 0
        if not present or data.size != present * row_bytes:
            return None
    if not is_supported(layout):
        return None
    table = np.zeros(1, TILE)
    table["source"], table["rows"], table["cols"], table["bands"] = data.data.ptr, present, cols, bands
    with Device(data.device.id).current():
        out = cupy.empty(shape, layout.dtype) if present == rows else cupy.zeros(shape, layout.dtype)
        with Device().stream() as stream:
            scatter(table, layout, out, cols=cols, bands=bands, stream=stream)
    return out
