"""Tiles that the device cannot decompress: read and decompressed on the CPU."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import numpy as np

from tiff_codecs import fill_order
from tiff_codecs.errors import TiffDataError, TiffError
from tiff_codecs.gpu.decompressed import ALIGNMENT, Decompressed

if TYPE_CHECKING:
    import cupy
    from numpy.typing import NDArray

    from tiff_codecs.gpu.plan import ReadPlan
    from tiff_codecs.image_codec import ImageCodec

__all__ = ["decompress_on_host", "tile_on_host"]


def decompress_on_host(plan: ReadPlan, stream: cupy.cuda.Stream) -> Decompressed:
    """Read and decompress all tiles on the CPU, in threads, and copy them to the device at once.

    Raises:
        TiffDataError: a tile does not decode; names file and tile.
    """
    import cupy

    lengths = plan.decoded_bytes
    starts = np.concatenate([[0], np.cumsum((lengths + ALIGNMENT - 1) // ALIGNMENT * ALIGNMENT)])
    total = int(starts[-1])
    memory = cupy.cuda.alloc_pinned_memory(max(total, 1))
    host = np.frombuffer(memory, np.uint8, total)

    def work(tile: int) -> None:
        size, start = int(lengths[tile]), int(starts[tile])
        host[start : start + size] = tile_on_host(plan, tile)[:size]

    with ThreadPoolExecutor(os.cpu_count() or 1, thread_name_prefix="tiff-decode") as pool:
        list(pool.map(work, range(len(plan))))
    buffer = cupy.empty(total, np.uint8)
    buffer.set(host, stream=stream)
    stream.synchronize()  # the pinned memory goes back to its pool on return
    return Decompressed((buffer,), (buffer.data.ptr + starts[:-1]).astype(np.uint64), None)


def tile_on_host(plan: ReadPlan, tile: int) -> NDArray[np.uint8]:
    """Read and decompress one tile on the CPU.

    Returns:
        Its decompressed bytes, at least as many as its rows need.

    Raises:
        TiffDataError: it does not decode, or to too few bytes; names file and tile.
    """
    file = plan.files[int(plan.file[tile])]
    size, start = int(plan.decoded_bytes[tile]), int(plan.offset[tile])
    data = file.read(start, start + int(plan.length[tile]))
    place = tuple(plan.place[tile].tolist())
    if plan.fill_order != 1:
        data = fill_order.decode(data, memoryview(data).nbytes)
    try:
        raw = np.frombuffer(data, np.uint8) if plan.compression.decode is None else plan.compression.decode(data, size)
        if plan.codec is not None:
            raw = _image_samples(plan, plan.codec, raw, int(plan.stored_rows[tile]))
    except TiffError as error:
        raise error.with_context(url=file.url, tile=place) from error
    if raw.size < size:
        raise TiffDataError("a tile decodes to too few bytes", url=file.url, tile=place, found=raw.size, supported=size)
    return raw


def _image_samples(plan: ReadPlan, codec: ImageCodec, data: NDArray[np.uint8], rows: int) -> NDArray[np.uint8]:
    """Decode an image to interleaved samples, in the layout that the plan promises."""
    whole = plan.tile_rows or rows
    shape = {"rows": whole, "cols": plan.tile_cols, "bands": plan.tile_bands}
    pixels = codec.decode_tile(data, plan.layout.dtype, short=rows, **shape)
    return np.ascontiguousarray(pixels[:, :rows].transpose(1, 2, 0)).reshape(-1).view(np.uint8)
