"""Zstandard on the device, parallel inside a tile: the host's part of `kernels/zstd`."""

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

__all__ = ["can_decode", "decode"]

GROUP: Final = 8
"""How the kernels are compiled: see the top of `kernels/zstd`."""

WINDOW_BITS: Final = (13, 14)
"""Likewise; the larger window where a multiprocessor's shared memory, of `MUCH_SHARED` bytes, holds several."""

MUCH_SHARED: Final = 160 * 1024

WRITE_BLOCKS: Final = 6
"""Blocks of threads that write, for each multiprocessor."""

LARGEST_BLOCK: Final = 1 << 17
"""Bytes that one block of a frame may have."""

MOST_SOURCE: Final = 2**28 - 64
MOST_TARGET: Final = 2**29 - 64
"""Bytes of a stream and of its output that the kernels' counts hold."""


def can_decode(source_bytes: NDArray[np.uint64], target_bytes: NDArray[np.uint64]) -> bool:
    """Whether streams of these lengths fit the kernels' counters."""
    return bool((source_bytes <= MOST_SOURCE).all() and (target_bytes <= MOST_TARGET).all())


@lru_cache(maxsize=16)
def _kernels(device: int, bits: int) -> dict[str, Any]:  # noqa: ARG001 - one module for each device
    import cupy

    module = cupy.RawModule(code=source(), options=compile_options(bits))
    kernels = {name: module.get_function(name) for name in ("frames", "decode", "places", "write", "checksum")}
    for name in ("decode", "write"):
        kernels[name].max_dynamic_shared_size_bytes = shared_bytes(name, bits)
    return kernels


def source() -> str:
    """The CUDA source of the kernels: the files of their folder, in order."""
    folder = resources("tiff_codecs.gpu") / "kernels" / "zstd"
    return "\n".join(part.read_text() for part in sorted(folder.iterdir(), key=lambda part: part.name))


def compile_options(bits: int) -> tuple[str, ...]:
    """What `kernels/zstd` is compiled with for windows of 1 << `bits` bytes."""
    macros = {
        "WINDOW_BITS": bits, "GROUP": GROUP, "BLOCK_BYTES": block_bytes(bits),
        "DECODE_BYTES": shared_bytes("decode", bits),
    }  # fmt: skip
    return ("--std=c++17", *(f"-D{name}={value}" for name, value in macros.items()))


def block_bytes(bits: int) -> int:
    """Size of the kernels' structure of a block."""
    return 136 + 4 * (LARGEST_BLOCK >> bits)


def shared_bytes(kernel: str, bits: int) -> int:
    """Bytes of shared memory that a block of threads of a kernel takes at its launch."""
    if kernel == "write":
        return 4 << bits
    tables, rings, bases = 4 * (1280 + 5), 4 * 528, 4 * (36 + 53)
    return (GROUP * (tables + rings) + bases + 15) // 16 * 16


def decode(
    sources: NDArray[np.uint64],
    source_bytes: NDArray[np.uint64],
    targets: NDArray[np.uint64],
    target_bytes: NDArray[np.uint64],
    stream: cupy.cuda.Stream,
    *,
    window_bits: int | None = None,
) -> Outcome:
    """Decompress Zstandard frames, queued on `stream` after a wait for what they hold.

    Args:
        sources: device addresses of the streams, with any alignment; the 16 aligned bytes that each of their bytes lies
            in must be readable.
        source_bytes: their lengths.
        targets: device addresses of the output.
        target_bytes: room at each. A stream that holds more has the status 2, and has to be decoded otherwise.
        stream: where the work is queued, and the current one.
        window_bits: one of `WINDOW_BITS`; None takes what suits the device.
    """
    import cupy

    processors = attribute("MultiProcessorCount")
    bits = window_bits or WINDOW_BITS[attribute("MaxSharedMemoryPerMultiprocessor") >= MUCH_SHARED]
    kernels = _kernels(cupy.cuda.runtime.getDevice(), bits)
    number, u4 = len(sources), np.uint32
    streams = cupy.asarray(np.stack([sources, source_bytes, targets, target_bytes], axis=1).astype(np.uint64))
    counts = cupy.empty((number, 4), np.uint32)
    statuses, progress = cupy.zeros((2, number), np.uint32)
    sizes = cupy.empty(number, np.uint64)
    nothing = np.uint64(0)

    warps, warp = (min(number, 16 * processors),), (32,)
    kernels["frames"](
        warps, warp, (streams, u4(number), u4(0), counts, statuses, nothing, nothing, nothing, nothing), stream=stream
    )
    held = np.ascontiguousarray(counts.get(stream=stream).T, np.int64)
    blocks, literals, sequences, checks = held.sum(axis=1).tolist()
    windows = blocks * (LARGEST_BLOCK >> bits)
    bases = np.empty((number, 4), np.uint64)
    bases[:, :3] = (np.cumsum(held, axis=1) - held)[:3].T
    longest_first = np.argsort(-held[0], kind="stable")
    bases[longest_first, 3] = np.arange(number)
    # how many blocks stand before the first ones of all streams, the second ones, ...
    having = number - np.cumsum(np.bincount(held[0]))
    ranks = np.concatenate([[0], np.cumsum(having)]).astype(np.uint32)
    device_bases, device_ranks = cupy.asarray(bases), cupy.asarray(ranks)
    listed = cupy.empty(blocks * block_bytes(bits), np.uint8)
    order = cupy.empty(windows, np.uint32)
    decoded = cupy.empty(16 * literals, np.uint8)
    records = cupy.empty(sequences, np.uint64)
    ticket = cupy.zeros(1, np.uint32)

    if blocks:
        kernels["frames"](
            warps, warp,
            (streams, u4(number), u4(1), counts, statuses, device_bases, listed, device_ranks, order),
            stream=stream,
        )  # fmt: skip
        kernels["decode"](
            (2 * -(-blocks // GROUP),), (32 * GROUP,),
            (streams, listed, u4(blocks), decoded, records, statuses),
            shared_mem=shared_bytes("decode", bits),
            stream=stream,
        )  # fmt: skip
    kernels["places"](warps, warp, (streams, u4(number), counts, device_bases, listed, statuses, sizes), stream=stream)
    if blocks:
        kernels["write"](
            (min(windows, WRITE_BLOCKS * processors),), (1 << bits - 5,),
            (
                streams, listed, u4(windows), order, decoded, records, sizes, ticket, progress, statuses,
            ),
            shared_mem=shared_bytes("write", bits),
            stream=stream,
        )  # fmt: skip
    if checks:
        kernels["checksum"](
            (min(blocks, 64 * processors),), warp, (streams, listed, u4(blocks), statuses), stream=stream
        )
    kept = (streams, counts, device_bases, device_ranks, listed, order, decoded, records, ticket, progress)
    return Outcome(sizes, statuses, kept)
