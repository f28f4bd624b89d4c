"""Virtual references of an Icechunk store: listed once for each session and array, and read where Icechunk reads."""

from __future__ import annotations

import asyncio
import os
import sys
import threading
import weakref
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote, urlsplit

import numpy as np
from zarr.abc.store import RangeByteRequest
from zarr.core.buffer import cpu

from tiff_codecs.errors import TiffAccessError, TiffNotFoundError
from tiff_codecs.references.file import StoreFile, local_path
from tiff_codecs.references.ranges import MISSING, OTHERWISE, References

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

__all__ = ["is_store", "resolve"]

VIRTUAL: Final = 2
MOST_LISTINGS: Final = 32

AUTHORIZE: Final = (
    "if the repository is to be trusted with the file, open it with authorize_virtual_chunk_access for the virtual "
    "chunk container that the file lies in"
)
WAYS_OUT: Final[dict[str | None, str]] = {
    None: AUTHORIZE,  # an Icechunk that does not say what kind of error it is
    "unauthorized-virtual-chunk-container": AUTHORIZE,
    "no-container-for-virtual-chunk": "if the repository is to be trusted with the file, add a virtual chunk container "
    "for its folder to the configuration, and name it in authorize_virtual_chunk_access",
    "virtual-chunk-modified": "the references were made of another state of the file: write them anew",
    "virtual-chunk-fetch": "check that the file is there, whole, and may be read",
}
"""By the kind that Icechunk's error says."""

type Identity = tuple[int, int, int]
"""Inode, time of the last change in nanoseconds, and size in bytes of a file."""


@dataclass(frozen=True, slots=True)
class _Listing:
    """All references of one array, in a dense grid as far as any chunk is set."""

    store: weakref.ref[Any]
    shape: tuple[int, ...]
    files: tuple[StoreFile, ...]
    file: NDArray[np.int32]
    offset: NDArray[np.int64]
    length: NDArray[np.int64]
    checked: dict[int, Identity] = field(default_factory=dict[int, "Identity"])
    """The files that Icechunk has read for `store`, by their index, as they were then."""


_listings: OrderedDict[tuple[int, str], _Listing] = OrderedDict()
"""By the store's id and the array's path. Not by the snapshot's id: that says neither which repository it comes from
nor what its user lets it read."""
_lock = threading.Lock()


def is_store(store: Any) -> bool:  # noqa: ANN401 - any Zarr store
    """Whether `store` is Icechunk's."""
    module = sys.modules.get("icechunk")
    return module is not None and isinstance(store, module.IcechunkStore)


def resolve(store: Any, array_path: str, coordinates: NDArray[np.int64], keys: Sequence[str]) -> References:  # noqa: ANN401
    """Look chunks up; see `tiff_codecs.references.resolve.resolve`.

    The references are whatever a repository says, and are read past Icechunk. So Icechunk itself first reads one byte
    of each file among them: that its user authorized the file's container, and that the file is still the one referred
    to, are then Icechunk's words. It compares the time or ETag that the one chunk's reference holds; other
    chunks of the same file may have been written with another one, which is not compared. In a read-only session a
    file is read so once, and anew when it has changed; in a writable one at each call.

    Raises:
        TiffNotFoundError: a file is not there.
        TiffAccessError: Icechunk does not read a file: caused by the error that says why.
    """
    listing = _listing(store, array_path, coordinates.shape[1])
    if not listing.file.size:
        nothing = np.zeros(len(coordinates), np.int64)
        return References((), np.full(len(coordinates), MISSING, np.int32), nothing, nothing)
    inside = (coordinates < np.array(listing.shape)).all(axis=1)
    index = tuple(np.where(inside[:, None], coordinates, 0).T)
    file = np.where(inside, listing.file[index], MISSING).astype(np.int32)
    _check(store, listing, file, keys)
    return References(listing.files, file, listing.offset[index], listing.length[index])


def _listing(store: Any, array_path: str, axes: int) -> _Listing:  # noqa: ANN401
    if not store.session.read_only:  # what is not committed may change any time
        return _list(store, array_path, axes)
    key = (id(store), array_path)
    with _lock:
        known = _listings.get(key)
        if known is not None and known.store() is store:  # an id is given again
            _listings.move_to_end(key)
            return known
    listing = _list(store, array_path, axes)
    with _lock:
        for gone in [other for other, known in _listings.items() if known.store() is None]:
            del _listings[gone]
        _listings[key] = listing
        _listings.move_to_end(key)
        while len(_listings) > MOST_LISTINGS:
            _listings.popitem(last=False)
    return listing


def _check(store: Any, listing: _Listing, file: NDArray[np.int32], keys: Sequence[str]) -> None:  # noqa: ANN401
    """Let Icechunk read a byte of each file that is read past it, all at once, but those that it has read before."""
    numbers, first = np.unique(file, return_index=True)
    unknown: dict[int, tuple[str, Identity | None]] = {}
    number: int
    chunk: int
    for number, chunk in zip(numbers.tolist(), first.tolist(), strict=True):
        path = listing.files[number].local_path if number >= 0 else None
        if path is not None:
            identity = _identity(path)  # before the check: what changes meanwhile is checked again
            if identity is None or listing.checked.get(number) != identity:
                unknown[number] = keys[chunk], identity
    if not unknown:
        return
    outcomes = asyncio.run(_first_bytes(store, [key for key, _ in unknown.values()]))
    for (number, (_, identity)), outcome in zip(unknown.items(), outcomes, strict=True):
        if outcome is None or isinstance(outcome, sys.modules["icechunk"].IcechunkError):
            raise _refusal(listing.files[number], outcome) from outcome
        if isinstance(outcome, BaseException):
            raise outcome
        if identity is not None:
            listing.checked[number] = identity


async def _first_bytes(store: Any, keys: list[str]) -> list[Any]:  # noqa: ANN401
    """A buffer, None for no chunk, or an exception, for each key."""
    byte = RangeByteRequest(0, 1)
    gets = [store.get(key, cpu.buffer_prototype, byte) for key in keys]
    return await asyncio.gather(*gets, return_exceptions=True)


def _refusal(file: StoreFile, error: Any) -> TiffAccessError:  # noqa: ANN401 - an IcechunkError, or None for no chunk
    kind = getattr(error, "kind", None)
    is_missing = kind == "virtual-chunk-fetch" and not os.path.exists(file.local_path or "")  # noqa: PTH110
    return (TiffNotFoundError if is_missing else TiffAccessError)(
        "Icechunk does not read the file",
        url=file.url,
        found="no such chunk any more" if error is None else str(error).strip().split("\n", 1)[0],
        way_out=WAYS_OUT.get(kind),
    )


def _identity(path: str) -> Identity | None:
    """What tells a file from its successor; None where there is none."""
    try:
        stat = os.stat(path)  # noqa: PTH116
    except (OSError, ValueError):
        return None
    return stat.st_ino, stat.st_mtime_ns, stat.st_size


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
    return _Listing(weakref.ref(store), shape, files, grids[0].astype(np.int32), grids[1], grids[2])


async def _batches(store: Any, array_path: str) -> list[Any]:  # noqa: ANN401
    return [batch async for batch in store.array_chunk_iterator(f"/{array_path.strip('/')}")]


def _store_file(url: str) -> StoreFile:
    """The file behind a virtual location: in the file system, or in a store that Icechunk has the keys of."""
    parts = urlsplit(url)
    if parts.scheme == "file":
        from obstore.store import LocalStore

        store, path = LocalStore(), unquote(parts.path)
        local = local_path(store, path)
        if local is not None:
            return StoreFile(url, local, store, path.lstrip("/"))
    return StoreFile(url, None, None, "")
