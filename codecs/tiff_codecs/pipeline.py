"""What the pipelines of this package have in common: zarr's own pipeline does all but the reading of TIFF tiles."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from zarr.abc.codec import CodecPipeline
from zarr.core.codec_pipeline import BatchedCodecPipeline

from tiff_codecs.chain import parse_chain

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from zarr.abc.codec import Codec, GetResult
    from zarr.abc.store import Store
    from zarr.core.array_spec import ArraySpec
    from zarr.core.buffer import Buffer, NDBuffer
    from zarr.core.metadata import ArrayMetadata

__all__ = ["TilePipeline"]


class TilePipeline(CodecPipeline):
    """A pipeline that knows the form of an array's tiles, and leaves its work to zarr's own pipeline.

    Holds no handle, so that arrays can be pickled.
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

    async def read(
        self, batch_info: Iterable[Any], out: NDBuffer, drop_axes: tuple[int, ...] = ()
    ) -> tuple[GetResult, ...]:
        """Read all chunks of a selection into `out`, as zarr's pipeline does."""
        return await self._python.read(batch_info, out, drop_axes)

    async def write(self, batch_info: Iterable[Any], value: NDBuffer, drop_axes: tuple[int, ...] = ()) -> None:
        """Write chunks, as zarr's pipeline does."""
        await self._python.write(batch_info, value, drop_axes)
