"""The IFDs of one file: the main chain in order, then the SubIFDs, walked no further than asked."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, SupportsIndex

from tiff_codecs.errors import TiffFormatError, TiffOptionError, TiffSelectionError
from virtual_cog._header import Header, parse_header
from virtual_cog._ifd import Ifd, read_ifd, sub_ifd_offsets
from virtual_cog._segments import Segments, Steps

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
            ifd, follows = yield from read_ifd(self.header, self.segments, offset, index=index)
        except TiffFormatError as error:
            raise error.with_context(url=self.url) from None
        self._next = follows
        self._ifds.append(ifd)

    def _walk_sub_ifds(self) -> Steps[None]:
        """Read the SubIFDs of every IFD met, and theirs; needs the main chain to be complete."""
        if self._whole:
            return
        self._whole = True
        for ifd in self._ifds:  # grows while it is walked: a SubIFD may have its own
            try:
                offsets = yield from sub_ifd_offsets(ifd, self.segments)
            except TiffFormatError as error:
                raise error.with_context(url=self.url) from None
            for offset in offsets:
                index = len(self._ifds)
                self._visit(offset, index)
                try:
                    sub, _ = yield from read_ifd(self.header, self.segments, offset, index=index, parent=ifd.index)
                except TiffFormatError as error:
                    raise error.with_context(url=self.url) from None
                self._ifds.append(sub)

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
