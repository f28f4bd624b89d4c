"""DEFLATE in gzip members (RFC 1952): no compression of TIFF, but of Zarr's codec `gzip`."""

from __future__ import annotations

import gzip
import io
import zlib
from typing import TYPE_CHECKING

import imagecodecs
import numpy as np

from .byte_arrays import as_byte_array, check_size, enough_memory
from .deflate import VERIFIED_EXCESS, VERIFIED_RATIO
from .errors import TiffDataError

if TYPE_CHECKING:
    from collections.abc import Buffer

    from numpy.typing import NDArray

__all__ = ["decode"]


def decode(data: Buffer, size: int) -> NDArray[np.uint8]:
    """Decompress the beginning of one or more gzip members.

    Args:
        data: The members.
        size: The most bytes to return. Members that hold more are cut there.

    Returns:
        New writable one-dimensional uint8 array of `size` bytes, or fewer where the members have fewer.

    Raises:
        TiffDataError: A member is damaged or does not end. Checksums are verified, except behind far too
            many bytes (64 KiB and eight times the length of `data`), and behind a first member of `size` bytes.
        TiffUnsupportedError: There is not so much memory.
    """
    source = as_byte_array(data)
    with enough_memory(size):
        out = np.empty(check_size(size), np.uint8)
        try:
            filled = len(imagecodecs.gzip_decode(source, out=memoryview(out)))
        except (imagecodecs.GzipError, ValueError):  # the latter for bytes that do not begin with a header
            filled = None
        # libdeflate stops behind the first member, and wants room for all of it
        return out if filled == size else _decode_members(source, out)


def _decode_members(source: NDArray[np.uint8], out: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Decompress with Python's module, at half the speed."""
    excess, most = 0, VERIFIED_EXCESS + VERIFIED_RATIO * source.size
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(source)) as members:
            beginning = members.read(out.size)
            while excess < most and (piece := members.read(VERIFIED_EXCESS)):
                excess += len(piece)
    except (EOFError, OSError, zlib.error) as damage:
        raise TiffDataError("a gzip stream is damaged or cut short", found=str(damage)) from damage
    out = out[: len(beginning)]
    out[:] = np.frombuffer(beginning, np.uint8)
    return out
