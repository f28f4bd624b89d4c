"""The IFDs of one file: the main chain in order, then the SubIFDs, walked no further than asked."""

from __future__ import annotations

import operator
from bisect import bisect_right
from typing import TYPE_CHECKING, SupportsIndex

from tiff_codecs.errors import TiffFormatError, TiffOptionError, TiffSelectionError
from virtual_cog._family import is_derived
from virtual_cog._header import Header, parse_header
from virtual_cog._ifd import TABLE_READ, Ifd, read_ifd, sub_ifd_offsets
from virtual_cog._segments import Segments, Steps
from virtual_cog._tags import Tag

if TYPE_CHECKING:
    from collections.abc import Buffer

MAX_IFDS = 100_000
"""A longer chain is taken for damage: walking it would take minutes."""


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
        if not isinstance(index, SupportsIndex):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TiffOptionError("bad IFD index", found=repr(index), supported="0, 1, ...")
        index = operator.index(index)
        while 0 <= index >= len(self._ifds) and self._next:
            yield from self._step()
        if 0 <= index >= len(self._ifds):
            yield from self._walk_sub_ifds()
        if not 0 <= index < len(self._ifds):
            raise TiffSelectionError(
                "no such IFD",
                url=self.url,
                ifd=index,
                found=f"{len(self._ifds)} IFDs" if self._ifds else "a file without an IFD",
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

    def _step(self) -> Steps[None]:
        """Read the next IFD of the main chain."""
        index, offset = len(self._ifds), self._next
        self._visit(offset, index)
        try:
            ifd, follows = yield from read_ifd(self.header, self.segments, offset, index=index, ahead=self._ahead())
        except TiffFormatError as error:
            raise error.with_context(url=self.url) from None
        self._next = follows
        self._ifds.append(ifd)
        self.chain_length += 1
        if not is_derived(ifd):
            self.full.append(index)

    def _walk_sub_ifds(self) -> Steps[None]:
        """Read the SubIFDs of every IFD met, and theirs; needs the main chain to be complete."""
        if self._whole:
            return
        self._whole = True
        parents = self._ifds[:]
        while parents:  # a SubIFD may have its own; all of one generation are read at once
            first = len(self._ifds)
            yield from self._read_sub_ifds(parents)
            parents = self._ifds[first:]

    def _read_sub_ifds(self, parents: list[Ifd]) -> Steps[None]:
        segments = self.segments
        yield from segments.ensure([r for ifd in parents for r in ifd.load([Tag.SubIFDs])])
        try:
            found: list[tuple[Ifd, int]] = []
            for ifd in parents:
                offsets = yield from sub_ifd_offsets(ifd, segments)
                found += [(ifd, offset) for offset in offsets]
            ahead = [o for _, o in found if 8 <= o <= self.size - 8 and segments.get(o, o + 8) is None]
            yield from segments.ensure([(o, min(o + self._ahead(), self.size)) for o in ahead])
            for ifd, offset in found:
                index = len(self._ifds)
                self._visit(offset, index)
                sub, _ = yield from read_ifd(
                    self.header, segments, offset, index=index, parent=ifd.index, ahead=self._ahead()
                )
                self._ifds.append(sub)
        except TiffFormatError as error:
            raise error.with_context(url=self.url) from None

    def _ahead(self) -> int:
        """How many bytes to ask for at an IFD that has not been read: as many as the last one took, if any."""
        return min(TABLE_READ, self._ifds[-1].nbytes) if self._ifds else TABLE_READ

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
