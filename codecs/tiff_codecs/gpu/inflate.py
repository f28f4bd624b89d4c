"""DEFLATE on the device, parallel inside a tile: the host's part of `kernels/inflate`."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files as resources
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tiff_codecs.gpu.device import attribute

if TYPE_CHECKING:
    from collections.abc import Generator

    import cupy
    from numpy.typing import NDArray

__all__ = ["Inflation", "Outcome", "can_inflate", "inflate"]

THREADS: Final = 256
SPAN: Final = 264
WARMUP: Final = 96
ROOM: Final = 20480
"""How the kernels are compiled: see the top of `kernels/inflate`."""

MOST_SOURCE: Final = 2**29 - 64
MOST_TARGET: Final = 2**32 - 64
"""Bytes of a stream and of its output that the kernels' 32-bit counts of bits and bytes hold."""

WINDOW_BYTES: Final = 32
CODES_BYTES: Final = 1408
SEGMENT_BYTES: Final = 40
"""Sizes of the kernels' structures."""

SMALLEST_SEGMENT: Final = 32 * 1024
LARGEST_SEGMENT: Final = 256 * 1024
SEGMENTS_PER_PROCESSOR: Final = 20
"""Streams are cut into segments, of so many bytes, that are scanned at the same time."""

MOST_PARTS: Final = 8
"""Where there are few segments, each is searched in so many parts at once."""

BLOCK_BYTES: Final = 4096
"""Compressed bytes that a block of a stream is taken to have at least, to size what is noted of them."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of each stream, on the device: to be read when the queue has got there."""

    sizes: cupy.ndarray
    """Bytes that the stream holds, uint64 of shape (streams,); past the target's length it may be any larger number."""
    statuses: cupy.ndarray
    """0 where the stream is whole, uint32 of shape (streams,)."""
    kept: Any
    """Holds the memory that the queued work uses."""


def can_inflate(source_bytes: NDArray[np.uint64], target_bytes: NDArray[np.uint64]) -> bool:
    """Whether streams of these lengths fit the kernels' counters."""
    return bool((source_bytes <= MOST_SOURCE).all() and (target_bytes <= MOST_TARGET).all())


@lru_cache(maxsize=16)
def _kernels(device: int) -> dict[str, Any]:  # noqa: ARG001 - one module for each device
    import cupy

    module = cupy.RawModule(code=source(), options=compile_options())
    kernels = {name: module.get_function(name) for name in ("find", "scan", "merge", "write")}
    for name in ("scan", "write"):
        kernels[name].max_dynamic_shared_size_bytes = shared_bytes(name)
    return kernels


def source() -> str:
    """The CUDA source of the kernels: the files of their folder, in order."""
    folder = resources("tiff_codecs.gpu") / "kernels" / "inflate"
    return "\n".join(part.read_text() for part in sorted(folder.iterdir(), key=lambda part: part.name))


def compile_options() -> tuple[str, ...]:
    """What `kernels/inflate` is compiled with."""
    macros = {"THREADS": THREADS, "SPAN": SPAN, "WARMUP": WARMUP, "ROOM": ROOM}
    return ("--std=c++17", *(f"-D{name}={value}" for name, value in macros.items()))


def shared_bytes(kernel: str) -> int:
    """Bytes of shared memory that a block of a kernel takes."""
    words = THREADS * SPAN // 32 + 8
    tables = 2 * (2048 + 1024 + 143 * 16 + 15 * 32) + 8
    staged = 4 * words
    if kernel == "scan":
        return tables + CODES_BYTES + staged + 4 * THREADS + THREADS // 8 + 128 + 320 + 128 + 32 + 28 + 64
    return (tables + staged + 15) // 16 * 16 + 2 * (ROOM + 8) + 32


class Inflation:
    """A batch of raw DEFLATE streams whose decoding is queued as their bytes arrive.

    All memory and tables are made first, so that little is left to do once the bytes are there.

    Args:
        sources: device addresses of the streams, with any alignment; the words that their first and last byte lie in
            must be readable.
        source_bytes: their lengths.
        targets: device addresses of the output.
        target_bytes: how much of it is wanted; more is not written.
        stream: where the work is queued, and the current one.
        block_bytes: compressed bytes of a block at least, on the average; streams of smaller ones may come out with
            the status 2 and have to be decoded otherwise.
    """

    def __init__(
        self,
        sources: NDArray[np.uint64],
        source_bytes: NDArray[np.uint64],
        targets: NDArray[np.uint64],
        target_bytes: NDArray[np.uint64],
        stream: cupy.cuda.Stream,
        *,
        block_bytes: int = BLOCK_BYTES,
    ) -> None:
        import cupy

        self._stream = stream
        self._kernels = _kernels(cupy.cuda.runtime.getDevice())
        self._processors = attribute("MultiProcessorCount")
        number, total = len(sources), int(source_bytes.sum())
        pieces, self._firsts = _pieces(source_bytes, total // (SEGMENTS_PER_PROCESSOR * self._processors))
        self._segments = len(pieces)
        self._arrived = 0
        self._aside: cupy.cuda.Stream | None = None
        self._most_codes = total // block_bytes + 2 * number + 64
        self._most_sets = self._most_codes + total // (THREADS * SPAN // 8)
        self._most_windows = self._most_sets + int(target_bytes.sum()) // (ROOM // 2)

        streams = np.stack([sources, source_bytes, targets, target_bytes], axis=1).astype(np.uint64)
        table = cupy.asarray(np.concatenate([streams.view(np.uint32).ravel(), pieces.ravel(), self._firsts]))
        self._streams, self._pieces, self._device_firsts = cupy.split(table, [8 * number, 8 * number + pieces.size])
        # windows, codes, sets of spans; the most windows of one stream, listed windows, the ticket of write, and those
        # of every scan; then the places, counts, progress and status of each stream
        counters = cupy.zeros(6 + 5 * number, np.uint32)
        self._counters, self._most, self._listed, self._ticket = (counters[i:] for i in (0, 3, 4, 5))
        self._tickets = counters[6 : 6 + number]
        self._places, self._counts, self._progress, self._statuses = counters[6 + number :].reshape(4, number)
        self._starts = cupy.empty(self._segments, np.uint32)
        self._starts.data.memset_async(255, self._starts.nbytes, stream)  # none is known
        self._found = cupy.empty(self._segments * SEGMENT_BYTES, np.uint8)
        self._windows = cupy.empty(self._most_windows * WINDOW_BYTES, np.uint8)
        self._spans = cupy.empty(self._most_sets * THREADS, np.uint32)
        self._codes = cupy.empty(self._most_codes * CODES_BYTES, np.uint8)
        self._list = cupy.empty(self._most_windows, np.uint32)
        self._sizes = cupy.empty(number, np.uint64)

    def scan(self, arrived: int) -> None:
        """Queue the search for symbols in the streams up to number `arrived`, whose bytes are there now."""
        if arrived <= self._arrived:
            return
        u4, block = np.uint32, (THREADS,)
        first = int(self._firsts[self._arrived])
        end = int(self._firsts[arrived]) if arrived < len(self._firsts) else self._segments
        pieces = (self._pieces, u4(first), u4(end))
        number, most = end - first, 8 * self._processors
        parts = min(max(1, most // number), MOST_PARTS)
        with self._beside(whole=number == self._segments) as stream:
            self._kernels["find"](
                (min(-(-number * parts // (THREADS // 32)), most),), block,
                (self._streams, *pieces, u4(parts), self._starts), stream=stream,
            )  # fmt: skip
        self._kernels["scan"](
            (min(number, most),), block,
            (
                self._streams, *pieces, self._device_firsts, u4(len(self._firsts)), self._starts, self._found,
                self._tickets[self._arrived :], self._windows, self._spans, self._codes, u4(self._most_windows),
                u4(self._most_sets), u4(self._most_codes), self._counters,
            ),
            shared_mem=shared_bytes("scan"),
            stream=self._stream,
        )  # fmt: skip
        self._arrived = arrived

    @contextmanager
    def _beside(self, *, whole: bool) -> Generator[cupy.cuda.Stream]:
        """A stream for what leaves most of the device idle: with several parts, beside the scan of the part before."""
        import cupy

        if whole:
            yield self._stream
            return
        aside = self._aside
        if aside is None:
            aside = self._aside = cupy.cuda.Stream(non_blocking=True)
            aside.wait_event(self._stream.record())  # the tables are made there
        try:
            yield aside
        finally:
            self._stream.wait_event(aside.record())

    def write(self) -> Outcome:
        """Queue the output of all streams, which must have been scanned."""
        number, u4 = len(self._firsts), np.uint32
        self._kernels["merge"](
            (min(number, 16 * self._processors),), (64,),
            (
                u4(self._segments), u4(number), self._device_firsts, self._starts, self._found, self._windows,
                self._listed, self._list, self._places, self._counts, self._statuses, self._sizes, self._most,
            ),
            stream=self._stream,
        )  # fmt: skip
        self._kernels["write"](
            (8 * self._processors,), (THREADS,),
            (
                self._streams, u4(number), self._windows, self._spans, self._codes, self._list, self._places,
                self._counts, self._most, self._ticket, self._progress, self._statuses,
            ),
            shared_mem=shared_bytes("write"),
            stream=self._stream,
        )  # fmt: skip
        return Outcome(self._sizes, self._statuses, self)


def inflate(
    sources: NDArray[np.uint64],
    source_bytes: NDArray[np.uint64],
    targets: NDArray[np.uint64],
    target_bytes: NDArray[np.uint64],
    stream: cupy.cuda.Stream,
    *,
    block_bytes: int = BLOCK_BYTES,
) -> Outcome:
    """Decompress raw DEFLATE streams whose bytes are there, queued on `stream`; see `Inflation`."""
    batch = Inflation(sources, source_bytes, targets, target_bytes, stream, block_bytes=block_bytes)
    batch.scan(len(sources))
    return batch.write()


def _pieces(source_bytes: NDArray[np.uint64], wanted: int) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
    """Cut streams into segments of about `wanted` bytes.

    Returns:
        (stream, first word, last word, 0) of each segment, and the number of each stream's first segment.
    """
    words = min(max(wanted, SMALLEST_SEGMENT), LARGEST_SEGMENT) // 4
    # the first word may be shared with what lies before the stream: it may be one more than its bytes fill
    have = (source_bytes.astype(np.int64) + 3) // 4 + 1
    count = -(-have // words)
    firsts = np.cumsum(count) - count
    stream = np.repeat(np.arange(len(count)), count)
    within = np.arange(int(count.sum())) - firsts[stream]
    begin, end = (have[stream] * at // count[stream] for at in (within, within + 1))
    pieces = np.stack([stream, begin, end, 0 * within], axis=1)
    return pieces.astype(np.uint32), firsts.astype(np.uint32)
