"""Old-style JPEG (TIFF 6.0 section 22): its tables lie anywhere in the file, where tags of the IFD point to.

There are two forms, both with variants. JPEGInterchangeFormat points to a JPEG, or to no more of one than its
tables; or JPEGQTables, JPEGDCTables and JPEGACTables point to a table for each band. From either, the
header of a JPEG is made, up to the scan header, for the codec to put before each tile.
"""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Final

from tiff_codecs.jpeg_header import segments
from virtual_cog._tags import Tag

if TYPE_CHECKING:
    from virtual_cog._directory import Directory
    from virtual_cog._ifd import Ifd
    from virtual_cog._image import Image
    from virtual_cog._segments import Range, Segments, Steps

OLD_JPEG: Final = 6

MOST_HEADER: Final = 8192
"""Bytes of a JPEG in which its tables are looked for: they are about 600."""

QUANTIZATION: Final = 64
LENGTHS: Final = 16
MOST_CODES: Final = 256

_START = b"\xff\xd8"
_FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
_TABLES = frozenset((0xC4, 0xDB, 0xDD))


def ensure_tables(directory: Directory, ifd: Ifd) -> Steps[None]:
    """Read what the tags of an old-style JPEG point to; its image tags must be loaded."""
    if ifd.integer(Tag.Compression, 1) == OLD_JPEG:
        yield from directory.segments.ensure(_ranges(ifd, directory.size))


def old_jpeg_header(held: Segments, ifd: Ifd, image: Image) -> bytes:
    """The header of a JPEG that stands for every tile of `image`; empty where the file has none that is read.

    Args:
        held: what was read of the file, :func:`ensure_tables` included.
        ifd: the image's.
        image: of old-style JPEG.
    """
    bands = image.tile_bands
    if bands not in (1, 3) or bands != image.bands or image.bits_per_sample != (8,):
        return b""
    blocks = [held.get(*span) or b"" for span in _ranges(ifd, held.size)]
    if Tag.JPEGInterchangeFormat in ifd and (header := _of_jpeg(bytes(blocks[0]), image)):
        return header
    if ifd.integer(Tag.JPEGProc, 1) != 1:
        return b""
    return _of_tables([bytes(block) for block in blocks[-3 * bands :]], ifd, image)


def _ranges(ifd: Ifd, size: int) -> list[Range]:
    """Where the interchange stream begins, and where the tables lie: those of quantization, DC and AC codes."""

    def span(start: int, length: int) -> Range:
        start = min(max(start, 0), size)
        return start, min(start + length, size)

    lengths = {Tag.JPEGQTables: QUANTIZATION, Tag.JPEGDCTables: LENGTHS + MOST_CODES}
    lengths[Tag.JPEGACTables] = LENGTHS + MOST_CODES
    found = [span(start, length) for tag, length in lengths.items() for start in ifd.integers(tag, 3)]
    stream = ifd.integer(Tag.JPEGInterchangeFormat, 0)
    if stream:
        length = ifd.integer(Tag.JPEGInterchangeFormatLength, 0) or MOST_HEADER
        found.insert(0, span(stream, min(length, MOST_HEADER)))
    return found


def _of_jpeg(stream: bytes, image: Image) -> bytes:
    """The tables, frame and scan header of a JPEG, the last of which may be missing."""
    if not stream.startswith(_START):
        return b""
    parts = list(segments(stream))
    frame = next((whole for marker, whole in parts if marker in _FRAMES), b"")
    if frame[1:2] not in (b"\xc0", b"\xc1") or len(frame) < 10 + 3 * image.bands or frame[9] != image.bands:
        return b""
    tables = b"".join(whole for marker, whole in parts if marker in _TABLES)
    scan = next((whole for marker, whole in parts if marker == 0xDA), _scan(frame, chroma=1))
    return _START + tables + frame + scan


def _of_tables(blocks: list[bytes], ifd: Ifd, image: Image) -> bytes:
    """Segments made from the tables of each band."""
    bands = image.bands
    if len(blocks) != 3 * bands or any(len(block) < QUANTIZATION for block in blocks[:bands]):
        return b""
    out = [_START]
    out += [_segment(0xDB, bytes((band,)) + block) for band, block in enumerate(blocks[:bands])]
    for place, block in enumerate(blocks[bands:]):
        codes = block[: LENGTHS + sum(block[:LENGTHS])]
        kind = 0x10 * (place >= bands) + place % bands
        out.append(_segment(0xC4, bytes((kind,)) + codes))
    interval = ifd.integer(Tag.JPEGRestartInterval, 0)
    if 0 < interval < 1 << 16:
        out.append(_segment(0xDD, interval.to_bytes(2)))
    across, down = image.subsampling
    factors = [across << 4 | down if band == 0 and bands == 3 else 0x11 for band in range(bands)]
    components = chain.from_iterable((band + 1, factor & 0xFF, band) for band, factor in enumerate(factors))
    frame = _segment(0xC0, bytes((8, 0, 0, 0, 0, bands, *components)))
    return b"".join(out) + frame + _scan(frame, chroma=None)


def _scan(frame: bytes, *, chroma: int | None) -> bytes:
    """A scan header of all components of a frame.

    Args:
        frame: the frame header.
        chroma: which tables the components behind the first have; None gives each its own.
    """
    bands = frame[9]
    tables = [0, *(band if chroma is None else chroma for band in range(1, bands))]
    selectors = chain.from_iterable((frame[10 + 3 * band], 0x11 * table) for band, table in enumerate(tables))
    return _segment(0xDA, bytes((bands, *selectors, 0, 63, 0)))


def _segment(marker: int, content: bytes) -> bytes:
    return bytes((0xFF, marker)) + (2 + len(content)).to_bytes(2) + content
