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

__all__ = ["Fetched", "fetch", "place"]

HEADER: Final = {"deflate": 2}
"""Bytes in front of what the device's decompressor takes: zlib's header."""

ALIGNMENT: Final = 16
"""The payload of each tile begins at a multiple of this: decoders load whole words, nvCOMP wants 4."""

GAP: Final = 64 * 1024
"""Tiles that lie this close in the file (bytes) are read with one request, if they are small."""


@dataclass(frozen=True, slots=True)
class Fetched:
    """Compressed tiles in device memory."""

    buffer: cupy.ndarray
    """All bytes, uint8 of shape (bytes,)."""
    address: NDArray[np.uint64]
    """Device address of the first byte of each tile, shape (tiles,)."""
    ways: dict[str, int]
    """How many bytes came by which way: "kvikio", "pinned"."""


def place(lengths: NDArray[np.int64], header: int) -> tuple[NDArray[np.int64], int]:
    """Lay tiles out in one buffer so that what follows their headers is aligned.

    Args:
        lengths: bytes of each tile.
        header: bytes in front of its payload.

    Returns:
        The offset of each tile in the buffer, and the buffer's length. Each tile has `ALIGNMENT` bytes
        of room behind it, so that a decoder may load whole words past its end.
    """
    room = (lengths + ALIGNMENT - 1) // ALIGNMENT * ALIGNMENT + 2 * ALIGNMENT
    starts = np.concatenate([[0], np.cumsum(room)])
    return starts[:-1] + ALIGNMENT - header, int(starts[-1]) + ALIGNMENT


def fetch(plan: ReadPlan, stream: cupy.cuda.Stream) -> Fetched:
    """Read the bytes of all tiles of `plan` into one device buffer.

    Reads write into the buffer at once, not in a stream's order, so it comes from a part of CuPy's memory pool
    of its own: whoever lets it go must know that no queued work uses it any more.

    Raises:
        TiffNotFoundError: a file is not there.
        TiffAccessError: a file cannot be read, or is shorter than the plan.
    """
    import cupy

    starts, total = place(plan.length, HEADER.get(plan.compression.name, 0))
    with arena():
        buffer = cupy.empty(total, np.uint8)
    ways: dict[str, int] = {}
    for index, file in enumerate(plan.files):
        which = np.flatnonzero(plan.file == index)
        if not len(which):
            continue
        way = _kvikio if files.can_kvikio(file) else _pinned
        way(file, plan.offset[which], plan.length[which], buffer, starts[which], stream)
        name = way.__name__.strip("_")
        ways[name] = ways.get(name, 0) + int(plan.length[which].sum())
    return Fetched(buffer, (buffer.data.ptr + starts).astype(np.uint64), ways)


def _kvikio(
    file: Any,  # noqa: ANN401 - a FileReference
    offsets: NDArray[np.int64],
    lengths: NDArray[np.int64],
    buffer: cupy.ndarray,
    starts: NDArray[np.int64],
    stream: cupy.cuda.Stream,  # noqa: ARG001 - kvikio copies on its own
) -> None:
    """Queue one read a tile straight to its place, then wait for all."""
    handle = files.open_kvikio(file)
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
