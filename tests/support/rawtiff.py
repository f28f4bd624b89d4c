"""Builds TIFF files byte by byte, so that a test can say what no writer would write."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field

FORMATS = {1: "B", 2: "s", 3: "H", 4: "I", 5: "II", 6: "b", 7: "B", 8: "h", 9: "i", 11: "f", 12: "d", 13: "I",
           16: "Q", 17: "q", 18: "Q"}  # fmt: skip


@dataclass
class RawTiff:
    """A file under construction: add blocks and IFDs, then take `bytes()`."""

    byte_order: str = "<"
    bigtiff: bool = False
    data: bytearray = field(default_factory=bytearray)
    pointers: list[int] = field(default_factory=list)

    def __post_init__(self):
        mark = b"II" if self.byte_order == "<" else b"MM"
        head = self.pack("HHHQ", 43, 8, 0, 0) if self.bigtiff else self.pack("HI", 42, 0)
        self.data = bytearray(mark + head)
        self.pointers = [8 if self.bigtiff else 4]

    def pack(self, kinds: str, *values) -> bytes:
        return struct.pack(self.byte_order + kinds, *values)

    def block(self, content: bytes) -> int:
        """Append bytes, and return where they lie."""
        at = len(self.data)
        self.data += content + b"\0" * (len(content) % 2)
        return at

    def value(self, kind: int, values) -> bytes:
        if kind == 2:
            return bytes(values)
        return b"".join(self.pack(FORMATS[kind], v) for v in values)

    def ifd(self, tags, *, chained: bool = True) -> int:
        """Append an IFD of (tag, type, values[, count]) and link it to the one before; returns its offset.

        Values given as `bytes` for a type other than ASCII are written as they are, with the fourth item as count.
        """
        word, room = ("Q", 8) if self.bigtiff else ("I", 4)
        entries = []
        for tag, kind, values, *count in tags:
            raw = values if isinstance(values, bytes) else self.value(kind, values)
            number = count[0] if count else len(values)
            if len(raw) > room:
                raw = self.pack(word, self.block(raw))
            entries.append(self.pack("HH" + word, tag, kind, number) + raw.ljust(room, b"\0"))
        at = len(self.data)
        self.data += self.pack("Q" if self.bigtiff else "H", len(entries)) + b"".join(entries) + bytes(room)
        if chained:
            self.link(at)
            self.pointers.append(len(self.data) - room)
        return at

    def link(self, to: int) -> None:
        """Let the last pointer (of the header, or of the last IFD) point to `to`."""
        word = "Q" if self.bigtiff else "I"
        struct.pack_into(self.byte_order + word, self.data, self.pointers[-1], to)

    def bytes(self) -> bytes:
        return bytes(self.data)


def jbig(path):
    """Write a file of a compression that has a name, and no decoder; returns the path."""
    file = RawTiff()
    file.ifd(grey(t259=(3, [34661])))
    path.write_bytes(file.bytes())
    return path


def grey(width=4, height=4, *, offset=8, count=16, **extra):
    """The tags of an uncompressed 8-bit image in one strip."""
    tags = {256: (3, [width]), 257: (3, [height]), 258: (3, [8]), 259: (3, [1]), 262: (3, [1]), 273: (4, [offset]),
            277: (3, [1]), 278: (3, [height]), 279: (4, [count])}  # fmt: skip
    tags.update({int(name[1:]): value for name, value in extra.items()})
    return [(tag, *value) for tag, value in sorted(tags.items()) if value is not None]
