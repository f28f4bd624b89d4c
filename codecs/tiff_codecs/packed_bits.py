"""Integers of odd bit depths, packed highest bit first, every row starting on a new byte.

See TIFF 6.0, BitsPerSample (258), and section 3 on bilevel images. The byte order of the file has no
effect on them.
"""

from __future__ import annotations

import imagecodecs
import numpy as np
from numpy.typing import NDArray

from .errors import TiffDataError

__all__ = ["pack_integers", "unpack_integers"]

type Integers = NDArray[np.integer]

# imagecodecs unpacks up to 32 bits; deeper samples, which hardly occur, take the way over single bits.
_DEEPEST_IN_C = 32
_PIECE_BYTES = 1 << 18


def unpack_integers(
    raw: NDArray[np.uint8], dtype: np.dtype[np.integer], bits: int, *, rows: int, per_row: int
) -> Integers:
    """Spread packed integers over whole words.

    Args:
        raw: The rows, one-dimensional, each padded to a whole byte.
        dtype: Signed or unsigned integers of at least `bits` bits; signed ones get their sign extended.
        bits: Bits of one integer.
        rows: Number of rows.
        per_row: Integers in a row, the bands of all its pixels together.

    Returns:
        New memory of shape (rows, per_row).
    """
    unsigned = np.dtype(f"u{dtype.itemsize}")
    if bits % 8 == 0:
        words = _gather_bytes(raw, unsigned, bits // 8).reshape(rows, per_row)
    elif bits <= _DEEPEST_IN_C:
        words = imagecodecs.packints_decode(raw, unsigned, bits, runlen=per_row).reshape(rows, per_row)
    else:
        words = _gather_bits(raw.reshape(rows, -1), unsigned, bits, per_row)
    if dtype.kind == "u":
        return words
    # Moving the sample's sign to the word's sign and back copies it into all the bits between.
    spare = 8 * dtype.itemsize - bits
    np.left_shift(words, spare, out=words)
    signed = words.view(dtype)
    np.right_shift(signed, spare, out=signed)
    return signed


def pack_integers(values: Integers, bits: int) -> NDArray[np.uint8]:
    """Pack integers, the inverse of `unpack_integers`.

    Args:
        values: Shape (rows, integers in a row).
        bits: Bits of one integer.

    Returns:
        The packed rows, of shape (rows, bytes in a row).

    Raises:
        TiffDataError: A value does not fit into that many bits.
    """
    limits = (0, 2**bits - 1) if values.dtype.kind == "u" else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
    lowest, highest = int(values.min()), int(values.max())
    if lowest < limits[0] or highest > limits[1]:
        raise TiffDataError(
            f"a value does not fit into {bits} bits",
            found=f"values from {lowest} to {highest}",
            supported=f"values from {limits[0]} to {limits[1]}",
        )
    rows, per_row = values.shape
    itemsize = values.dtype.itemsize
    packed = np.empty((rows, -(-per_row * bits // 8)), np.uint8)
    step = max(1, _PIECE_BYTES // (8 * itemsize * per_row))
    for start in range(0, rows, step):
        piece = np.ascontiguousarray(values[start : start + step], dtype=f">u{itemsize}")
        single = np.unpackbits(piece.view(np.uint8).reshape(-1, per_row, itemsize), axis=-1)
        kept = single[:, :, 8 * itemsize - bits :].reshape(len(piece), per_row * bits)
        packed[start : start + step] = np.packbits(kept, axis=-1)
    return packed


def _gather_bytes(raw: NDArray[np.uint8], dtype: np.dtype[np.unsignedinteger], count: int) -> Integers:
    spread = np.zeros((raw.size // count, dtype.itemsize), np.uint8)
    for place in range(count):
        spread[:, dtype.itemsize - count + place] = raw[place::count]
    return spread.reshape(-1).view(dtype.newbyteorder(">")).astype(dtype)


def _gather_bits(raw: NDArray[np.uint8], dtype: np.dtype[np.unsignedinteger], bits: int, per_row: int) -> Integers:
    width = 8 * dtype.itemsize
    words = np.empty((len(raw), per_row), dtype)
    step = max(1, _PIECE_BYTES // (width * per_row))
    for start in range(0, len(raw), step):
        piece = raw[start : start + step]
        single = np.zeros((len(piece), per_row, width), np.uint8)
        single[:, :, width - bits :] = np.unpackbits(piece, axis=-1, count=per_row * bits).reshape(
            len(piece), per_row, bits
        )
        words[start : start + step] = np.packbits(single, axis=-1).view(f">u{dtype.itemsize}")[:, :, 0]
    return words
