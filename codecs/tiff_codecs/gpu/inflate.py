"""DEFLATE on the device, parallel inside a tile: the host's part of `kernels/inflate`."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files as resources
from typing import TYPE_CHECKING, Any, Final

import numpy as np

if TYPE_CHECKING:
    import cupy
    from numpy.typing import NDArray

__all__ = ["Outcome", "can_inflate", "inflate"]

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
SEGMENTS_PER_PROCESSOR: Final = 14
"""Streams are cut into segments, of so many bytes, that are scanned at the same time."""

BLOCK_BYTES: Final = 4096
"""Compressed bytes that a block of a stream is taken to have at least, to size what is noted of them."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of each stream, on the device: to be read when the queue has got there."""

    sizes: cupy.ndarray
    """Bytes that the stream holds, uint64 of shape (streams,); past the target's length it may be any larger number."""
    statuses: cupy.ndarray
    """0 where the stream is whole, uint32 of shape (streams,)."""
    kept: tuple[Any, ...]
    """Memory that the queued work uses."""


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
        return tables + CODES_BYTES + staged + 4 * THREADS + THREADS // 8 + 128 + 320 + 128 + 32 + 24 + 64
    return (tables + staged + 15) // 16 * 16 + 2 * (ROOM + 8) + 32


def inflate(
    sources: NDArray[np.uint64],
    source_bytes: NDArray[np.uint64],
    targets: NDArray[np.uint64],
    target_bytes: NDArray[np.uint64],
    stream: cupy.cuda.Stream,
    *,
    block_bytes: int = BLOCK_BYTES,
) -> Outcome:
    """Decompress raw DEFLATE streams, queued on `stream`.

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
    import cupy

    kernels = _kernels(cupy.cuda.runtime.getDevice())
    processors = cupy.cuda.Device().attributes["MultiProcessorCount"]
    number, total = len(sources), int(source_bytes.sum())
    pieces, firsts = _pieces(source_bytes, total // (SEGMENTS_PER_PROCESSOR * processors))
    most_codes = total // block_bytes + 2 * number + 64
    most_sets = most_codes + total // (THREADS * SPAN // 8)
    most_windows = most_sets + int(target_bytes.sum()) // (ROOM // 2)

    streams = cupy.asarray(np.stack([sources, source_bytes, targets, target_bytes], axis=1).astype(np.uint64))
    table = cupy.asarray(np.concatenate([pieces.ravel(), firsts]))
    device_firsts = table[pieces.size :]
    # windows, codes, sets of spans; tickets of scan and write, listed windows, the most of one stream
    counters = cupy.zeros(8, np.uint32)
    starts = cupy.empty(len(pieces), np.uint32)
    segments = cupy.empty(len(pieces) * SEGMENT_BYTES, np.uint8)
    windows = cupy.empty(most_windows * WINDOW_BYTES, np.uint8)
    spans = cupy.empty(most_sets * THREADS, np.uint32)
    codes = cupy.empty(most_codes * CODES_BYTES, np.uint8)
    listed = cupy.empty(most_windows, np.uint32)
    places, counts, progress, statuses = cupy.zeros((4, number), np.uint32)
    sizes = cupy.empty(number, np.uint64)

    u4 = np.uint32
    block = (THREADS,)
    kernels["find"](
        (min(len(pieces), 8 * processors),), block, (streams, table, u4(len(pieces)), starts), stream=stream
    )
    kernels["scan"](
        (min(len(pieces), 8 * processors),), block,
        (
            streams, table, u4(len(pieces)), device_firsts, u4(number), starts, segments, counters[3:],
            windows, spans, codes, u4(most_windows), u4(most_sets), u4(most_codes), counters,
        ),
        shared_mem=shared_bytes("scan"),
        stream=stream,
    )  # fmt: skip
    kernels["merge"](
        (min(number, 16 * processors),), (64,),
        (
            u4(len(pieces)), u4(number), device_firsts, starts, segments, windows, counters[5:], listed, places,
            counts, statuses, sizes, counters[6:],
        ),
        stream=stream,
    )  # fmt: skip
    kernels["write"](
        (8 * processors,), block,
        (
            streams, u4(number), windows, spans, codes, listed, places, counts, counters[6:], counters[4:],
            progress, statuses,
        ),
        shared_mem=shared_bytes("write"),
        stream=stream,
    )  # fmt: skip
    kept = (streams, table, counters, starts, segments, windows, spans, codes, listed, places, counts, progress)
    return Outcome(sizes, statuses, kept)


def _pieces(source_bytes: NDArray[np.uint64], wanted: int) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
    """Cut streams into segments of about `wanted` bytes.

    Returns:
        (stream, first word, last word, 0) of each segment, and the number of each stream's first segment.
    """
    words = min(max(wanted, SMALLEST_SEGMENT), LARGEST_SEGMENT) // 4
    # the first word may be shared with what lies before the stream: it may be one more than its bytes fill
    have = (source_bytes.astype(np.int64) + 3) // 4 + 1
    count = np.maximum(1, have // words)
    firsts = np.cumsum(count) - count
    stream = np.repeat(np.arange(len(count)), count)
    within = np.arange(int(count.sum())) - firsts[stream]
    last = within == count[stream] - 1
    pieces = np.stack([stream, within * words, np.where(last, have[stream], (within + 1) * words), 0 * within], axis=1)
    return pieces.astype(np.uint32), firsts.astype(np.uint32)
