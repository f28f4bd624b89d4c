"""zarr's codec pipeline on the CPU: all chunks of a selection are fetched and decoded in threads, each to its place."""

from __future__ import annotations

import asyncio
import os
import warnings
from typing import TYPE_CHECKING, Any

from zarr.core.buffer import cpu
from zarr.core.codec_pipeline import fill_value_or_default
from zarr.core.config import config

from tiff_codecs.chain import Chain
from tiff_codecs.cpu.decoder import TileDecoder
from tiff_codecs.cpu.engine import execute
from tiff_codecs.cpu.selection import Places, plan_selection, resolve_batch
from tiff_codecs.errors import TiffWarning
from tiff_codecs.pipeline import TilePipeline

if TYPE_CHECKING:
    from collections.abc import Iterable

    from zarr.abc.codec import GetResult
    from zarr.core.buffer import NDBuffer

__all__ = ["CpuCodecPipeline"]


class CpuCodecPipeline(TilePipeline):
    """Reads chunks of TIFF tiles straight into the result, and leaves everything else to zarr's own pipeline.

    In VirtualiZarr's stores it looks up all chunks of a selection at once, and reads their byte ranges past the store,
    several small ones with one request. Any other store, Icechunk's too, is asked for each chunk.
    """

    async def read(
        self, batch_info: Iterable[Any], out: NDBuffer, drop_axes: tuple[int, ...] = ()
    ) -> tuple[GetResult, ...]:
        """Read all chunks of a selection into `out`.

        Raises:
            TiffError: a chunk cannot be read or decoded.
        """
        batch = list(batch_info)
        has_ours = any(_is_ours(codec) for codec in self)
        if isinstance(self._chain, str) and has_ours:
            warnings.warn(f"read by zarr's own pipeline: {self._chain}", TiffWarning, stacklevel=2)
        if not isinstance(self._chain, Chain) or not isinstance(out, cpu.NDBuffer) or not batch:
            return await self._python.read(batch, out, drop_axes)
        chain = self._chain
        shape = chain.rows, chain.cols, chain.bands
        decoder = TileDecoder(chain.compression, chain.fill_order, chain.layout, *shape, chain.codec)
        places = Places(batch, out.as_numpy_array(), drop_axes, chain)
        missing, otherwise = await asyncio.to_thread(self._read_ranges, places, decoder)
        if len(otherwise) == len(batch) and not has_ours:  # an array like any other: nothing says that it is TIFF's
            return await self._python.read(batch, out, drop_axes)
        missing += await _read_from_store(places, decoder, otherwise)
        absent = set(missing)
        return tuple({"status": "missing" if i in absent else "present"} for i in range(len(batch)))

    def _read_ranges(self, places: Places, decoder: TileDecoder) -> tuple[list[int], list[int]]:
        """Read what can be read past the store; returns which chunks are missing, and which the store must read."""
        resolved = resolve_batch(self._metadata, places.batch)
        if resolved is None:
            return [], list(range(len(places.batch)))
        selected = plan_selection(places, *resolved)
        fill_value = fill_value_or_default(places.batch[0][1])
        execute(selected.tiles, decoder, fill_value=fill_value, threads=config.get("codec_pipeline.max_workers", None))
        return selected.missing.nonzero()[0].tolist(), selected.otherwise


async def _read_from_store(places: Places, decoder: TileDecoder, which: list[int]) -> list[int]:
    """Read chunks through their store, as many at a time as zarr asks for; returns which of them are missing."""
    fetching = asyncio.Semaphore(config.get("async.concurrency"))
    decoding = asyncio.Semaphore(config.get("codec_pipeline.max_workers", None) or os.cpu_count() or 1)

    def place(index: int, data: Any) -> None:  # noqa: ANN401 - a buffer
        box = places.box(index)
        if box is None or decoder.layout.last_strip_rows is not None:  # where a chunk may be short, it is taken whole
            places.store(index, decoder.decode(data))
        else:
            decoder.decode_into(data, box[1], rows=decoder.rows, first=box[0])

    async def read(index: int) -> bool:
        getter, spec, *_ = places.batch[index]
        async with fetching:
            data = await getter.get(prototype=spec.prototype)
            if data is None:
                places.store(index, fill_value_or_default(spec))
                return False
            async with decoding:
                await asyncio.to_thread(place, index, data.as_numpy_array())
            return True

    present = await asyncio.gather(*map(read, which))
    return [index for index, there in zip(which, present, strict=True) if not there]


def _is_ours(codec: Any) -> bool:  # noqa: ANN401 - any codec
    return type(codec).__module__.startswith("tiff_codecs.")
