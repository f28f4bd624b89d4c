"""Any contiguous buffer as an array of bytes, without a copy."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import numpy as np

from .errors import TiffOptionError

if TYPE_CHECKING:
    from collections.abc import Buffer

    from numpy.typing import NDArray

__all__ = ["as_byte_array", "check_size"]


def as_byte_array(data: Buffer) -> NDArray[np.uint8]:
    """View the memory of an object as bytes.

    Args:
        data: `bytes`, `bytearray`, `memoryview`, a C-contiguous NumPy array of any shape and dtype, or
            anything else with the buffer protocol.

    Returns:
        One-dimensional uint8 array on the same memory; read-only where the object is.

    Raises:
        TiffOptionError: `data` has no contiguous memory.
    """
    try:
        return np.frombuffer(data, dtype=np.uint8)
    except (TypeError, ValueError, BufferError) as error:
        raise TiffOptionError(
            "the bytes to work on must lie in one contiguous piece of host memory",
            found=f"{type(data).__name__} ({error})",
            supported="bytes, bytearray, memoryview, C-contiguous NumPy arrays",
        ) from error


def check_size(size: int) -> int:
    """Check the bound that a decompressor is given.

    Args:
        size: The most bytes to return.

    Returns:
        The same number.

    Raises:
        TiffOptionError: It is negative, or more than any memory has.
    """
    if not 0 <= size <= sys.maxsize:
        raise TiffOptionError("a decoder was asked for an impossible number of bytes", found=size)
    return size
