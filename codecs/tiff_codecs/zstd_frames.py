"""The outer form of Zstandard data: where frames and their blocks begin and end (RFC 8878, section 3).

The decompressor at hand takes whole frames only, with room for all of their bytes and nothing behind
them. This finds the ends of frames, and makes a frame of another one's first blocks.
"""

from __future__ import annotations

from array import array
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .errors import TiffDataError

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["LARGEST_BLOCK", "Frame", "frames"]

LARGEST_BLOCK = 1 << 17
"""The most bytes that one block decompresses to."""

_MAGIC = b"\x28\xb5\x2f\xfd"
_SKIPPABLE_MAGIC = b"\x2a\x4d\x18"  # behind a byte from 0x50 to 0x5f
_CONTENT_SIZE_BYTES = (0, 2, 4, 8)
_DICTIONARY_BYTES = (0, 1, 2, 4)
_RLE = 1

# A frame header with neither content size nor checksum nor dictionary, and the largest window (2 GiB),
# which a decompressor that writes straight into the output does not allocate.
_ANY_HEADER = _MAGIC + bytes((0, 21 << 3))


@dataclass(frozen=True)
class Frame:
    """One complete frame.

    Attributes:
        data: The memory that it lies in.
        start: Its first byte.
        stop: The byte behind its last.
        blocks: Where the blocks begin, and where the last of them ends; empty in a skippable frame.
    """

    data: memoryview
    start: int
    stop: int
    blocks: array[int]

    @property
    def whole(self) -> memoryview:
        """The frame's bytes."""
        return self.data[self.start : self.stop]

    @property
    def block_count(self) -> int:
        """The number of blocks."""
        return max(len(self.blocks) - 1, 0)

    def first_blocks(self, count: int) -> bytes:
        """Make a frame of the first blocks.

        Args:
            count: How many, at least 1.

        Returns:
            A frame of its own, without content size and checksum.
        """
        part = bytearray(_ANY_HEADER)
        part += self.data[self.blocks[0] : self.blocks[count]]
        part[len(_ANY_HEADER) + self.blocks[count - 1] - self.blocks[0]] |= 1  # it is the last block now
        return bytes(part)


def frames(data: memoryview, most_blocks: int = 1 << 16) -> Iterator[Frame]:
    """Find the complete frames at the beginning of the data.

    Args:
        data: Zstandard frames, and perhaps something else behind them.
        most_blocks: How many blocks all frames together may have; a frame without any counts as one.

    Yields:
        The frames up to the first bytes that are none, or that are cut short.

    Raises:
        TiffDataError: There are more blocks.
    """
    start, left = 0, most_blocks
    while (frame := _frame_at(data, start, left)) is not None:
        yield frame
        start = frame.stop
        left -= max(frame.block_count, 1)


def _frame_at(data: memoryview, start: int, most_blocks: int) -> Frame | None:
    if len(data) - start >= 8 and bytes(data[start + 1 : start + 4]) == _SKIPPABLE_MAGIC and data[start] >> 4 == 5:
        stop = start + 8 + int.from_bytes(data[start + 4 : start + 8], "little")
        if most_blocks < 1:
            raise _flood(start)
        return Frame(data, start, stop, array("q")) if stop <= len(data) else None
    if bytes(data[start : start + 4]) != _MAGIC or len(data) - start < 6:
        return None
    descriptor = data[start + 4]
    is_single_segment = bool(descriptor & 0x20)
    content_size_bytes = _CONTENT_SIZE_BYTES[descriptor >> 6] or int(is_single_segment)
    position = start + 5 + (not is_single_segment) + _DICTIONARY_BYTES[descriptor & 3] + content_size_bytes
    blocks = array("q", (position,))
    is_last = False
    while not is_last:
        if len(blocks) > most_blocks:
            raise _flood(position)
        header = int.from_bytes(data[position : position + 3], "little")
        is_last = bool(header & 1)
        position += 3 + (1 if header >> 1 & 3 == _RLE else header >> 3)
        if position > len(data):
            return None
        blocks.append(position)
    stop = position + (4 if descriptor & 4 else 0)
    return Frame(data, start, stop, blocks) if stop <= len(data) else None


def _flood(position: int) -> TiffDataError:
    return TiffDataError("Zstandard data have absurdly many blocks", found=f"{position} bytes without an end to them")
