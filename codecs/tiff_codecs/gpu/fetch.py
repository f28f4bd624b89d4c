"""Bytes of tiles from files to device memory: kvikio where it can go, pinned host memory elsewhere."""

from __future__ import annotations

import contextlib
import os
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tiff_codecs.errors import TiffAccessError, TiffNotFoundError
from tiff_codecs.gpu import files
from tiff_codecs.gpu.device import arena
from tiff_codecs.references.file import short, unreadable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import cupy
    from numpy.typing import NDArray

    from tiff_codecs.gpu.plan import ReadPlan
    from tiff_codecs.references.file import FileReference

__all__ = ["Fetched", "Requests", "fetch", "lay_out"]

HEADER: Final = {"deflate": 2, "gzip": 10, "lz4": 4}
"""Bytes in front of what the device's decompressor takes: the headers of zlib and gzip, an LZ4 block's size."""

ALIGNMENT: Final = 16
"""Where each tile has a request of its own, its payload begins at a multiple of this: nvCOMP wants 4."""

GAP: Final = 16 * 1024
MOST: Final = 3 * 1024 * 1024
"""Tiles are read together if no more bytes than `GAP` lie between them, up to about `MOST` at a time: fewer and larger
requests leave the interpreter to the work that goes on meanwhile."""

LARGE: Final = {"none": 64 * 1024}
"""Tiles of so many bytes on the average, `MOST` if it is not said here, have requests of their own."""


@dataclass(slots=True)
class Fetched:
    """Compressed tiles in device memory, or on their way there."""

    buffer: cupy.ndarray
    """All bytes, uint8 of shape (bytes,)."""
    address: NDArray[np.uint64]
    """Device address of the first byte of each tile, shape (tiles,)."""
    aligned: bool
    """Whether the payload of each tile lies at a multiple of `ALIGNMENT`."""
    ways: dict[str, int]
    """How many bytes come by which way: "kvikio", "pinned"."""
    request: NDArray[np.int64]
    """Which of the requests brings each tile, never falling; shape (tiles,)."""
    waiting: deque[Callable[[], None]]
    """What waits for each of the requests, without those that were waited for."""
    begun: float
    """When the first request was made, by `time.perf_counter`."""
    seconds: float = 0.0
    """From then until the last of what was waited for was there."""

    def wait(self, tiles: int | None = None) -> None:
        """Return when the first `tiles` tiles are there, or all.

        Raises:
            TiffNotFoundError: a file is not there.
            TiffAccessError: a file cannot be read, or is shorter than the plan.
        """
        requests = int(self.request[-1] if tiles is None else self.request[tiles - 1]) + 1
        spare = int(self.request[-1]) + 1 - requests
        while len(self.waiting) > spare:
            self.waiting.popleft()()
            self.seconds = perf_counter() - self.begun

    def words(self, addresses: NDArray[np.uint64], number: int) -> cupy.ndarray:
        """The little-endian words that begin at any addresses in the buffer, uint32 of shape (addresses, number)."""
        import cupy

        first = (addresses - np.uint64(self.buffer.data.ptr)).astype(np.int64)
        return self.buffer[cupy.asarray(first[:, None] + np.arange(4 * number))].view(np.uint32)

    def settle(self) -> None:
        """Return when nothing writes to the buffer any more, whatever became of it."""
        while self.waiting:
            with contextlib.suppress(TiffAccessError):
                self.waiting.popleft()()


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
    request: NDArray[np.int64]
    """Which request brings each tile, of length (tiles,)."""
    total: int
    """Bytes of the buffer: a decoder may load whole words past the end of a tile."""
    aligned: bool


def lay_out(plan: ReadPlan) -> Requests:
    """Decide what is read with one request, and where it goes. The tiles must be in the order of the files."""
    if plan.length.sum() >= LARGE.get(plan.compression.name, MOST) * len(plan):
        room = (plan.length + ALIGNMENT - 1) // ALIGNMENT * ALIGNMENT + 2 * ALIGNMENT
        starts = np.concatenate([[0], np.cumsum(room)])
        tile = starts[:-1] + ALIGNMENT - HEADER.get(plan.compression.name, 0)
        return Requests(
            plan.file.astype(np.int64), plan.offset, plan.length, tile, tile, np.arange(len(plan)),
            int(starts[-1]) + ALIGNMENT, aligned=True,
        )  # fmt: skip
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
        plan.file[first].astype(np.int64), offset, length, starts[:-1], tile, group, int(starts[-1]) + ALIGNMENT,
        aligned=False,
    )  # fmt: skip


def fetch(plan: ReadPlan, stream: cupy.cuda.Stream) -> Fetched:
    """Begin to read the bytes of all tiles of `plan` into one device buffer.

    Reads write into the buffer at once, not in a stream's order, so it comes from a part of CuPy's memory pool
    of its own: whoever lets it go must know that it is settled and that no queued work uses it any more.

    Args:
        plan: the tiles, in the order of their files.
        stream: where copies from the host are queued.

    Raises:
        TiffNotFoundError: a file is not there.
        TiffAccessError: a file cannot be opened.
    """
    import cupy

    begun = perf_counter()
    requests = lay_out(plan)
    with arena():
        buffer = cupy.empty(requests.total, np.uint8)
    address = (buffer.data.ptr + requests.tile).astype(np.uint64)
    fetched = Fetched(buffer, address, requests.aligned, {}, requests.request, deque(), begun)
    try:
        for index, file in enumerate(plan.files):
            which = np.flatnonzero(requests.file == index)
            if not len(which):
                continue
            way = _kvikio if files.can_kvikio(file) else _pinned
            jobs = [column[which].tolist() for column in (requests.offset, requests.length, requests.start)]
            fetched.waiting.extend(way(file, list(zip(*jobs, strict=True)), buffer, stream))
            name = way.__name__.strip("_")
            fetched.ways[name] = fetched.ways.get(name, 0) + sum(jobs[1])
    except BaseException:
        fetched.settle()
        raise
    return fetched


type Job = tuple[int, int, int]
"""Offset in the file, number of bytes, place in the buffer."""


def _kvikio(
    file: FileReference,
    jobs: list[Job],
    buffer: cupy.ndarray,
    stream: cupy.cuda.Stream,  # noqa: ARG001 - kvikio copies on its own
) -> Iterator[Callable[[], None]]:
    """Queue one read for each request, straight to its place."""
    handle = files.open_kvikio(file, max(offset + length for offset, length, _ in jobs))

    def wait(future: Any, length: int, _handle: Any) -> None:  # noqa: ANN401 - a kvikio.IOFuture keeps no handle open
        try:
            got = future.get()
        except Exception as error:  # kvikio raises RuntimeError and OSError
            files.forget(file)
            raise unreadable(file, error) from error
        if got != length:
            files.forget(file)
            raise short(file, got, length)

    for offset, length, start in jobs:
        yield partial(wait, handle.pread(buffer[start : start + length], length, offset), length, handle)


def _pinned(
    file: FileReference, jobs: list[Job], buffer: cupy.ndarray, stream: cupy.cuda.Stream
) -> Iterator[Callable[[], None]]:
    """Read into pinned host memory in threads, to be copied to the device at once with the last request."""
    import cupy

    first, last = jobs[0][2], jobs[-1][2] + jobs[-1][1]
    memory = cupy.cuda.alloc_pinned_memory(last - first)
    host = np.frombuffer(memory, np.uint8, last - first)

    def read(job: Job) -> None:
        offset, length, start = job
        data = memoryview(file.read(offset, offset + length)).cast("B")
        if len(data) != length:
            raise short(file, len(data), length)
        host[start - first : start - first + length] = data

    pool = ThreadPoolExecutor(min(len(jobs), 2 * (os.cpu_count() or 1)), thread_name_prefix="tiff-fetch")
    reads = [pool.submit(read, job) for job in jobs]
    pool.shutdown(wait=False)

    def copy() -> None:
        try:
            for done in reads:
                done.result()
        except TiffAccessError:
            raise
        except FileNotFoundError as error:
            raise TiffNotFoundError("there is no such file", url=file.url, found=str(error)) from error
        except Exception as error:
            raise unreadable(file, error) from error
        buffer[first:last].set(host, stream=stream)
        stream.synchronize()  # the pinned memory goes back to its pool on return

    # the first request waits for all: one copy is quicker than many
    yield copy
    yield from [lambda: None] * (len(jobs) - 1)
