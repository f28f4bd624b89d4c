"""PackBits on the device: the host's part of `kernels/packbits.cu`."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files as resources
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import cupy
    from numpy.typing import NDArray

__all__ = ["PackbitsOutcome", "packbits"]


@dataclass(frozen=True, slots=True)
class PackbitsOutcome:
    """What came of each stream, on the device."""

    sizes: cupy.ndarray
    """Bytes that came out, uint64 of shape (streams,)."""
    statuses: cupy.ndarray
    """0: a stream can only be too short."""
    kept: tuple[cupy.ndarray, ...]


@lru_cache(maxsize=16)
def _kernel(device: int) -> Any:  # noqa: ANN401, ARG001 - one module for each device
    import cupy

    source = (resources("tiff_codecs.gpu") / "kernels" / "packbits.cu").read_text()
    return cupy.RawModule(code=source, options=("--std=c++17",)).get_function("packbits")


def packbits(
    sources: NDArray[np.uint64],
    source_bytes: NDArray[np.uint64],
    targets: NDArray[np.uint64],
    target_bytes: NDArray[np.uint64],
    stream: cupy.cuda.Stream,
) -> PackbitsOutcome:
    """Decompress PackBits streams, queued on `stream`; arguments as those of `tiff_codecs.gpu.inflate.inflate`."""
    import cupy

    table = cupy.asarray(np.stack([sources, source_bytes, targets, target_bytes]).astype(np.uint64))
    written = cupy.empty(len(sources), np.uint64)
    kernel = _kernel(cupy.cuda.runtime.getDevice())
    warps = 4
    kernel((-(-len(sources) // warps),), (32 * warps,), (*table, written, np.int32(len(sources))), stream=stream)
    return PackbitsOutcome(written, cupy.zeros(len(sources), np.uint32), (table,))
