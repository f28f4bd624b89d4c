"""Zstandard: TIFF compression 50000, of libtiff (RFC 8878)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import imagecodecs
import numpy as np

from .byte_arrays import as_byte_array, check_size
from .bytes_codec import TiffBytesCodec
from .errors import TiffDataError
from .zstd_frames import LARGEST_BLOCK, Frame, frames

if TYPE_CHECKING:
    from collections.abc import Buffer

    from numpy.typing import NDArray

__all__ = ["ZstdCodec", "decode", "encode"]


def decode(data: Buffer, size: int) -> NDArray[np.uint8]:
    """Decompress the beginning of one or more Zstandard frames.

    Args:
        data: The frames, with or without a content size. What follows them is passed over.
        size: The most bytes to return. Frames that hold more are cut there.

    Returns:
        New writable one-dimensional uint8 array of `size` bytes, or fewer where the frames have fewer.

    Raises:
        TiffDataError: A frame is damaged or cut short. A checksum is verified where a frame has one and
            all of its bytes are wanted.
    """
    source = as_byte_array(data)
    out = np.empty(check_size(size), np.uint8)
    try:
        return out[: len(imagecodecs.zstd_decode(source, out=memoryview(out)))]
    except imagecodecs.ZstdError as error:
        # There may be bytes behind the frames, or more in them than there is room for.
        filled, frame = 0, None
        for frame in frames(memoryview(source)):
            if frame.block_count:
                beginning = _decode_frame(frame, size - filled)
                out[filled : filled + beginning.size] = beginning
                filled += beginning.size
            if filled == size:
                break
        if frame is None:
            raise TiffDataError("a Zstandard frame is damaged or cut short", found=str(error)) from error
        return out[:filled]


def _decode_frame(frame: Frame, size: int) -> NDArray[np.uint8]:
    room = np.empty(size + LARGEST_BLOCK, np.uint8)
    try:
        return room[: len(imagecodecs.zstd_decode(frame.whole, out=memoryview(room)))][:size]
    except imagecodecs.ZstdError as error:
        count, filled = _decode_first_blocks(frame, room)
        # Where all blocks fit, it was not room that was wanting. Where the next one does not, it may
        # have been, or that block is damaged: no matter, if what is wanted lies before it.
        if count == frame.block_count or filled < size:
            raise TiffDataError("a Zstandard frame is damaged", found=str(error)) from error
        return room[:size]


def _decode_first_blocks(frame: Frame, room: NDArray[np.uint8]) -> tuple[int, int]:
    """Decompress as many blocks as fit, by bisection: how much a block holds is not written in it.

    Returns:
        The number of blocks, and of their bytes at the beginning of `room`.
    """
    fitting, failing = 0, frame.block_count + 1
    while failing - fitting > 1:
        middle = (fitting + failing) // 2
        try:
            imagecodecs.zstd_decode(frame.first_blocks(middle), out=memoryview(room))
            fitting = middle
        except imagecodecs.ZstdError:
            failing = middle
    if not fitting:
        return 0, 0
    # Once more, as the last attempt may have been one that failed.
    return fitting, len(imagecodecs.zstd_decode(frame.first_blocks(fitting), out=memoryview(room)))


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
