"""What a JPEG says of itself before it is decoded (ISO/IEC 10918-1, B.2.2), and whether all of it is there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

__all__ = ["LOSSLESS", "JpegHeader", "decode_whole", "read_header", "segments"]

LOSSLESS: Final = frozenset((0xC3, 0xC7, 0xCB, 0xCF))
"""Markers of frames of lossless processes."""

_FRAMES: Final = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
_ALONE: Final = frozenset((0x01, *range(0xD0, 0xD9)))
"""Markers without a length behind them."""


_END: Final = b"\xff\xd9"
_SCAN: Final = b"\xff\xda"
_MORE: Final = b"\x55" * 64


@dataclass(frozen=True, slots=True)
class JpegHeader:
    """What the frame header says.

    Attributes:
        process: Its marker's second byte: 0xC0 is baseline, 0xC2 progressive, 0xC3 lossless.
        precision: Bits per sample.
        rows: Of the image.
        cols: Of the image.
        bands: Number of components.
    """

    process: int
    precision: int
    rows: int
    cols: int
    bands: int


def segments(stream: bytes) -> Iterator[tuple[int, bytes]]:
    """The segments of a JPEG up to its first scan header, that one included.

    Args:
        stream: From the first marker (0xFFD8) on; it may end anywhere.

    Yields:
        The second byte of each marker, and the whole segment from its marker on.
    """
    at, marker = 2, 0
    while marker != 0xDA and at + 4 <= len(stream) and stream[at] == 0xFF:
        marker = stream[at + 1]
        if marker == 0xFF:  # a fill byte
            at += 1
            continue
        length = 2 + max(2, int.from_bytes(stream[at + 2 : at + 4]))
        if at + length <= len(stream):
            yield marker, stream[at : at + length]
        at += length


def read_header(data: NDArray[np.uint8]) -> JpegHeader | None:
    """Find the first frame header.

    Args:
        data: A JPEG, from its first marker on.

    Returns:
        What it says; None where there is none before the pixels begin.
    """
    view = memoryview(data)
    if bytes(view[:2]) != b"\xff\xd8":
        return None
    at = 2
    while at + 4 <= len(view):
        if view[at] != 0xFF:
            return None
        marker = view[at + 1]
        if marker == 0xFF:  # a fill byte
            at += 1
            continue
        at += 2
        if marker in _ALONE:
            continue
        if marker in {0xD9, 0xDA}:  # the end, or the pixels
            return None
        if marker in _FRAMES and at + 8 <= len(view):
            return JpegHeader(
                process=marker,
                precision=view[at + 2],
                rows=int.from_bytes(view[at + 3 : at + 5]),
                cols=int.from_bytes(view[at + 5 : at + 7]),
                bands=view[at + 7],
            )
        at += max(2, int.from_bytes(view[at : at + 2]))
    return None


def decode_whole(stream: bytes, decode: Callable[[bytes], NDArray[Any]]) -> NDArray[Any]:
    """Decode a JPEG, but not one that was cut, of which libjpeg makes up the rest without a word.

    Args:
        stream: The JPEG. Its end marker may be missing, as some writers have it.
        decode: Decodes it.

    Returns:
        The pixels.

    Raises:
        EOFError: The stream ends before its pixels do.
    """
    pixels = decode(stream)
    if stream.rfind(_END) < stream.rfind(_SCAN):
        longer = decode(stream + _MORE + _END)  # which is not looked at where the pixels are complete
        if not np.array_equal(pixels, longer):
            message = "a stream that ends before its pixels do"
            raise EOFError(message)
    return pixels
