"""Bytes of tiles from files to device memory: kvikio where it can go, pinned host memory elsewhere."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tiff_codecs.errors import TiffAccessError, TiffNotFoundError
from tiff_codecs.gpu import files
from tiff_codecs.gpu.device import arena

if TYPE_CHECKING:
    import cupy
    from numpy.typing import NDArray

    from tiff_codecs.gpu.plan import ReadPlan

__all__ = ["Fetched", "Requests", "fetch", "lay_out"]

HEADER: Final = {"deflate": 2}
"""Bytes in front of what the device's decompressor takes: zlib's header."""

ALIGNMENT: Final = 16
"""Where each tile has a request of its own, its payload begins at a multiple of this: nvCOMP wants 4."""

SMALL: Final = 64 * 1024
GAP: Final = 16 * 1024
MOST: Final = 1024 * 1024
"""Tiles that are this small on the average are read together, if no more bytes than these lie between them, up to so
many at a time."""


@dataclass(frozen=True, slots=True)
class Fetched:
    """Compressed tiles in device memory."""

    buffer: cupy.ndarray
    """All bytes, uint8 of shape (bytes,)."""
    address: NDArray[np.uint64]
    """Device address of the first byte of each tile, shape (tiles,)."""
    aligned: bool
    """Whether the payload of each tile lies at a multiple of `ALIGNMENT`."""
    ways: dict[str, int]
    """How many bytes came by which way: "kvikio", "pinned"."""


@dataclass(frozen=True, slots=True)
class Requests:
    """What to read, as columns of length (requests,), and where the tiles then are."""

    file: NDArray[np.int64]
    offset: NDArray[np.int64]
    length: NDArray[np.int64]
    start: NDArray[np.int64]
    """Where the bytes go in the buffer."""
    tile: NDArray[np.int64]
    """Where each tile begins in the buffer, of length (tiles,)."""
    total: int
    """Bytes of the buffer: a decoder may load whole words past the end of a tile."""
    aligned: bool


def lay_out(plan: ReadPlan) -> Requests:
    """Decide what is read with one request, and where it goes. The tiles must be in the order of the files."""
    if plan.length.sum() >= SMALL * len(plan):
        room = (plan.length + ALIGNMENT - 1) // ALIGNMENT * ALIGNMENT + 2 * ALIGNMENT
        starts = np.concatenate([[0], np.cumsum(room)])
        tile = starts[:-1] + ALIGNMENT - HEADER.get(plan.compression.name, 0)
        return Requests(
            plan.file.astype(np.int64), plan.offset, plan.length, tile, tile, int(starts[-1]) + ALIGNMENT, aligned=True
        )
    ends = np.maximum.accumulate(plan.offset + plan.length)
    apart = np.ones(len(plan), bool)
    apart[1:] = (plan.file[1:] != plan.file[:-1]) | (plan.offset[1:] > ends[:-1] + GAP)
    # the running end must begin anew with every file
    for first in np.flatnonzero(np.diff(plan.file, prepend=-1)):
        part = np.s_[first : first + np.count_nonzero(plan.file == plan.file[first])]
        ends[part] = np.maximum.accumulate((plan.offset + plan.length)[part])
        apart[part][1:] = plan.offset[part][1:] > ends[part][:-1] + GAP
    run = plan.offset[np.flatnonzero(apart)][np.cumsum(apart) - 1]
    block = (plan.offset - run) // MOST
    apart[1:] |= block[1:] != block[:-1]
    first = np.flatnonzero(apart)
    group = np.cumsum(apart) - 1
    offset = plan.offset[first]
    length = np.maximum.reduceat(plan.offset + plan.length, first) - offset
    room = (length + ALIGNMENT - 1) // ALIGNMENT * ALIGNMENT + ALIGNMENT
    starts = np.concatenate([[0], np.cumsum(room)]) + ALIGNMENT
    tile = starts[group] + plan.offset - offset[group]
    return Requests(
        plan.file[first].astype(np.int64), offset, length, starts[:-1], tile, int(starts[-1]) + ALIGNMENT, aligned=False
    )


def fetch(plan: ReadPlan, stream: cupy.cuda.Stream) -> Fetched:
    """Read the bytes of all tiles of `plan` into one device buffer.

    Reads write into the buffer at once, not in a stream's order, so it comes from a part of CuPy's memory pool
    of its own: whoever lets it go must know that no queued work uses it any more.

    Args:
        plan: the tiles, in the order of their files.
        stream: where copies from the host are queued.

    Raises:
        TiffNotFoundError: a file is not there.
        TiffAccessError: a file cannot be read, or is shorter than the plan.
    """
    import cupy

    requests = lay_out(plan)
    with arena():
        buffer = cupy.empty(requests.total, np.uint8)
    ways: dict[str, int] = {}
    for index, file in enumerate(plan.files):
        which = np.flatnonzero(requests.file == index)
        if not len(which):
            continue
        way = _kvikio if files.can_kvikio(file) else _pinned
        way(file, requests.offset[which], requests.length[which], buffer, requests.start[which], stream)
        name = way.__name__.strip("_")
        ways[name] = ways.get(name, 0) + int(requests.length[which].sum())
    return Fetched(buffer, (buffer.data.ptr + requests.tile).astype(np.uint64), requests.aligned, ways)


def _kvikio(
    file: Any,  # noqa: ANN401 - a FileReference
    offsets: NDArray[np.int64],
    lengths: NDArray[np.int64],
    buffer: cupy.ndarray,
    starts: NDArray[np.int64],
    stream: cupy.cuda.Stream,  # noqa: ARG001 - kvikio copies on its own
) -> None:
    """Queue one read for each request straight to its place, then wait for all."""
    handle = files.open_kvikio(file, int((offsets + lengths).max()))
    futures = [
        (handle.pread(buffer[start : start + length], length, offset), length)
        for start, length, offset in zip(starts.tolist(), lengths.tolist(), offsets.tolist(), strict=True)
    ]
    problem: Exception | None = None
    for future, length in futures:  # wait for every one: they write into `buffer`
        try:
            if (got := future.get()) != length:
                problem = problem or files.short(file, got, length)
        except Exception as error:  # noqa: BLE001 - kvikio raises RuntimeError and OSError
            problem = problem or error
    if problem is not None:
        files.forget(file)
        raise problem if isinstance(problem, TiffAccessError) else files.unreadable(file, problem) from problem


def _pinned(
    file: Any,  # noqa: ANN401 - a FileReference
    offsets: NDArray[np.int64],
    lengths: NDArray[np.int64],
    buffer: cupy.ndarray,
    starts: NDArray[np.int64],
    stream: cupy.cuda.Stream,
) -> None:
    """Read into pinned host memory in threads, then copy to the device at once."""
    import cupy

    first, last = int(starts[0]), int(starts[-1] + lengths[-1])
    memory = cupy.cuda.alloc_pinned_memory(last - first)
    host = np.frombuffer(memory, np.uint8, last - first)

    def read(job: tuple[int, int, int]) -> None:
        start, length, offset = job
        data = memoryview(file.read(offset, offset + length)).cast("B")
        if len(data) != length:
            raise files.short(file, len(data), length)
        host[start - first : start - first + length] = data

    jobs = list(zip(starts.tolist(), lengths.tolist(), offsets.tolist(), strict=True))
    with ThreadPoolExecutor(min(len(jobs), 2 * (os.cpu_count() or 1)), thread_name_prefix="tiff-fetch") as pool:
        try:
            list(pool.map(read, jobs))
        except FileNotFoundError as error:
            raise TiffNotFoundError("there is no such file", url=file.url, found=str(error)) from error
    buffer[first:last].set(host, stream=stream)
    stream.synchronize()  # the pinned memory goes back to its pool on return
