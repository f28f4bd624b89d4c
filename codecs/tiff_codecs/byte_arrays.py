"""Bytes in and bytes out: any contiguous buffer as an array, and the memory that a decoder writes to."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from .errors import TiffOptionError, TiffUnsupportedError

if TYPE_CHECKING:
    from collections.abc import Buffer, Callable, Generator

    from numpy.typing import NDArray

__all__ = ["as_byte_array", "check_size", "decode_into", "enough_memory"]

type Fallback = Callable[[NDArray[np.uint8], NDArray[np.uint8], Exception], NDArray[np.uint8]]
"""`(source, out, error)` to the decoded bytes, where the first attempt ended in an error."""


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


@contextmanager
def enough_memory(size: int) -> Generator[None]:
    """Say how large a tile is whose decoding fails for want of memory.

    Args:
        size: Bytes of the decoded tile.

    Yields:
        Nothing: the work is done inside.

    Raises:
        TiffUnsupportedError: There was a `MemoryError` inside.
    """
    try:
        yield
    except MemoryError as error:
        raise TiffUnsupportedError(
            "a tile is larger than memory",
            found=f"{size} bytes",
            way_out="read it on a machine with more memory, or rewrite the file with smaller tiles",
        ) from error


def decode_into(
    decoder: Callable[..., Any], failure: type[Exception], fallback: Fallback, data: Buffer, size: int
) -> NDArray[np.uint8]:
    """Decompress with a function of imagecodecs, and where it fails, with a slower one that is less strict.

    Args:
        decoder: `(source, out=memory)` to the part of the memory that it filled.
        failure: What it raises.
        fallback: What then decodes, into the same memory or its own, or raises TiffDataError.
        data: The compressed bytes.
        size: The most bytes to return.

    Returns:
        New writable one-dimensional uint8 array of `size` bytes, or fewer.

    Raises:
        TiffDataError: The fallback's.
        TiffUnsupportedError: There is not so much memory.
        TiffOptionError: An impossible size, or `data` is not contiguous.
    """
    source = as_byte_array(data)
    with enough_memory(size):
        out = np.empty(check_size(size), np.uint8)
        try:
            return out[: len(decoder(source, out=memoryview(out)))]
        except failure as error:
            return fallback(source, out, error)
