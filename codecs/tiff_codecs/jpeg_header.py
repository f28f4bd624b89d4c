"""The frame header of a JPEG, which says how large the image is that a decoder would make (ISO/IEC 10918-1, B.2.2)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy as np
    from numpy.typing import NDArray

__all__ = ["LOSSLESS", "JpegHeader", "read_header", "segments"]

LOSSLESS: Final = frozenset((0xC3, 0xC7, 0xCB, 0xCF))
"""Markers of frames of lossless processes."""

_FRAMES: Final = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
_ALONE: Final = frozenset((0x01, *range(0xD0, 0xD9)))
"""Markers without a length behind them."""


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
