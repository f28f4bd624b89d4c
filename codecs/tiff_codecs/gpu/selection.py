"""From zarr's list of chunks and selections to a plan for the device."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from zarr.storage import StorePath

from tiff_codecs.gpu.plan import ReadPlan, Target
from tiff_codecs.references.ranges import MISSING, OTHERWISE
from tiff_codecs.references.resolve import can_resolve, chunk_coordinates, resolve

if TYPE_CHECKING:
    import cupy
    from numpy.typing import NDArray
    from zarr.abc.codec import GetResult

    from tiff_codecs.chain import Chain

__all__ = ["Planned", "plan_selection"]


@dataclass(frozen=True, slots=True)
class Planned:
    """A plan, the array it writes to, and what is left to do when it is done."""

    plan: ReadPlan
    target: cupy.ndarray
    results: tuple[GetResult, ...]
    copies: list[tuple[cupy.ndarray, Any, cupy.ndarray, Any, tuple[int, ...]]] = field(default_factory=list[Any])

    def finish(self) -> None:
        """Copy from whole chunks what a fancy selection wants of them."""
        for chunk, chunk_selection, out, out_selection, drop_axes in self.copies:
            wanted = chunk[_on_device(chunk_selection)]
            out[_on_device(out_selection)] = wanted.squeeze(axis=drop_axes) if drop_axes else wanted


def plan_selection(
    chain: Chain,
    metadata: Any,  # noqa: ANN401 - zarr's ArrayV3Metadata
    batch: list[Any],
    out: cupy.ndarray,
    drop_axes: tuple[int, ...],
) -> Planned | None:
    """Plan one read of zarr's; None where chunks have to be read through the store.

    Missing chunks are filled here, on the caller's stream.

    Raises:
        TiffAccessError: the store may not read a file, or no longer takes it for the one referred to.
    """
    import cupy

    getters = [item[0] for item in batch]
    if not isinstance(getters[0], StorePath) or not can_resolve(getters[0].store):
        return None
    store = getters[0].store
    if any(not isinstance(getter, StorePath) or getter.store is not store for getter in getters):
        return None
    axes = len(metadata.shape)
    keys = [getter.path for getter in getters]
    array_path, coordinates = chunk_coordinates(metadata, keys, axes)
    found = resolve(store, array_path, coordinates, keys)
    if (found.file == OTHERWISE).any() or any(
        file.store is None and file.local_path is None for file in found.files if file.url
    ):
        return None

    copies: list[Any] = []
    boxes = (
        None
        if drop_axes or chain.is_volume
        else _boxes([item[2] for item in batch], [item[3] for item in batch], axes, out)
    )
    if boxes is None:
        # a selection that is no box, or a volume: whole chunks first, then what is wanted of each
        target = cupy.empty((len(batch), *metadata.chunks), out.dtype)
        copies = [(target[i], item[2], out, item[3], drop_axes) for i, item in enumerate(batch)]
        offset = np.arange(len(batch), dtype=np.int64) * target.strides[0]
        if chain.is_volume:
            first, sizes = target[0].reshape(chain.tile_shape), np.tile(chain.tile_shape, (len(batch), 1))
        else:
            first = target[0]
            sizes = np.minimum(np.array(metadata.shape) - coordinates * metadata.chunks, metadata.chunks)
        boxes = _Boxes(first, offset, np.zeros_like(sizes), sizes)
        base = target
    else:
        base = out
    start, size = boxes.start[:, -3:], boxes.size[:, -3:]
    if axes == 2:
        start, size = np.insert(start, 0, 0, axis=1), np.insert(size, 0, 1, axis=1)
    present = found.file != MISSING
    for i in np.flatnonzero(~present).tolist():
        view = base[i] if copies else out[batch[i][3]]
        view[...] = batch[i][1].fill_value
    which = np.flatnonzero(present)
    stored = np.full(len(batch), chain.rows)
    if chain.layout.last_strip_rows is not None:
        stored[coordinates[:, -2] == chain.grid_rows - 1] = chain.layout.last_strip_rows
    if chain.is_volume:
        size[:, 1] = np.minimum(size[:, 1], stored)
    plan = ReadPlan(
        compression=chain.compression,
        fill_order=chain.fill_order,
        layout=chain.layout,
        tile_cols=chain.cols,
        tile_bands=chain.bands,
        files=found.files,
        file=found.file[which],
        offset=found.offset[which],
        length=found.length[which],
        stored_rows=stored[which].astype(np.int32),
        target=Target(
            boxes.offset[which],
            *(
                column[which].astype(np.int32)
                for column in (start[:, 1], size[:, 1], start[:, 2], size[:, 2], start[:, 0], size[:, 0])
            ),
        ),
        place=coordinates[which],
        codec=chain.codec,
        tile_rows=chain.rows,
    )
    results: tuple[GetResult, ...] = tuple({"status": "present" if there else "missing"} for there in present.tolist())
    return Planned(plan, boxes.view, results, copies)


@dataclass(frozen=True, slots=True)
class _Boxes:
    """Wanted boxes of chunks, and where in `view` each begins; all of shape (chunks, axes) but `offset`."""

    view: cupy.ndarray
    offset: NDArray[np.int64]
    start: NDArray[np.int64]
    size: NDArray[np.int64]


def _boxes(chunk_selections: list[Any], out_selections: list[Any], axes: int, out: cupy.ndarray) -> _Boxes | None:
    """Read selections that are boxes: slices of step 1, and integers, which drop their axis; None for others."""
    start, size = np.empty((len(chunk_selections), axes), np.int64), np.empty((len(chunk_selections), axes), np.int64)
    begin = np.zeros((len(chunk_selections), axes), np.int64)
    dropped: tuple[bool, ...] | None = None
    for i, selections in enumerate(zip(chunk_selections, out_selections, strict=True)):
        chunk, target = map(_parts, selections)
        if chunk is None or target is None or len(chunk) != axes:
            return None
        drops = tuple(isinstance(part, int | np.integer) for part in chunk)
        if len(target) != axes - sum(drops) or (dropped is not None and drops != dropped):
            return None
        dropped = drops
        places = iter(target)
        for axis, part in enumerate(chunk):
            if drops[axis]:
                start[i, axis], size[i, axis] = part, 1
                continue
            place = next(places)
            if not (_is_box(part) and _is_box(place)):
                return None
            start[i, axis], size[i, axis] = part.start or 0, part.stop - (part.start or 0)
            begin[i, axis] = place.start or 0
    assert dropped is not None  # noqa: S101 - the batch is not empty
    view = out[tuple(None if drop else slice(None) for drop in dropped)] if any(dropped) else out
    offset = begin @ np.array(view.strides, np.int64)
    if axes == 2:
        view = view[None]
    elif axes > 3:
        view = view[(0,) * (axes - 3)]  # offsets count from the first pixel of all
    return _Boxes(view, offset, start, size)


def _parts(selection: object) -> tuple[Any, ...] | None:
    """The parts of a selection by axis; None for one that is no tuple."""
    return cast("tuple[Any, ...]", selection) if isinstance(selection, tuple) else None


def _is_box(part: Any) -> bool:  # noqa: ANN401
    return isinstance(part, slice) and part.step in (None, 1) and part.stop is not None


def _on_device(selection: Any) -> Any:  # noqa: ANN401 - a tuple of slices, integers and arrays
    import cupy

    parts = _parts(selection)
    if parts is None:
        return cupy.asarray(selection) if isinstance(selection, np.ndarray) else selection
    return tuple(cupy.asarray(part) if isinstance(part, np.ndarray) else part for part in parts)
