"""LZW on the device, parallel inside a tile: the host's part of `kernels/lzw.cu`."""

from __future__ import annotations

from functools import lru_cache
from importlib.resources import files as resources
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tiff_codecs.gpu.device import attribute
from tiff_codecs.gpu.inflate import Outcome

if TYPE_CHECKING:
    import cupy
    from numpy.typing import NDArray

__all__ = ["can_decode_lzw", "decode_lzw"]

THREADS: Final = 256
"""How the kernels are compiled: see the top of `kernels/lzw.cu`."""

MOST_SOURCE: Final = 2**29 - 8192
MOST_TARGET: Final = 2**32 - 64
"""Bytes of a stream and of its output that the kernels take: bits of a stream are counted in 32 bits."""

SEGMENT_BYTES: Final = 16
"""Size of the kernels' structure."""

SOURCE_BYTES: Final = 256
TARGET_BYTES: Final = 4096
FEWEST: Final = 16
"""Clears of a stream that are expected at most: one for so many bytes, compressed or decompressed, and so many more.
libtiff clears when the table is full (5 KB), or after 10,000 bytes of output at the earliest."""


def can_decode_lzw(source_bytes: NDArray[np.uint64], target_bytes: NDArray[np.uint64]) -> bool:
    """Whether streams of these lengths fit the kernels' counters."""
    return bool((source_bytes <= MOST_SOURCE).all() and (target_bytes <= MOST_TARGET).all())


@lru_cache(maxsize=16)
def _kernels(device: int) -> dict[str, Any]:  # noqa: ARG001 - one module for each device
    import cupy

    source = (resources("tiff_codecs.gpu") / "kernels" / "lzw.cu").read_text()
    module = cupy.RawModule(code=source, options=compile_options())
    return {name: module.get_function(name) for name in ("find", "decode")}


def compile_options() -> tuple[str, ...]:
    """What `kernels/lzw.cu` is compiled with."""
    return ("--std=c++17", f"-DTHREADS={THREADS}")


def decode_lzw(
    sources: NDArray[np.uint64],
    source_bytes: NDArray[np.uint64],
    targets: NDArray[np.uint64],
    target_bytes: NDArray[np.uint64],
    stream: cupy.cuda.Stream,
) -> Outcome:
    """Decompress LZW streams, highest or lowest bit first, queued on `stream`.

    Args:
        sources: device addresses of the streams, with any alignment; the words that their first and last byte lie in
            must be readable.
        source_bytes: their lengths.
        targets: device addresses of the output.
        target_bytes: how much of it is wanted; more is not written, and what a stream holds behind it is not looked at.
        stream: where the work is queued, and the current one.

    Returns:
        What came of each stream. Sizes are at most `target_bytes`; a status other than 0 says that the stream is
        damaged before the wanted bytes end, or has too many Clears for what is noted of them.
    """
    import cupy

    kernels = _kernels(cupy.cuda.runtime.getDevice())
    processors = attribute("MultiProcessorCount")
    number = len(sources)
    most_of = source_bytes.astype(np.int64) // SOURCE_BYTES + target_bytes.astype(np.int64) // TARGET_BYTES + FEWEST
    most = int(most_of.sum())

    streams = cupy.asarray(np.stack([sources, source_bytes, targets, target_bytes], axis=1).astype(np.uint64))
    device_most_of = cupy.asarray(most_of.astype(np.uint32))
    segments = cupy.empty(most * SEGMENT_BYTES, np.uint8)
    sums, sizes = cupy.zeros(most, np.uint64), cupy.zeros(number, np.uint64)
    counters = cupy.zeros(2, np.uint32)  # segments found, tickets of decode
    statuses = cupy.zeros(number, np.uint32)

    u4 = np.uint32
    block = (THREADS,)
    kernels["find"](
        (min(number, 8 * processors),), block,
        (streams, u4(number), device_most_of, segments, u4(most), counters, statuses),
        stream=stream,
    )  # fmt: skip
    kernels["decode"](
        (8 * processors,), block,
        (streams, segments, u4(most), counters, counters[1:], sums, statuses, sizes),
        stream=stream,
    )  # fmt: skip
    return Outcome(sizes, statuses, (streams, device_most_of, segments, sums, counters))
