"""CRC-32 on the device: the host's part of `kernels/crc32.cu`."""

from __future__ import annotations

from functools import lru_cache
from importlib.resources import files as resources
from typing import TYPE_CHECKING, Any, Final

import numpy as np

if TYPE_CHECKING:
    import cupy
    from numpy.typing import NDArray

__all__ = ["crc32"]

THREADS: Final = 256
PART_BYTES: Final = 2**20
"""Bytes that one block takes; both as in the kernel."""


@lru_cache(maxsize=16)
def _kernel(device: int) -> Any:  # noqa: ANN401, ARG001 - one module for each device
    import cupy

    source = (resources("tiff_codecs.gpu") / "kernels" / "crc32.cu").read_text()
    return cupy.RawModule(code=source, options=("--std=c++17",)).get_function("crc32")


def crc32(addresses: NDArray[np.uint64], lengths: NDArray[np.uint64], stream: cupy.cuda.Stream) -> cupy.ndarray:
    """Compute the CRC-32 of chunks, queued on `stream`.

    Args:
        addresses: device addresses of the chunks, multiples of 16; shape (chunks,).
        lengths: bytes of each.
        stream: where the work is queued, and the current one.

    Returns:
        uint32 of shape (chunks,), on the device.
    """
    import cupy

    table = cupy.asarray(np.stack([addresses, lengths]))
    sums = cupy.full(len(addresses), 0xFFFFFFFF, np.uint32)
    parts = max(1, -(-int(lengths.max()) // PART_BYTES))
    kernel = _kernel(cupy.cuda.runtime.getDevice())
    kernel((len(addresses), parts), (THREADS,), (table[0], table[1], sums), stream=stream)
    return sums
