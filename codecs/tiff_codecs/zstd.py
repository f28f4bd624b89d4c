"""Zstandard: TIFF compression 50000, of libtiff (RFC 8878)."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING, ClassVar

import imagecodecs
import numpy as np

from .byte_arrays import as_byte_array, decode_into
from .bytes_codec import TiffBytesCodec
from .errors import TiffDataError
from .zstd_frames import LARGEST_BLOCK, frames

if TYPE_CHECKING:
    from collections.abc import Buffer

    from numpy.typing import NDArray

__all__ = ["ZstdCodec", "decode", "encode"]

# A block has up to 128 KiB; an encoder that is flushed after each row makes smaller ones. More than these
# are a flood of empty ones, which would take seconds to go through.
_FREE_BLOCKS = 1024
_LEAST_BLOCK = 64


def decode(data: Buffer, size: int) -> NDArray[np.uint8]:
    """Decompress the beginning of one or more Zstandard frames.

    Args:
        data: The frames, with or without a content size. What follows them is passed over.
        size: The most bytes to return. Frames that hold more are cut there.

    Returns:
        New writable one-dimensional uint8 array of `size` bytes, or fewer where the frames have fewer.

    Raises:
        TiffDataError: A frame is damaged or cut short, or the frames have absurdly many blocks. A
            checksum is verified where a frame has one and all of its bytes are wanted.
        TiffUnsupportedError: There is not so much memory.
    """
    return decode_into(imagecodecs.zstd_decode, imagecodecs.ZstdError, _decode_beginning, data, size)


def _decode_beginning(source: NDArray[np.uint8], out: NDArray[np.uint8], error: Exception) -> NDArray[np.uint8]:
    """Decompress as many blocks as fit, by bisection: how much a block holds is not written in it."""
    size = out.size
    data = memoryview(source)
    found = list(frames(data, _FREE_BLOCKS + size // _LEAST_BLOCK))
    if not found:
        raise TiffDataError("a Zstandard frame is damaged or cut short", found=str(error)) from error
    ends = list(accumulate(max(frame.block_count, 1) for frame in found))
    room = np.empty(size + LARGEST_BLOCK, np.uint8)

    def unpack(blocks: int) -> int | None:
        """Decompress the first blocks of all, and tell how many bytes they have, or None if they do not."""
        index = bisect_left(ends, blocks)
        frame, more = found[index], ends[index] - blocks
        codes = data[: frame.stop]
        if more:
            codes = data[: frame.start].tobytes() + frame.first_blocks(frame.block_count - more)
        try:
            return len(imagecodecs.zstd_decode(codes, out=memoryview(room)))
        except imagecodecs.ZstdError:
            return None

    filled = unpack(ends[-1])
    if filled is None:
        # Where the next block does not fit, that one may be damaged: no matter, if what is wanted lies before it.
        failing = bisect_left(range(1, ends[-1]), x=True, key=lambda blocks: unpack(blocks) is None) + 1
        filled = (unpack(failing - 1) if failing > 1 else 0) or 0
        if filled < size:
            raise TiffDataError("a Zstandard frame is damaged", found=str(error)) from error
    out = out[:filled]
    out[:] = room[: out.size]
    return out


def encode(data: Buffer) -> bytes:
    """Compress bytes into one Zstandard frame, at level 9, which is libtiff's.

    Args:
        data: Any contiguous bytes.

    Returns:
        The frame.
    """
    return bytes(imagecodecs.zstd_encode(as_byte_array(data), 9))


@dataclass(frozen=True)
class ZstdCodec(TiffBytesCodec):
    """Zarr codec `tiff_codecs.zstd`."""

    codec_name: ClassVar[str] = "tiff_codecs.zstd"
    decode_bytes = staticmethod(decode)
    encode_bytes = staticmethod(encode)
