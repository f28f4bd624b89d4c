"""All tiles of one read: where their bytes lie, and where their pixels go."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from tiff_codecs.compression import Compression
    from tiff_codecs.image_codec import ImageCodec
    from tiff_codecs.layout import TileLayout
    from tiff_codecs.references.file import FileReference

__all__ = ["ReadPlan", "Target"]


@dataclass(frozen=True, slots=True)
class Target:
    """Which pixels of each tile are wanted and where they go, as columns of length (tiles,)."""

    offset: NDArray[np.int64]
    """Bytes from the start of the result to the first wanted pixel."""
    first_row: NDArray[np.int32]
    rows: NDArray[np.int32]
    first_col: NDArray[np.int32]
    cols: NDArray[np.int32]
    first_band: NDArray[np.int32]
    bands: NDArray[np.int32]

    def take(self, which: NDArray[np.intp]) -> Target:
        """The targets of some tiles."""
        return Target(*(getattr(self, name)[which] for name in self.__slots__))


@dataclass(frozen=True, slots=True)
class ReadPlan:
    """The tiles of one read, one row a tile; all of one layout and compression."""

    compression: Compression
    fill_order: int
    layout: TileLayout
    tile_cols: int
    tile_bands: int
    files: tuple[FileReference, ...]
    file: NDArray[np.int32]
    """Index into `files`, shape (tiles,)."""
    offset: NDArray[np.int64]
    """Byte offset in the file."""
    length: NDArray[np.int64]
    """Compressed bytes."""
    stored_rows: NDArray[np.int32]
    """Rows that the tile's bytes hold: fewer than the others in a short last strip."""
    target: Target
    place: NDArray[np.int64]
    """Position of the tile in its image's grid, for messages; shape (tiles, axes)."""
    codec: ImageCodec | None = None
    """What decodes the tiles, where they are images of a format of their own; `layout` is then that of the samples
    that come out."""
    tile_rows: int | None = None
    """Rows of a whole tile: one that is to hold `stored_rows` may hold so many."""

    def __len__(self) -> int:
        return len(self.offset)

    @property
    def decoded_bytes(self) -> NDArray[np.int64]:
        """Decompressed bytes of each tile."""
        return self.stored_rows.astype(np.int64) * self.layout.row_bytes(self.tile_cols, self.tile_bands)

    def take(self, which: NDArray[np.intp]) -> ReadPlan:
        """The plan of some tiles, in the order given."""
        columns = {name: getattr(self, name)[which] for name in ("file", "offset", "length", "stored_rows", "place")}
        return replace(self, target=self.target.take(which), **columns)

    def in_parts(self, memory_limit: int) -> Iterator[ReadPlan]:
        """Cut the plan so that the bytes of two parts, compressed and decompressed, stay under a limit.

        While one part is decoded the next is read. What fits the limit as a whole is one part; a tile that is larger by
        itself makes its own.

        Args:
            memory_limit: bytes.
        """
        order = np.lexsort((self.offset, self.file))
        need = np.cumsum((self.length + self.decoded_bytes)[order])
        most = memory_limit if need[-1] <= memory_limit else memory_limit // 2
        begin = 0
        while begin < len(order):
            before = need[begin - 1] if begin else 0
            end = max(begin + 1, int(np.searchsorted(need, before + most, side="right")))
            yield self.take(order[begin:end])
            begin = end
