"""Virtual references of an Icechunk store, listed once for each array and snapshot."""

from __future__ import annotations

import asyncio
import sys
import threading
from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote, urlsplit

import numpy as np

from tiff_codecs.gpu.reference import MISSING, OTHERWISE, References, StoreFile

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["is_store", "resolve"]

VIRTUAL: Final = 2
MOST_LISTINGS: Final = 32


@dataclass(frozen=True, slots=True)
class _Listing:
    """All references of one array, in a dense grid as far as any chunk is set."""

    shape: tuple[int, ...]
    files: tuple[StoreFile, ...]
    file: NDArray[np.int32]
    offset: NDArray[np.int64]
    length: NDArray[np.int64]


_listings: OrderedDict[tuple[str, str], _Listing] = OrderedDict()
_lock = threading.Lock()


def is_store(store: Any) -> bool:  # noqa: ANN401 - any Zarr store
    """Whether `store` is Icechunk's."""
    module = sys.modules.get("icechunk")
    return module is not None and isinstance(store, module.IcechunkStore)


def resolve(store: Any, array_path: str, coordinates: NDArray[np.int64]) -> References:  # noqa: ANN401
    """Look chunks up; see `tiff_codecs.gpu.references.resolve`."""
    session = store.session
    if session.read_only:
        key = (str(session.snapshot_id), array_path)
        with _lock:
            listing = _listings.get(key)
        if listing is None:
            listing = _list(store, array_path, coordinates.shape[1])
            with _lock:
                _listings[key] = listing
                while len(_listings) > MOST_LISTINGS:
                    _listings.popitem(last=False)
    else:  # what is not committed may change any time
        listing = _list(store, array_path, coordinates.shape[1])
    inside = (coordinates < np.array(listing.shape)).all(axis=1)
    index = tuple(np.where(inside[:, None], coordinates, 0).T)
    file = (
        np.where(inside, listing.file[index], MISSING).astype(np.int32)
        if listing.file.size
        else np.full(len(coordinates), MISSING, np.int32)
    )
    if not listing.file.size:
        return References((), file, np.zeros(len(file), np.int64), np.zeros(len(file), np.int64))
    return References(listing.files, file, listing.offset[index], listing.length[index])


def _list(store: Any, array_path: str, axes: int) -> _Listing:  # noqa: ANN401
    batches = asyncio.run(_batches(store, array_path))
    coordinates = np.concatenate([np.empty((0, axes), np.int64), *(batch[0].astype(np.int64) for batch in batches)])
    shape = tuple((coordinates.max(axis=0) + 1).tolist()) if len(coordinates) else (0,) * axes
    kinds = np.concatenate([np.empty(0, np.uint8), *(batch[1] for batch in batches)])
    known: dict[str, int] = {}
    file = np.array([known.setdefault(path, len(known)) for batch in batches for path in batch[2]], np.int32).reshape(
        -1
    )
    file = np.where(kinds == VIRTUAL, file, OTHERWISE)
    grids: list[Any] = []
    for column, empty in (
        (file, MISSING),
        (np.concatenate([np.empty(0, np.uint64), *(batch[3] for batch in batches)]), 0),
        (np.concatenate([np.empty(0, np.uint64), *(batch[4] for batch in batches)]), 0),
    ):
        grid = np.full(shape, empty, np.int64)
        grid[tuple(coordinates.T)] = column.astype(np.int64)
        grids.append(grid)
    files = tuple(_store_file(path) for path in known)
    return _Listing(shape, files, grids[0].astype(np.int32), grids[1], grids[2])


async def _batches(store: Any, array_path: str) -> list[Any]:  # noqa: ANN401
    return [batch async for batch in store.array_chunk_iterator(f"/{array_path.strip('/')}")]


def _store_file(url: str) -> StoreFile:
    """The file behind a virtual location: in the file system, or in a store that the environment has the keys of."""
    parts = urlsplit(url)
    if parts.scheme == "file":
        from obstore.store import LocalStore

        path = unquote(parts.path)
        return StoreFile(url, path, LocalStore(), path.lstrip("/"))
    return StoreFile(url, None, None, "")
