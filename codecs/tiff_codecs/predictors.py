"""TIFF's predictors 2 and 3, undone and applied.

Undoing turns pixels that are interleaved in the file into planes, because that is the order in which
Zarr wants them and it costs nothing here: the running sums are written once either way.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import imagecodecs
import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

__all__ = ["byte_planes_to_floats", "differences_to_words", "floats_to_byte_planes", "words_to_differences"]

# Rows are worked on in pieces of about this many bytes, which stay in the cache of one core between
# the two passes of predictor 3.
_PIECE_BYTES = 1 << 18


def differences_to_words[WordT: np.unsignedinteger](
    words: NDArray[WordT], out: NDArray[WordT] | None = None
) -> NDArray[WordT]:
    """Undo predictor 2: add up every row, each band on its own.

    Args:
        words: Differences in native byte order, of shape (rows, cols, bands). Left as they are.
        out: Where the sums go, of shape (bands, rows, cols) with any strides; None takes new memory.

    Returns:
        The sums modulo two to the number of bits, of shape (bands, rows, cols).
    """
    rows, cols, bands = words.shape
    planes = np.empty((bands, rows, cols), words.dtype) if out is None else out
    imagecodecs.delta_decode(words, axis=1, out=planes.transpose(1, 2, 0))
    return planes


def words_to_differences[WordT: np.unsignedinteger](words: NDArray[WordT]) -> NDArray[WordT]:
    """Apply predictor 2: subtract from every word its left neighbour in the same band.

    Args:
        words: Native byte order, shape (rows, cols, bands).

    Returns:
        The differences, new memory of the same shape.
    """
    differences = np.array(words, order="C")
    np.subtract(words[:, 1:], words[:, :-1], out=differences[:, 1:])
    return differences


def byte_planes_to_floats(
    raw: NDArray[np.uint8], *, rows: int, cols: int, bands: int, out: NDArray[np.uint8] | None = None
) -> NDArray[np.uint8]:
    """Undo predictor 3: add up the bytes of every row, then gather the bytes of every number.

    A row holds the highest bytes of all its numbers, then their next ones, and so on, in files of either
    byte order. The sums run over the whole row, from one byte plane into the next, in steps of as many
    bytes as there are bands.

    Args:
        raw: `rows * cols * bands` numbers of 2, 3, 4 or 8 bytes, one-dimensional. Left as they are.
        rows: Rows of the tile.
        cols: Columns of the tile.
        bands: Bands that are interleaved.
        out: Where the bytes go, of the shape returned with any strides, or with fewer columns: then only the first
            ones are gathered. None takes new memory.

    Returns:
        The bytes of the numbers, lowest first, of shape (bands, rows, cols, bytes a number).
    """
    itemsize = raw.size // (rows * cols * bands)
    differences = raw.reshape(rows, itemsize * cols, bands)
    numbers = np.empty((bands, rows, cols, itemsize), np.uint8) if out is None else out
    wanted = numbers.shape[2]
    step = _piece_rows(rows, differences.shape[1] * bands)
    sums = np.empty((bands, step, itemsize * cols), np.uint8)
    planes = sums.reshape(bands, step, itemsize, cols)
    for piece in _pieces(rows, step):
        count = piece.stop - piece.start
        imagecodecs.delta_decode(differences[piece], axis=1, out=sums[:, :count].transpose(1, 2, 0))
        for plane in range(itemsize):
            numbers[:, piece, :, itemsize - 1 - plane] = planes[:, :count, plane, :wanted]
    return numbers


def floats_to_byte_planes(numbers: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Apply predictor 3, the inverse of `byte_planes_to_floats`.

    Args:
        numbers: The bytes of the numbers, lowest first, of shape (rows, cols, bands, bytes a number).

    Returns:
        The bytes as they stand in the file, one-dimensional, new memory.
    """
    rows, cols, bands, itemsize = numbers.shape
    planes = np.empty((rows, itemsize, cols, bands), np.uint8)
    for plane in range(itemsize):
        planes[:, plane] = numbers[:, :, :, itemsize - 1 - plane]
    return words_to_differences(planes.reshape(rows, itemsize * cols, bands)).reshape(-1)


def _piece_rows(rows: int, row_bytes: int) -> int:
    return max(1, min(rows, _PIECE_BYTES // row_bytes))


def _pieces(rows: int, step: int) -> Iterator[slice]:
    return (slice(start, min(start + step, rows)) for start in range(0, rows, step))
