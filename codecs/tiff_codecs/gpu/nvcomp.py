"""nvCOMP's batched decompressors, called through its C interface.

The C interface (nvCOMP 6) gives what the Python one does not: a status and a size for every chunk, a
temporary buffer that the caller owns, and no pass over the data to find sizes that are known anyway.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tiff_codecs.errors import TiffUnsupportedError

if TYPE_CHECKING:
    import cupy
    from numpy.typing import NDArray

__all__ = ["ALGORITHMS", "MOST_LZ4", "decompress", "is_available", "temporary_bytes"]

ALGORITHMS: Final = {"deflate": "Deflate", "zstd": "Zstd", "lz4": "LZ4", "gzip": "Gzip"}
"""nvCOMP's names of the compressions it decodes here."""

INPUT_ALIGNMENT: Final = {"deflate": 4, "zstd": 1, "lz4": 1, "gzip": 1}
"""What the address of a chunk's compressed bytes must be a multiple of, with the CUDA backend."""

MOST_LZ4: Final = 2**24
"""Bytes that a chunk in LZ4 holds at most: nvCOMP makes none that are larger, and promises nothing of others."""

SUCCESS: Final = 0


class _Options(ctypes.Structure):
    """The 64 bytes of options that every decompressor takes by value; all zero is the default."""

    _fields_ = (("backend", ctypes.c_int), ("reserved", ctypes.c_char * 60))


@cache
def _library() -> ctypes.CDLL | None:
    try:
        from nvidia import libnvcomp  # pyright: ignore[reportMissingImports, reportAttributeAccessIssue]
    except ImportError:
        return None
    try:
        library: ctypes.CDLL | None = libnvcomp.load_library()  # pyright: ignore[reportUnknownMemberType]
    except OSError:
        return None
    return library


def is_available() -> bool:
    """Whether nvCOMP is installed; loads it, and touches no device."""
    return _library() is not None


@cache
def _function(algorithm: str, what: str) -> Any:  # noqa: ANN401 - a C function
    library = _library()
    if library is None:
        raise TiffUnsupportedError(
            "nvCOMP is not installed",
            found=f"chunks of {algorithm} to be decoded on the GPU",
            way_out="install the extra cuda12 or cuda13 of virtual-cog",
        )
    function = getattr(library, f"nvcompBatched{ALGORITHMS[algorithm]}{what}")
    function.restype = ctypes.c_int
    size, pointer = ctypes.c_size_t, ctypes.c_void_p
    if what == "DecompressGetTempSize":
        function.argtypes = [size, size, _Options, ctypes.POINTER(size), size, pointer]
    else:
        function.argtypes = [pointer] * 4 + [size, pointer, size, pointer, _Options, pointer, pointer]
    return function


@dataclass(frozen=True, slots=True)
class Outcome:
    """What nvCOMP says of each chunk, on the device: to be read when the stream has got there."""

    sizes: cupy.ndarray
    """Bytes that came out, uint64 of shape (chunks,)."""
    statuses: cupy.ndarray
    """nvcompStatus_t, int32 of shape (chunks,); 0 is success, which a damaged chunk may have too."""
    kept: tuple[cupy.ndarray, ...]
    """Memory that the queued work uses."""


def temporary_bytes(algorithm: str, chunks: int, largest: int, total: int) -> int:
    """Bytes of temporary device memory that a batch needs.

    Args:
        algorithm: a key of `ALGORITHMS`.
        chunks: number of chunks.
        largest: decompressed bytes of the largest chunk.
        total: decompressed bytes of all.
    """
    found = ctypes.c_size_t()
    status = _function(algorithm, "DecompressGetTempSize")(
        chunks, largest, _Options(), ctypes.byref(found), total, None
    )
    _check(status, algorithm)
    return found.value


def decompress(
    algorithm: str,
    sources: NDArray[np.uint64],
    source_bytes: NDArray[np.uint64],
    targets: NDArray[np.uint64],
    target_bytes: NDArray[np.uint64],
    stream: cupy.cuda.Stream,
) -> Outcome:
    """Decompress a batch of chunks on `stream`.

    Args:
        algorithm: a key of `ALGORITHMS`.
        sources: device addresses of the compressed bytes, aligned as `INPUT_ALIGNMENT` says.
        source_bytes: how many each has.
        targets: device addresses of the decompressed bytes.
        target_bytes: room at each.
        stream: where the work is queued, and the current one.

    Returns:
        Sizes and statuses, still on the device.

    Raises:
        TiffUnsupportedError: nvCOMP is missing or refuses the batch as a whole.
    """
    import cupy

    chunks = len(sources)
    table = cupy.asarray(np.stack([sources, source_bytes, targets, target_bytes]).astype(np.uint64))
    sizes = cupy.zeros(chunks, np.uint64)
    statuses = cupy.full(chunks, -1, np.int32)
    scratch = cupy.empty(temporary_bytes(algorithm, chunks, int(target_bytes.max()), int(target_bytes.sum())), np.uint8)
    row = table.strides[0]
    at = table.data.ptr
    status = _function(algorithm, "DecompressAsync")(
        at, at + row, at + 3 * row, sizes.data.ptr, chunks, scratch.data.ptr, scratch.nbytes, at + 2 * row,
        _Options(), statuses.data.ptr, stream.ptr,
    )  # fmt: skip
    _check(status, algorithm)
    return Outcome(sizes, statuses, (table, scratch))


def _check(status: int, algorithm: str) -> None:
    if status != SUCCESS:
        raise TiffUnsupportedError(
            "nvCOMP refuses a batch", found=f"status {status}", supported=f"what nvCOMP decodes of {algorithm}"
        )
