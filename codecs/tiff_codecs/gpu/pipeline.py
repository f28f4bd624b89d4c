"""zarr's codec pipeline on the GPU: plan all chunks of a selection, fetch, decompress and scatter them together."""

from __future__ import annotations

import asyncio
import warnings
from typing import TYPE_CHECKING, Any

from zarr.core.buffer import cpu

from tiff_codecs.chain import Chain
from tiff_codecs.errors import TiffUnsupportedError, TiffWarning
from tiff_codecs.gpu.engine import execute
from tiff_codecs.gpu.selection import plan_selection
from tiff_codecs.gpu.settings import settings
from tiff_codecs.pipeline import TilePipeline

if TYPE_CHECKING:
    from collections.abc import Iterable

    from zarr.abc.codec import GetResult
    from zarr.core.buffer import NDBuffer

__all__ = ["GpuCodecPipeline"]


class GpuCodecPipeline(TilePipeline):
    """Reads chunks of TIFF tiles into GPU memory in one batch, and leaves everything else to zarr's own pipeline.

    It takes a selection when the buffers are zarr's GPU buffers, the store is VirtualiZarr's or Icechunk's, and the
    codecs are those of TIFF tiles.
    """

    async def read(
        self, batch_info: Iterable[Any], out: NDBuffer, drop_axes: tuple[int, ...] = ()
    ) -> tuple[GetResult, ...]:
        """Read all chunks of a selection into `out`.

        Raises:
            TiffError: a chunk cannot be read or decoded; or, under strict, would be decoded on the CPU.
        """
        batch = list(batch_info)
        if not batch:
            return ()
        if self._chain is None or not _is_on_device(out):
            return await self._python.read(batch, out, drop_axes)
        if isinstance(self._chain, Chain):
            results = await asyncio.to_thread(self._read_on_device, self._chain, batch, out, drop_axes)
            if results is not None:
                return results
            reason = "a selection or store that the GPU pipeline does not take"
        else:
            reason = self._chain
        if settings().strict:
            raise TiffUnsupportedError(
                "chunks that the GPU pipeline does not read", found=reason, way_out="enable it without strict"
            )
        warnings.warn(f"decoded on the CPU chunk by chunk: {reason}", TiffWarning, stacklevel=2)
        return await self._python.read(batch, out, drop_axes)

    def _read_on_device(
        self, chain: Chain, batch: list[Any], out: NDBuffer, drop_axes: tuple[int, ...]
    ) -> tuple[GetResult, ...] | None:
        device = settings()
        target: Any = out.as_ndarray_like()
        if device.number is None:
            device = type(device)(target.device.id, device.memory_limit, device.strict)
        with device.current():
            planned = plan_selection(chain, self._metadata, batch, target, drop_axes)
            if planned is None:
                return None
            with device.stream() as stream:
                execute(planned.plan, planned.target, stream, memory_limit=device.memory_limit, strict=device.strict)
            planned.finish()
        return planned.results


def _is_on_device(out: NDBuffer) -> bool:
    """Whether zarr asks for GPU memory; zarr's module for it imports CuPy, so it is not asked before it must."""
    if isinstance(out, cpu.NDBuffer):
        return False
    from zarr.core.buffer import gpu

    return isinstance(out, gpu.NDBuffer)
