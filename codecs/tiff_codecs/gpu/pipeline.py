"""zarr's codec pipeline on the GPU: plan all chunks of a selection, fetch, decompress and scatter them together."""

from __future__ import annotations

import asyncio
import warnings
from typing import TYPE_CHECKING, Any, Self

from zarr.abc.codec import CodecPipeline
from zarr.core.buffer import cpu
from zarr.core.codec_pipeline import BatchedCodecPipeline

from tiff_codecs.errors import TiffUnsupportedError, TiffWarning
from tiff_codecs.gpu.chain import Chain, parse_chain
from tiff_codecs.gpu.engine import execute
from tiff_codecs.gpu.selection import plan_selection
from tiff_codecs.gpu.settings import settings

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from zarr.abc.codec import Codec, GetResult
    from zarr.abc.store import Store
    from zarr.core.array_spec import ArraySpec
    from zarr.core.buffer import Buffer, NDBuffer
    from zarr.core.metadata import ArrayMetadata

__all__ = ["GpuCodecPipeline"]


class GpuCodecPipeline(CodecPipeline):
    """Reads chunks of TIFF tiles into GPU memory in one batch, and leaves everything else to zarr's own pipeline.

    It takes a selection when the buffers are zarr's GPU buffers, the store is VirtualiZarr's or Icechunk's, and the
    codecs are those of TIFF tiles. Holds no handle of a device, so that arrays can be pickled.
    """

    def __init__(self, python: BatchedCodecPipeline, metadata: ArrayMetadata | None, store: Store | None) -> None:
        self._python = python
        self._metadata = metadata
        self._store = store
        self._chain = None if metadata is None else parse_chain(metadata)

    @classmethod
    def from_array_metadata_and_store(cls, array_metadata: ArrayMetadata, store: Store) -> Self:
        """Build the pipeline of one array."""
        codecs = getattr(array_metadata, "codecs", None)
        if codecs is None:  # Zarr format 2
            raise NotImplementedError
        return cls(BatchedCodecPipeline.from_codecs(codecs), array_metadata, store)

    @classmethod
    def from_codecs(cls, codecs: Iterable[Codec]) -> Self:
        """Build a pipeline without an array, as sharding does: zarr's own does the work."""
        return cls(BatchedCodecPipeline.from_codecs(codecs), None, None)

    def __getstate__(self) -> dict[str, Any]:
        return {"python": self._python, "metadata": self._metadata, "store": self._store}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(**state)

    def __iter__(self) -> Iterator[Codec]:
        yield from self._python

    def evolve_from_array_spec(self, array_spec: ArraySpec) -> Self:
        """Fill in what the codecs take from the array."""
        return type(self)(self._python.evolve_from_array_spec(array_spec), self._metadata, self._store)

    @property
    def supports_partial_decode(self) -> bool:
        """As zarr's pipeline does."""
        return self._python.supports_partial_decode

    @property
    def supports_partial_encode(self) -> bool:
        """As zarr's pipeline does."""
        return self._python.supports_partial_encode

    def validate(self, *, shape: tuple[int, ...], dtype: Any, chunk_grid: Any) -> None:  # noqa: ANN401
        """Check that the codecs fit the array."""
        self._python.validate(shape=shape, dtype=dtype, chunk_grid=chunk_grid)

    def compute_encoded_size(self, byte_length: int, array_spec: ArraySpec) -> int:
        """Bytes of a chunk after encoding, where that is known."""
        return self._python.compute_encoded_size(byte_length, array_spec)

    async def decode(self, chunk_bytes_and_specs: Iterable[tuple[Buffer | None, ArraySpec]]) -> Iterable[Any]:
        """Decode chunks one by one, as zarr's pipeline does."""
        return await self._python.decode(chunk_bytes_and_specs)

    async def encode(self, chunk_arrays_and_specs: Iterable[tuple[NDBuffer | None, ArraySpec]]) -> Iterable[Any]:
        """Encode chunks one by one, as zarr's pipeline does."""
        return await self._python.encode(chunk_arrays_and_specs)

    async def write(self, batch_info: Iterable[Any], value: NDBuffer, drop_axes: tuple[int, ...] = ()) -> None:
        """Write chunks, as zarr's pipeline does."""
        await self._python.write(batch_info, value, drop_axes)

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
