"""The parts of a file that have been read so far, by position."""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Buffer, Generator, Iterable

type Range = tuple[int, int]
"""A half-open byte range (start, end) of a file."""

type Steps[T] = Generator[list[Range], list[Buffer], T]
"""Work that asks for byte ranges by yielding them, and is sent their bytes.

Parsing is written once in this form and does no I/O: :mod:`virtual_cog._source` drives it
synchronously or asynchronously, a test drives it from bytes in memory.
"""

COALESCE_GAP = 512
"""Ranges this close (bytes) are asked for as one: IFD values lie side by side, a request costs more."""


class Segments:
    """Byte ranges of one file held in memory; a small sorted list, since an IFD needs few."""

    __slots__ = ("_starts", "_views", "size")

    def __init__(self, size: int) -> None:
        self.size = size
        self._starts: list[int] = []
        self._views: list[memoryview] = []

    def add(self, start: int, data: Buffer) -> None:
        """Hold bytes from ``start`` on. None of the segments lies within another, so that :meth:`get` looks at one."""
        view = memoryview(data).cast("B")
        end = start + len(view)
        at = bisect_right(self._starts, start)
        if at and self._end(at - 1) >= end:
            return
        if at and self._starts[at - 1] == start:
            at -= 1
        covered = at
        while covered < len(self._starts) and self._end(covered) <= end:
            covered += 1
        self._starts[at:covered] = [start]
        self._views[at:covered] = [view]

    def _end(self, at: int) -> int:
        return self._starts[at] + len(self._views[at])

    def get(self, start: int, end: int) -> memoryview | None:
        """Return bytes [start, end) when one segment holds them all."""
        at = bisect_right(self._starts, start) - 1
        if at < 0:
            return None
        skip = start - self._starts[at]
        view = self._views[at]
        return view[skip : skip + end - start] if skip + end - start <= len(view) else None

    def ensure(self, ranges: Iterable[Range]) -> Steps[None]:
        """Ask for those of ``ranges`` that are not held, the near ones together.

        Every range must end within the file: the caller has checked it and knows what to say.
        """
        asked = [r for r in ranges if self.get(*r) is None]
        if not asked:
            return
        heads = [(start, self._held_to(start)) for start, _ in asked]
        missing = sorted((held, end) for (_, held), (_, end) in zip(heads, asked, strict=True))
        wanted: list[Range] = [missing[0]]
        for start, end in missing[1:]:
            last_start, last_end = wanted[-1]
            if start <= last_end + COALESCE_GAP:
                wanted[-1] = (last_start, max(last_end, end))
            else:
                wanted.append((start, end))
        for (start, _), data in zip(wanted, (yield wanted), strict=True):
            self.add(start, data)
        # a range whose head was held already is put together, so that one segment holds it all
        for (start, held), (_, end) in zip(heads, asked, strict=True):
            head, tail = self.get(start, held), self.get(held, end)
            if held > start and head is not None and tail is not None:
                self.add(start, bytes(head) + bytes(tail))

    def _held_to(self, start: int) -> int:
        """Where the bytes end that are held from ``start`` on; ``start`` where there are none."""
        at = bisect_right(self._starts, start) - 1
        return max(start, self._end(at)) if at >= 0 else start
