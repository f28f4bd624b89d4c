"""Image file directories (TIFF 6.0 section 2): the tag tables, walked with guards, values read when asked for."""

from __future__ import annotations

import math
from functools import cache
from struct import Struct
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np

from tiff_codecs.errors import TiffFormatError
from virtual_cog._tags import (
    ASCII,
    FIELD_DTYPES,
    FIELD_SIZES,
    MAX_TABLE,
    MAX_TEXT,
    RATIONAL,
    SRATIONAL,
    TILE_TABLES,
    Tag,
    most_bytes,
    tag_name,
)

if TYPE_CHECKING:
    from collections.abc import Container, Iterator

    from virtual_cog._header import Header
    from virtual_cog._segments import Range, Segments, Steps

TABLE_READ = 8 * 1024
"""Bytes asked for at the place of the first IFD that has not been read yet, of which no length is known.

A usual table with its values fills them: with the first request, whose bytes are then for nothing, no more than 32 KiB
are read beyond what is needed.
"""

MAX_ENTRIES: Final = 65_535
"""Tags have numbers of 16 bits: a table with more entries is damaged."""

ENTRIES: Final = {(mark, big): Struct(f"{mark}{'HHQQ' if big else 'HHII'}") for mark in "<>" for big in (False, True)}
"""One entry of a table: tag, field type, number of values, and the value or its offset; for (byte order, BigTIFF)."""

WORDS: Final = {3: 2, 4: 4}
"""Bytes of the field types SHORT and LONG, which nearly all of an image's tags have."""


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

    __slots__ = ("_entry", "_header", "_outside", "_rows", "_segments", "_table", "index", "nbytes", "offset", "parent")

    def __init__(
        self, header: Header, segments: Segments, table: memoryview, *, index: int, offset: int, parent: int | None
    ) -> None:
        self.index = index
        self.offset = offset
        self.parent = parent
        """Index of the IFD whose SubIFDs tag names this one; None in the main chain."""
        self._header = header
        self._segments = segments
        self._table = table
        self._entry = entry = ENTRIES[header.mark, header.bigtiff]
        room = 8 if header.bigtiff else 4
        self._rows: dict[int, int] = {}
        self._outside: dict[int, int] = {}
        for row, (tag, kind, count, _) in enumerate(entry.iter_unpack(table)):
            if tag in self._rows:
                continue  # the first of two entries with one tag counts, as in libtiff
            self._rows[tag] = row
            length = count * FIELD_SIZES.get(kind, 0)
            if length > room:
                self._outside[tag] = length
        self.nbytes = min(segments.size, len(table) + 2 * room + sum(self._outside.values()))
        """Bytes of the table and of all values outside it, as far as they can lie in the file."""

    def __contains__(self, tag: int) -> bool:
        return tag in self._rows

    def __iter__(self) -> Iterator[int]:
        return iter(sorted(self._rows))

    @property
    def table_bytes(self) -> int:
        """Bytes of the table's entries."""
        return len(self._table)

    @property
    def byte_order(self) -> str:
        return self._header.byte_order

    def _row(self, row: int) -> tuple[int, int, int]:
        """Field type, number of values, and the value or its offset as one number."""
        _, kind, count, field = self._entry.unpack_from(self._table, row * self._entry.size)
        return kind, count, field

    def _most_tiles(self) -> int:
        """An image has no more tiles than samples: what a longer table holds behind them is not read."""
        sizes = (Tag.ImageWidth, Tag.ImageLength, Tag.ImageDepth, Tag.SamplesPerPixel)
        if any(tag in self._outside for tag in sizes):
            return MAX_TABLE
        return math.prod(max(1, self.integer(tag, 1)) for tag in sizes) * max(1, self.count(Tag.BitsPerSample))

    def count(self, tag: int) -> int:
        """How many values ``tag`` has by its table entry; 0 when it is absent."""
        row = self._rows.get(tag)
        return 0 if row is None else self._row(row)[1]

    def span(self, tag: int) -> Range | None:
        """Where the value of ``tag`` lies in the file, or as much of it as counts; None when absent or in the table.

        Raises:
            TiffFormatError: the value would lie outside the file, or is too long to be one.
        """
        length = self._outside.get(tag)
        if length is None:
            return None
        kind, _, start = self._row(self._rows[tag])
        if start + length > self._segments.size:
            raise TiffFormatError(
                "a tag's value lies outside the file",
                ifd=self.index,
                tag=tag_name(tag),
                found=f"bytes {start} to {start + length} of a file of {self._segments.size}",
                way_out="the file is cut short or damaged: fetch it again",
            )
        most, cut = most_bytes(tag, kind)
        if tag in TILE_TABLES and length > MAX_TEXT:
            length = min(length, self._most_tiles() * FIELD_SIZES[kind])
        if length > most and not cut:
            raise TiffFormatError(
                "a tag's value is too long",
                ifd=self.index,
                tag=tag_name(tag),
                found=f"{length} bytes",
                supported=f"{most} bytes",
            )
        return start, start + min(length, most)

    def load(self, tags: Container[int]) -> list[Range]:
        """The file ranges that :meth:`values` of ``tags`` will need; damaged ones are left out."""
        ranges: list[Range] = []
        for tag in self._outside:
            if tag not in tags:
                continue
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
            kind, count, field = self._row(row)
            inline = field.to_bytes(8 if self._header.bigtiff else 4, self._header.byte_order)
            return memoryview(inline)[: count * FIELD_SIZES.get(kind, 0)]
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
            TiffFormatError: the value would lie outside the file, or is too long to be one.
        """
        row = self._rows.get(tag)
        if row is None:
            return None
        kind = self._row(row)[0]
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
        row = self._rows.get(tag)
        if row is None:
            return default
        kind, count, field = self._row(row)
        size = WORDS.get(kind)
        if size and count and tag not in self._outside:
            room = 8 if self._header.bigtiff else 4
            shift = 0 if self._header.byte_order == "little" else 8 * (room - size)
            return field >> shift & (1 << 8 * size) - 1
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
        return tuple(int(v) for v in values.tolist())

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
    if not 0 < entries <= MAX_ENTRIES or end > size:
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
    table = raw[: end - start]
    follows = int.from_bytes(raw[end - start :], header.byte_order) if last == end + pointer else 0
    return Ifd(header, segments, table, index=index, offset=offset, parent=parent), follows
