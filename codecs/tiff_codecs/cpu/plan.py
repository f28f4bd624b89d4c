"""The tiles of one read, and which of them to fetch with one request."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from numpy.typing import NDArray

    from tiff_codecs.references.file import FileReference

__all__ = ["TileRead", "group", "in_row_blocks"]

ROW_BLOCK: Final = 4 * 2**20
"""Bytes of an uncompressed tile that are read at a time: strips as large as the image are common."""

LOCAL: Final = {"gap": 0, "most": 128 * 1024}
REMOTE: Final = {"gap": 64 * 1024, "most": 1024 * 1024}
"""How far tiles may lie apart, and how much one request may hold, for `group`."""


@dataclass(frozen=True, slots=True)
class TileRead:
    """One tile, or some rows of an uncompressed one: its bytes, what is wanted of it, and where that goes."""

    file: FileReference | None
    """None for a missing tile, of which all samples are the fill value."""
    start: int
    end: int
    """Byte range in the file."""
    rows: int
    """Rows that the bytes hold."""
    first: tuple[int, int, int]
    """Band, row and column at which the wanted part begins, counted from the first row that the bytes hold."""
    target: NDArray[Any] | Callable[[NDArray[Any]], None]
    """The place in the result, of shape (bands, rows, cols) and any strides; or what takes the whole tile, where the
    wanted part is no box."""
    place: tuple[int, ...]
    """Position of the tile in its image's grid, for messages."""


def in_row_blocks(tile: TileRead, row_bytes: int) -> Iterator[TileRead]:
    """Cut the rows that are wanted out of an uncompressed tile, in blocks.

    Args:
        tile: one with a file, and an array for a target.
        row_bytes: bytes of a row in the file.
    """
    target: Any = tile.target
    band, row, col = tile.first
    step = max(1, ROW_BLOCK // row_bytes)
    for begin in range(0, target.shape[1], step):
        part = target[:, begin : begin + step]
        start = tile.start + (row + begin) * row_bytes
        end = min(start + part.shape[1] * row_bytes, tile.end)  # too few bytes are found out when they are decoded
        yield replace(tile, start=start, end=max(start, end), rows=part.shape[1], first=(band, 0, col), target=part)


def group(tiles: Iterable[TileRead], *, local: bool) -> list[list[TileRead]]:
    """Put tiles together whose bytes are worth one request.

    Args:
        tiles: in the order of their files.
        local: whether they come from the file system, where a request costs little.
    """
    gap, most = (LOCAL if local else REMOTE).values()
    groups: list[list[TileRead]] = []
    file: FileReference | None = None
    start = end = 0
    for tile in tiles:
        together = (
            groups
            and tile.file is file
            and file is not None
            and tile.start <= end + gap
            and max(tile.end, end) - start <= most
        )
        if together:
            groups[-1].append(tile)
            end = max(end, tile.end)
        else:
            groups.append([tile])
            file, start, end = tile.file, tile.start, tile.end
    return groups
