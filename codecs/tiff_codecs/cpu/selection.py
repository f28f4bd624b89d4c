"""From zarr's list of chunks and selections to tiles and their places."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from zarr.storage import StorePath

from tiff_codecs.cpu.plan import TileRead
from tiff_codecs.references.ranges import MISSING, OTHERWISE
from tiff_codecs.references.resolve import chunk_coordinates, is_manifest_store, resolve

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tiff_codecs.chain import Chain
    from tiff_codecs.references.ranges import References

__all__ = ["Places", "Selected", "plan_selection", "resolve_batch"]


@dataclass(frozen=True, slots=True)
class Selected:
    """One read of zarr's, planned."""

    tiles: list[TileRead]
    """In the order of their files; the missing ones first."""
    missing: NDArray[np.bool_]
    """Which chunks are not there, shape (chunks,)."""
    otherwise: list[int]
    """Chunks that only the store can read: inlined ones."""


@dataclass(frozen=True, slots=True)
class Places:
    """Where the chunks of one read go: what zarr's pipeline needs to know of it."""

    batch: list[Any]
    out: NDArray[Any]
    drop_axes: tuple[int, ...]
    chain: Chain

    def store(self, index: int, chunk: Any) -> None:  # noqa: ANN401 - an array or a scalar
        """Put a whole chunk of shape (..., rows, columns), or one value for all of it, where it is wanted."""
        _, spec, wanted, place, _ = self.batch[index]
        if np.ndim(chunk):
            chunk = chunk.reshape(spec.shape)[wanted]
            chunk = chunk.squeeze(axis=self.drop_axes) if self.drop_axes else chunk
        self.out[place] = chunk

    def box(self, index: int) -> tuple[tuple[int, int, int], NDArray[Any]] | None:
        """Where a chunk's wanted part begins, and its place as an array of (bands, rows, columns); None for no box.

        A box is made of slices of step 1, and of integers, which drop their axis. Chunks of volumes have none.
        """
        _, _, *selections, _ = self.batch[index]
        if self.drop_axes or self.chain.is_volume or not all(isinstance(selection, tuple) for selection in selections):
            return None
        wanted, place = cast("list[tuple[Any, ...]]", selections)
        if self.out.dtype != self.chain.layout.dtype:
            return None  # the caller's own array, of another type
        starts: list[int] = []
        parts: list[Any] = []
        places = iter(place)
        for part in wanted:
            if isinstance(part, int):
                starts.append(part)
                parts.append(np.newaxis)
                continue
            target = next(places, None)
            if not (_is_box(part) and _is_box(target)):
                return None
            starts.append(part.start or 0)
            parts.append(target)
        if next(places, None) is not None:
            return None
        # axes before the bands are one long
        view = self.out[tuple(parts)]
        view = view[(0,) * (len(parts) - 3)] if len(parts) > 2 else view[np.newaxis]
        band, row, col = (0, 0, *starts)[-3:]
        return (band, row, col), view


def resolve_batch(metadata: Any, batch: list[Any]) -> tuple[References, NDArray[np.int64]] | None:  # noqa: ANN401
    """Where the chunks lie, and their positions in the grid; None where the store is to be asked.

    Icechunk is asked, although its references could be listed: it alone knows which places its user lets it read,
    and whether a file is still the one referred to.
    """
    first = batch[0][0]
    if not isinstance(first, StorePath) or not is_manifest_store(first.store):
        return None
    if any(not isinstance(item[0], StorePath) or item[0].store is not first.store for item in batch):
        return None
    keys = [item[0].path for item in batch]
    array_path, coordinates = chunk_coordinates(metadata, keys, len(metadata.shape))
    return resolve(first.store, array_path, coordinates, keys), coordinates


def plan_selection(places: Places, found: References, coordinates: NDArray[np.int64]) -> Selected:
    """Plan one read of zarr's. What is missing of a selection that is no box is filled here.

    Args:
        places: where the chunks go.
        found: where they lie.
        coordinates: their positions in the grid, shape (chunks, axes).
    """
    chain = places.chain
    last = coordinates[:, -2] == chain.grid_rows - 1
    tiles: list[TileRead] = []
    file: int
    order = np.lexsort((found.offset, found.file))
    columns: list[list[Any]] = [
        column[order].tolist() for column in (found.file, found.offset, found.length, last, coordinates)
    ]
    for i, file, start, length, is_last, position in zip(order.tolist(), *columns, strict=True):
        if file == OTHERWISE:
            continue
        rows = (chain.layout.last_strip_rows if is_last else None) or chain.rows
        box = places.box(i)
        if box is not None and file != MISSING and box[0][1] + box[1].shape[1] > rows:
            box = None  # the array is larger than its last strip says: as zarr's pipeline does
        if file == MISSING:
            if box is None:
                places.store(i, places.batch[i][1].fill_value)
            else:
                tiles.append(TileRead(None, 0, 0, rows, *box, tuple(position)))
            continue
        first: Any = (0, 0, 0)
        target: Any = partial(places.store, i)
        if box is not None:
            first, target = box
        tiles.append(TileRead(found.files[file], start, start + length, rows, first, target, tuple(position)))
    return Selected(tiles, found.file == MISSING, np.flatnonzero(found.file == OTHERWISE).tolist())


def _is_box(part: Any) -> bool:  # noqa: ANN401
    return isinstance(part, slice) and part.step in (None, 1) and part.stop is not None
