"""The bytes of a decompressed tile to samples and back: the CPU reference of the tile codec.

TIFF's own steps, in TIFF's order: cut or fill the last strip, byte order, predictor, bit unpacking,
interleaved pixels to planes.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import numpy as np

from .byte_arrays import as_byte_array, enough_memory
from .errors import TiffDataError, TiffOptionError
from .packed_bits import pack_integers, unpack_integers
from .predictors import (
    byte_planes_to_floats,
    differences_to_words,
    floats_to_byte_planes,
    words_to_differences,
)
from .sample_types import bytes_to_float24, float24_to_bytes, samples_to_words, swapped, words_to_samples

if TYPE_CHECKING:
    from collections.abc import Buffer

    from numpy.typing import NDArray

    from .layout import TileLayout

__all__ = ["decode_samples", "decode_samples_into", "encode_samples"]

type Samples = NDArray[Any]


def decode_samples(raw: Buffer, layout: TileLayout, *, rows: int, cols: int, bands: int) -> Samples:
    """Decode one decompressed tile or strip.

    Args:
        raw: The decompressed bytes, pixels interleaved. Never written to. Bytes past the end of the tile
            are dropped, as libtiff does.
        layout: What the bytes mean.
        rows: Rows of a whole tile.
        cols: Columns of a whole tile.
        bands: Bands that the tile holds: 1 where every band has its own tiles.

    Returns:
        Array of shape (bands, rows, cols) and dtype `layout.dtype`, in native byte order. It may be a
        strided and read-only view of `raw`. Rows past a short last strip are zero.

    Raises:
        TiffDataError: `raw` is neither as long as a whole tile nor exactly as long as the last strip.
        TiffUnsupportedError: There is not so much memory.
        TiffOptionError: A size is not positive, or `raw` is not contiguous.
    """
    if min(rows, cols, bands) < 1:
        raise TiffOptionError("a tile must have rows, columns and bands", found=(bands, rows, cols))
    data = as_byte_array(raw)
    present = _rows_present(data.size, layout, rows=rows, cols=cols, bands=bands)
    data = data[: present * layout.row_bytes(cols, bands)]
    with enough_memory(bands * rows * cols * layout.dtype.itemsize):
        samples = _decode_rows(data, layout, present, cols, bands)
        if present == rows:
            return samples
        padded = np.zeros((bands, rows, cols), layout.dtype)
        padded[:, :present] = samples
        return padded


def decode_samples_into(
    raw: Buffer,
    layout: TileLayout,
    out: Samples,
    *,
    rows: int,
    cols: int,
    bands: int,
    first: tuple[int, int, int] = (0, 0, 0),
) -> None:
    """Decode a part of a decompressed tile or strip straight to its place, with no copy between where that can be.

    Args:
        raw: As for `decode_samples`; it must hold all rows.
        layout: What the bytes mean. Its `last_strip_rows` has no effect.
        out: Where the part goes: shape (bands, rows, cols) of the part, dtype `layout.dtype`, any strides.
        rows: Rows of the tile; of a short last strip, as many as it has.
        cols: Columns of the tile.
        bands: Bands that the tile holds.
        first: Band, row and column at which the part begins in the tile. The part must lie inside it.

    Raises:
        TiffDataError: `raw` is shorter than the tile.
        TiffOptionError: `raw` is not contiguous.
    """
    data = as_byte_array(raw)
    whole = layout.tile_bytes(rows, cols, bands)
    if data.size < whole:
        raise _incomplete(data.size, f"{whole} bytes for {rows} rows of {cols} columns and {bands} bands")
    band, row, col = first
    count, height, width = out.shape
    row_bytes = layout.row_bytes(cols, bands)
    data = data[row * row_bytes : (row + height) * row_bytes]  # rows stand by themselves, whatever the predictor
    from_edge = col == 0 and count == bands
    is_complex = layout.sample_format in ("complex_int", "complex_float")
    if layout.predictor == 2 and from_edge and not is_complex:
        words = _native_words(data, layout).reshape(height, cols, bands)
        differences_to_words(words[:, :width], out.view(words.dtype))
    elif layout.predictor == 3 and from_edge and layout.bits_per_sample != 24 and sys.byteorder == "little":
        byte_planes_to_floats(data, rows=height, cols=cols, bands=bands, out=out[..., np.newaxis].view(np.uint8))
    else:
        if layout.predictor == 1 and layout.is_whole:
            # NumPy swaps bytes while it copies
            stored = data.view(layout.dtype.newbyteorder("<" if layout.byte_order == "little" else ">"))
            samples = stored.reshape(height, cols, bands).transpose(2, 0, 1)
        else:
            samples = _decode_rows(data, layout, height, cols, bands)
        out[...] = samples[band : band + count, :, col : col + width]


def encode_samples(array: Samples, layout: TileLayout) -> bytes:
    """Encode one whole tile, the inverse of `decode_samples`.

    Args:
        array: Samples of shape (bands, rows, cols) and dtype `layout.dtype`, in either byte order.
        layout: What the bytes shall mean. Its `last_strip_rows` has no effect: all rows are written.

    Returns:
        The bytes, before compression.

    Raises:
        TiffDataError: A value does not fit into the bits per sample.
        TiffOptionError: The array has other axes or another dtype.
    """
    dtype = layout.dtype
    if array.ndim != 3 or array.size == 0 or array.dtype.newbyteorder("=") != dtype:
        raise TiffOptionError(
            "the array does not fit the layout of the tile",
            found=f"{array.dtype} of shape {array.shape}",
            supported=f"{dtype} of shape (bands, rows, cols)",
        )
    bands, rows, cols = array.shape
    pixels: Samples = np.ascontiguousarray(array.transpose(1, 2, 0), dtype=dtype)
    if layout.predictor == 3:
        if layout.bits_per_sample == 24:
            numbers = float24_to_bytes(pixels, "little")
        else:
            numbers = swapped(pixels, "little").reshape(-1).view(np.uint8)
        return floats_to_byte_planes(numbers.reshape(rows, cols, bands, -1)).tobytes()
    if layout.is_packed:
        return pack_integers(pixels.reshape(rows, cols * bands), layout.bits_per_sample).tobytes()
    if layout.bits_per_sample == 24:
        return float24_to_bytes(pixels, layout.byte_order).tobytes()
    words = samples_to_words(pixels, layout)
    if layout.predictor == 2:
        words = words_to_differences(words.reshape(rows, cols, bands))
    return swapped(words, layout.byte_order).tobytes()


def _rows_present(size: int, layout: TileLayout, *, rows: int, cols: int, bands: int) -> int:
    whole = layout.tile_bytes(rows, cols, bands)
    if size >= whole:
        return rows
    accepted = f"{whole} bytes for {rows} rows of {cols} columns and {bands} bands"
    short = layout.last_strip_rows
    if short is not None:
        short_bytes = layout.tile_bytes(short, cols, bands)
        if size == short_bytes:
            return short
        accepted += f", or {short_bytes} bytes for the {short} rows of the last strip"
    raise _incomplete(size, accepted)


def _incomplete(size: int, accepted: str) -> TiffDataError:
    return TiffDataError(
        "a tile is not complete",
        found=f"{size} bytes",
        supported=accepted,
        way_out="the file is damaged or was cut, or its metadata was made from another version of it",
    )


def _decode_rows(data: NDArray[np.uint8], layout: TileLayout, rows: int, cols: int, bands: int) -> Samples:
    if layout.predictor == 3:
        numbers = byte_planes_to_floats(data, rows=rows, cols=cols, bands=bands).reshape(-1)
        if layout.bits_per_sample == 24:
            floats: Samples = bytes_to_float24(numbers, "little")
        else:
            floats = swapped(numbers.view(layout.dtype.newbyteorder("<")), "native")
        return floats.reshape(bands, rows, cols)
    if layout.predictor == 2:
        words = _native_words(data, layout).reshape(rows, cols, bands)
        return words_to_samples(differences_to_words(words), layout).reshape(bands, rows, cols)
    if layout.is_packed:
        pixels: Samples = unpack_integers(data, layout.dtype, layout.bits_per_sample, rows=rows, per_row=cols * bands)
    elif layout.bits_per_sample == 24:
        pixels = bytes_to_float24(data, layout.byte_order)
    else:
        pixels = words_to_samples(_native_words(data, layout), layout)
    return pixels.reshape(rows, cols, bands).transpose(2, 0, 1)


def _native_words(data: NDArray[np.uint8], layout: TileLayout) -> NDArray[np.unsignedinteger]:
    order = "<" if layout.byte_order == "little" else ">"
    return swapped(data.view(f"{order}u{layout.word_bytes}"), "native")
