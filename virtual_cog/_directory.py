"""The IFDs of one file: the main chain in order, then the SubIFDs, walked no further than asked."""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING

from tiff_codecs.errors import TiffFormatError, TiffSelectionError
from virtual_cog._family import is_derived
from virtual_cog._header import Header, parse_header
from virtual_cog._ifd import TABLE_READ, Ifd, read_ifd
from virtual_cog._options import whole_number
from virtual_cog._segments import Segments, Steps
from virtual_cog._tags import Tag

if TYPE_CHECKING:
    from collections.abc import Buffer, Container, Iterable

MAX_IFDS = 100_000
"""A longer chain is taken for damage: the longest stacks of pages are shorter."""

MAX_DEPTH = 16
"""How far SubIFDs may be nested: writers know of two levels."""

SHARED = 64 * 2**20
"""Bytes of values that the IFDs of a file may share: in a sound file they are few, and all values fit in it."""

STEADY = 8
"""IFDs one behind the other after which more of them are read at once."""

READ_MOST = 128 * 1024
"""Bytes of IFDs that are read ahead at most."""


class Directory:
    """An opened file: its header and the IFDs met so far. Holds no handle; the driver of its steps reads."""

    def __init__(self, url: str, head: Buffer, size: int) -> None:
        """Take the first bytes of a file.

        Args:
            url: names the file in errors.
            head: the first bytes; IFDs that lie in them cost no further request.
            size: length of the file in bytes.

        Raises:
            TiffFormatError: this is no TIFF.
        """
        self.url = url
        self.segments = Segments(size)
        self.segments.add(0, head)
        try:
            self.header: Header = parse_header(memoryview(head).cast("B"), size)
        except TiffFormatError as error:
            raise error.with_context(url=url) from None
        self.full: list[int] = []
        """Indices of the full images of the main chain (those that are no overview or mask), as far as it is walked."""
        self.chain_length = 0
        """IFDs of the main chain, as far as it is walked."""
        self._ifds: list[Ifd] = []
        self._offsets: set[int] = set()
        self._next = self.header.first_ifd
        self._tables = 0
        self._close = 0
        self._whole = False

    @property
    def size(self) -> int:
        """Length of the file in bytes."""
        return self.segments.size

    def ifd(self, index: int) -> Steps[Ifd]:
        """Walk to IFD ``index``: a place in the main chain, or behind its end among the SubIFDs.

        Raises:
            TiffFormatError: the chain is damaged before ``index``.
            TiffSelectionError: the file has no such IFD.
            TiffOptionError: ``index`` is no whole number.
        """
        index = whole_number(index, "IFD index")
        if index < 0:
            raise TiffSelectionError("no such IFD", url=self.url, found=index, supported="0 (the first), 1, ...")
        while index >= len(self._ifds) and self._next:
            yield from self._step()
        if index >= len(self._ifds):
            yield from self._walk_sub_ifds()
        if index >= len(self._ifds):
            count = len(self._ifds)
            raise TiffSelectionError(
                "no such IFD",
                url=self.url,
                ifd=index,
                found=f"{count} IFD{'s' if count > 1 else ''}" if count else "a file without an IFD",
                way_out="`virtual-cog info` lists them",
            )
        return self._ifds[index]

    def full_after(self, index: int) -> Steps[int | None]:
        """Walk the main chain to the next full image behind IFD ``index``; None: there is none.

        Raises:
            TiffFormatError: the chain is damaged before it.
        """
        while self._next and not (self.full and self.full[-1] > index):
            yield from self._step()
        at = bisect_right(self.full, index)
        return self.full[at] if at < len(self.full) else None

    def all(self) -> Steps[tuple[Ifd, ...]]:
        """Walk the whole chain and every SubIFD.

        Raises:
            TiffFormatError: the chain is damaged or turns back on itself.
        """
        while self._next:
            yield from self._step()
        yield from self._walk_sub_ifds()
        return tuple(self._ifds)

    def load(self, wanted: Iterable[tuple[Ifd, Container[int]]]) -> Steps[None]:
        """Read values of tags of several IFDs, in one go.

        Raises:
            TiffFormatError: they are more bytes than the file has: its IFDs share them.
        """
        ranges = [span for ifd, tags in wanted for span in ifd.load(tags)]
        total = sum(end - start for start, end in ranges)
        if total > self.room:
            raise TiffFormatError(
                "the values of tags lie over each other",
                url=self.url,
                found=f"{total} bytes of values in a file of {self.size} bytes",
                way_out="the file is damaged: fetch it again",
            )
        yield from self.segments.ensure(ranges)

    @property
    def room(self) -> int:
        """How many bytes of values the file can hold, with some that are shared."""
        return self.size + SHARED

    def _step(self) -> Steps[None]:
        """Read the next IFD of the main chain."""
        index, offset = len(self._ifds), self._next
        self._visit(offset, index)
        ifd, follows = yield from self._read(offset, index)
        near = offset < follows <= offset + 2 * ifd.nbytes
        self._close = self._close + 1 if near else 0
        self._next = follows
        self._ifds.append(ifd)
        self.chain_length += 1
        if not is_derived(ifd):
            self.full.append(index)

    def _read(self, offset: int, index: int, parent: int | None = None) -> Steps[tuple[Ifd, int]]:
        """Read the IFD at ``offset``; returns it and the offset of the next."""
        try:
            ifd, follows = yield from read_ifd(
                self.header, self.segments, offset, index=index, parent=parent, ahead=self._ahead()
            )
        except TiffFormatError as error:
            raise error.with_context(url=self.url) from None
        self._tables += ifd.table_bytes
        if self._tables > self.size:
            raise TiffFormatError(
                "IFDs lie over each other",
                url=self.url,
                ifd=index,
                found=f"{self._tables} bytes of IFDs in a file of {self.size} bytes",
                way_out="the file is damaged; IFDs before this one can be read by their index",
            )
        return ifd, follows

    def _walk_sub_ifds(self) -> Steps[None]:
        """Read the SubIFDs of every IFD met, and theirs; needs the main chain to be complete."""
        if self._whole:
            return
        self._whole = True
        parents = self._ifds[:]
        for _ in range(MAX_DEPTH):  # a SubIFD may have its own; all of one generation are read at once
            first = len(self._ifds)
            yield from self._read_sub_ifds(parents)
            parents = self._ifds[first:]
        deeper = [ifd.index for ifd in parents if Tag.SubIFDs in ifd]
        if deeper:
            raise TiffFormatError(
                "SubIFDs are nested too deep",
                url=self.url,
                ifd=deeper[0],
                found=f"over {MAX_DEPTH} levels",
                way_out="the file is damaged; IFDs before this one can be read by their index",
            )

    def _read_sub_ifds(self, parents: list[Ifd]) -> Steps[None]:
        """Read the IFDs that the SubIFDs tags (TIFF Technical Note 1) of ``parents`` name."""
        segments = self.segments
        parents = [ifd for ifd in parents if Tag.SubIFDs in ifd]
        yield from segments.ensure([r for ifd in parents for r in ifd.load((Tag.SubIFDs,))])
        found: list[tuple[int, int]] = []
        refused = None
        try:
            for ifd in parents:
                values = ifd.values(Tag.SubIFDs)
                for offset in () if values is None else values.tolist():
                    self._visit(int(offset), len(self._ifds) + len(found))  # before the next one, which may be shared
                    found.append((ifd.index, int(offset)))
        except TiffFormatError as error:
            refused = error.with_context(url=self.url)
        ahead = [o for _, o in found if 8 <= o <= self.size - 8 and segments.get(o, o + 8) is None]
        yield from segments.ensure([(o, min(o + self._ahead(), self.size)) for o in ahead])
        for parent, offset in found:
            sub, _ = yield from self._read(offset, len(self._ifds), parent)
            self._ifds.append(sub)
        if refused is not None:
            raise refused

    def _ahead(self) -> int:
        """How many bytes to ask for at an IFD that has not been read: as many as the last one took, if any.

        Where IFDs have long followed one another, more and more of them.
        """
        if not self._ifds:
            return TABLE_READ
        one = min(TABLE_READ, self._ifds[-1].nbytes)
        return one if self._close < STEADY else min(one * (self._close - STEADY + 2), READ_MOST)

    def _visit(self, offset: int, index: int) -> None:
        if offset in self._offsets or index >= MAX_IFDS:
            raise TiffFormatError(
                "the chain of IFDs turns back on itself" if index < MAX_IFDS else "too many IFDs",
                url=self.url,
                ifd=index,
                found=f"offset {offset} for the second time" if index < MAX_IFDS else f"over {MAX_IFDS}",
                way_out="the file is damaged; IFDs before this one can be read by their index",
            )
        self._offsets.add(offset)
