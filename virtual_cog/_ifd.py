"""Image file directories (TIFF 6.0 section 2): the tag tables, walked with guards, values read when asked for."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from tiff_codecs.errors import TiffFormatError
from virtual_cog._tags import ASCII, FIELD_DTYPES, FIELD_SIZES, RATIONAL, SRATIONAL, Tag, tag_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from virtual_cog._header import Header
    from virtual_cog._segments import Range, Segments, Steps

TABLE_READ = 8 * 1024
"""Bytes asked for at the place of the first IFD that has not been read yet, of which no length is known.

A usual table with its values fills them: with the first request, whose bytes are then for nothing, no more than 32 KiB
are read beyond what is needed.
"""


@cache
def entry_dtype(mark: str, *, bigtiff: bool) -> np.dtype[np.void]:
    """The 12 (BigTIFF: 20) bytes of one IFD entry as a NumPy structured type."""
    word, room = ("u8", 8) if bigtiff else ("u4", 4)
    return np.dtype(
        {
            "names": ["tag", "type", "count", "offset", "inline"],
            "formats": [f"{mark}u2", f"{mark}u2", f"{mark}{word}", f"{mark}{word}", f"V{room}"],
            "offsets": [0, 2, 4, 4 + room, 4 + room],
        }
    )


@cache
def stored_dtype(kind: int, mark: Literal["<", ">"]) -> np.dtype[Any] | None:
    """One value of a TIFF field type in a byte order (half a value of a rational); None for a type not defined."""
    name = FIELD_DTYPES.get(kind)
    return None if name is None else np.dtype(name).newbyteorder(mark)


class Ifd:
    """One image file directory: every tag it holds, whether this library knows it or not.

    A value that lies outside the table is read from the file by :meth:`load`; :meth:`values` then
    returns it. Tags are given by number (:class:`virtual_cog._tags.Tag` or any integer).
    """

    __slots__ = ("_header", "_nbytes", "_rows", "_segments", "_table", "index", "offset", "parent")

    def __init__(
        self,
        header: Header,
        segments: Segments,
        table: np.ndarray[tuple[int], np.dtype[np.void]],
        *,
        index: int,
        offset: int,
        parent: int | None,
    ) -> None:
        self.index = index
        self.offset = offset
        self.parent = parent
        """Index of the IFD whose SubIFDs tag names this one; None in the main chain."""
        self._header = header
        self._segments = segments
        self._table = table
        # the first of two entries with one tag counts, as in libtiff
        self._rows = dict(zip(table["tag"].tolist()[::-1], range(len(table) - 1, -1, -1), strict=True))
        types = np.minimum(table["type"], 255)
        self._nbytes: list[int] = [
            count * size for count, size in zip(table["count"].tolist(), FIELD_SIZES[types].tolist(), strict=True)
        ]

    def __contains__(self, tag: int) -> bool:
        return tag in self._rows

    def __iter__(self) -> Iterator[int]:
        return iter(sorted(self._rows))

    @property
    def byte_order(self) -> str:
        return self._header.byte_order

    def count(self, tag: int) -> int:
        """How many values ``tag`` has by its table entry; 0 when it is absent."""
        row = self._rows.get(tag)
        return 0 if row is None else int(self._table["count"][row])

    def span(self, tag: int) -> Range | None:
        """Where the value of ``tag`` lies in the file; None when it is absent or inside the table.

        Raises:
            TiffFormatError: the value would lie outside the file.
        """
        row = self._rows.get(tag)
        if row is None or self._nbytes[row] <= self._table.dtype["inline"].itemsize:
            return None
        start = int(self._table["offset"][row])
        end = start + self._nbytes[row]
        if end > self._segments.size:
            raise TiffFormatError(
                "a tag's value lies outside the file",
                ifd=self.index,
                tag=tag_name(tag),
                found=f"bytes {start} to {end} of a file of {self._segments.size}",
                way_out="the file is cut short or damaged: fetch it again",
            )
        return (start, end)

    @property
    def nbytes(self) -> int:
        """Bytes of the table and of all values outside it, as far as they can lie in the file."""
        room = self._table.dtype["inline"].itemsize
        values = sum(count for count in self._nbytes if count > room)
        return min(self._segments.size, self._table.nbytes + 2 * room + values)

    def load(self, tags: Iterable[int]) -> list[Range]:
        """The file ranges that :meth:`values` of ``tags`` will need; damaged ones are left out."""
        ranges: list[Range] = []
        for tag in tags:
            try:
                span = self.span(tag)
            except TiffFormatError:
                continue
            if span is not None:
                ranges.append(span)
        return ranges

    def _raw(self, tag: int, row: int) -> memoryview:
        span = self.span(tag)
        if span is None:
            return memoryview(self._table["inline"][row].tobytes())[: self._nbytes[row]]
        raw = self._segments.get(*span)
        if raw is None:
            msg = f"the value of {tag_name(tag)} was not loaded"
            raise LookupError(msg)
        return raw

    def values(self, tag: int) -> np.ndarray | None:
        """Return the numbers of ``tag``, or None when it is absent or of a type TIFF does not define.

        Returns:
            A one-dimensional array in native byte order, in the tag's own type; rationals as
            float64 quotients. Large tables are views of the bytes read: do not write to them.

        Raises:
            TiffFormatError: the value would lie outside the file.
        """
        row = self._rows.get(tag)
        if row is None:
            return None
        kind = int(self._table["type"][row])
        dtype = stored_dtype(kind, self._header.mark)
        if dtype is None:
            return None
        raw = self._raw(tag, row)
        if kind == ASCII:
            return np.frombuffer(raw, "u1")
        stored = np.frombuffer(raw, dtype)
        native = stored if dtype.isnative else stored.astype(dtype.newbyteorder("="))
        if kind in (RATIONAL, SRATIONAL):
            with np.errstate(divide="ignore", invalid="ignore"):
                return native[0::2].astype("f8") / native[1::2]
        return native

    def integer(self, tag: int, default: int) -> int:
        """The first value of ``tag`` as :meth:`integers` has it; ``default`` when it is absent or empty."""
        values = self.integers(tag, 1)
        return values[0] if values else default

    def integers(self, tag: int, most: int) -> tuple[int, ...]:
        """The first values of ``tag`` as integers, at most ``most``; none when it is absent.

        Raises:
            TiffFormatError: the value would lie outside the file, or is no number (a quotient by 0, or NaN).
        """
        values = self.values(tag)
        if values is None:
            return ()
        values = values[:most]
        if values.dtype.kind == "f" and not np.isfinite(values).all():
            raise TiffFormatError("a tag's value is no number", ifd=self.index, tag=tag_name(tag), found=str(values[0]))
        return tuple(int(v) for v in values)

    def text(self, tag: int) -> str | None:
        """The value of ``tag`` up to its first NUL, UTF-8 or else Latin-1; None when it is absent."""
        row = self._rows.get(tag)
        if row is None:
            return None
        raw = bytes(self._raw(tag, row)).split(b"\0", 1)[0]
        try:
            return raw.decode("utf-8")
        except UnicodeDecodeError:
            return raw.decode("latin-1")


def read_ifd(
    header: Header, segments: Segments, offset: int, *, index: int, parent: int | None = None, ahead: int
) -> Steps[tuple[Ifd, int]]:
    """Read the table at ``offset``; returns the IFD and the offset of the next (0: none).

    When nothing of it has been read, ``ahead`` bytes are asked for at once.

    Raises:
        TiffFormatError: the table does not fit in the file, or holds no tag.
    """
    size = segments.size
    counter, entry, pointer = (8, 20, 8) if header.bigtiff else (2, 12, 4)
    if not 8 <= offset <= size - counter:
        raise TiffFormatError(
            "an IFD lies outside the file",
            ifd=index,
            found=f"offset {offset} in a file of {size} bytes",
            way_out="the file is cut short or damaged: fetch it again",
        )
    if segments.get(offset, offset + counter) is None:
        yield from segments.ensure([(offset, min(offset + ahead, size))])
    counted = segments.get(offset, offset + counter)
    assert counted is not None  # noqa: S101 - ensure() has just read it
    entries = int.from_bytes(counted, header.byte_order)
    start = offset + counter
    end = start + entries * entry
    if not entries or end > size:
        raise TiffFormatError(
            "damaged IFD" if entries else "an IFD without a tag",
            ifd=index,
            found=f"{entries} tags at offset {offset} in a file of {size} bytes",
            way_out="the file is cut short or damaged: fetch it again",
        )
    last = min(end + pointer, size)
    yield from segments.ensure([(start, last)])
    raw = segments.get(start, last)
    assert raw is not None  # noqa: S101 - ensure() has just read it
    table = np.frombuffer(raw, entry_dtype(header.mark, bigtiff=header.bigtiff), entries)
    follows = int.from_bytes(raw[end - start :], header.byte_order) if last == end + pointer else 0
    return Ifd(header, segments, table, index=index, offset=offset, parent=parent), follows


def sub_ifd_offsets(ifd: Ifd, segments: Segments) -> Steps[list[int]]:
    """The offsets in the SubIFDs tag (TIFF Technical Note 1) of ``ifd``."""
    if Tag.SubIFDs not in ifd:
        return []
    yield from segments.ensure(ifd.load([Tag.SubIFDs]))
    values = ifd.values(Tag.SubIFDs)
    return [] if values is None else [int(v) for v in values]
