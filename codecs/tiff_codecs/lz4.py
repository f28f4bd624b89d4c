"""One LZ4 block behind the number of bytes it holds: no compression of TIFF, but of Zarr's codec `numcodecs.lz4`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import imagecodecs
import numpy as np

from .byte_arrays import as_byte_array, check_size, enough_memory
from .errors import TiffDataError

if TYPE_CHECKING:
    from collections.abc import Buffer

    from numpy.typing import NDArray

__all__ = ["decode"]

HEADER: Final = 4
"""Bytes of the number in front, lowest byte first."""


def decode(data: Buffer, size: int) -> NDArray[np.uint8]:
    """Decompress an LZ4 block.

    Args:
        data: The number of bytes that the block holds, and the block.
        size: The most bytes to return.

    Returns:
        New writable one-dimensional uint8 array of `size` bytes, or fewer where the block has fewer.

    Raises:
        TiffDataError: The block holds more than `size` bytes or others than it says, or is damaged. LZ4 has no
            checksum: not all damage is found.
        TiffUnsupportedError: There is not so much memory.
    """
    source = as_byte_array(data)
    if source.size <= HEADER:
        raise TiffDataError("an LZ4 block is cut short", found=f"{source.size} bytes")
    holds = int.from_bytes(source[:HEADER].tobytes(), "little")
    if holds > check_size(size):
        raise TiffDataError("an LZ4 block holds more bytes than its chunk", found=holds, supported=size)
    with enough_memory(holds):
        out = np.empty(holds, np.uint8)
        try:
            filled = len(imagecodecs.lz4_decode(source[HEADER:], header=False, out=memoryview(out)))
        except (imagecodecs.Lz4Error, ValueError) as damage:  # the latter for more than a block can hold
            raise TiffDataError("an LZ4 block is damaged", found=str(damage)) from damage
    if filled < holds:
        raise TiffDataError("an LZ4 block is damaged", found=f"{filled} bytes", supported=f"{holds}, as it says")
    return out
