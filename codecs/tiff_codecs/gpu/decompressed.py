"""Decompressed tiles in device memory, and room for them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

if TYPE_CHECKING:
    import cupy
    from numpy.typing import NDArray

    from tiff_codecs.gpu.plan import ReadPlan

__all__ = ["ALIGNMENT", "Decompressed", "room_for"]

ALIGNMENT: Final = 16


@dataclass(frozen=True, slots=True)
class Decompressed:
    """Decompressed tiles in device memory; whether each is whole is known when the stream has got there."""

    buffers: tuple[Any, ...]
    """The memory that the tiles lie in, and what the queued work still reads."""
    address: NDArray[np.uint64]
    """Device address of each tile, shape (tiles,)."""
    good: cupy.ndarray | None
    """1 where a tile is whole and its checksum right, int32 on the device; None where nothing can be wrong."""


def room_for(plan: ReadPlan) -> tuple[cupy.ndarray, NDArray[np.uint64], NDArray[np.uint64]]:
    """One device buffer for all decompressed tiles, with the address and length of each."""
    import cupy

    lengths = plan.decoded_bytes
    room = (lengths + ALIGNMENT - 1) // ALIGNMENT * ALIGNMENT + ALIGNMENT
    starts = np.concatenate([[0], np.cumsum(room)])
    buffer = cupy.empty(int(starts[-1]), np.uint8)
    return buffer, (buffer.data.ptr + starts[:-1]).astype(np.uint64), lengths.astype(np.uint64)
