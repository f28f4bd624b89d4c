"""Compressed tiles in device memory to decompressed ones."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files as resources
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tiff_codecs import fill_order
from tiff_codecs.errors import TiffDataError, TiffError
from tiff_codecs.gpu import jpeg, nvcomp, zstd
from tiff_codecs.gpu.inflate import Inflation, can_inflate
from tiff_codecs.gpu.lzw import can_decode_lzw, decode_lzw
from tiff_codecs.jpeg import JpegCodec

if TYPE_CHECKING:
    from collections.abc import Callable

    import cupy
    from numpy.typing import NDArray

    from tiff_codecs.gpu.fetch import Fetched
    from tiff_codecs.gpu.plan import ReadPlan
    from tiff_codecs.image_codec import ImageCodec

__all__ = ["Decompressed", "decompress", "decompress_on_host", "device_decoder", "packbits", "tile_on_host"]

ZLIB_HEADER: Final = 2
ZLIB_TRAILER: Final = 4
ALIGNMENT: Final = 16

ARRIVAL_BYTES: Final = 32 * 1024 * 1024
ARRIVALS: Final = (1 / 3, 2 / 3)
"""From so many compressed bytes on, decoding begins when these parts of them are there."""


@dataclass(frozen=True, slots=True)
class Decompressed:
    """Decompressed tiles in device memory; whether each is whole is known when the stream has got there."""

    buffers: tuple[Any, ...]
    """The memory that the tiles lie in, and what the queued work still reads."""
    address: NDArray[np.uint64]
    """Device address of each tile, shape (tiles,)."""
    good: cupy.ndarray | None
    """1 where a tile is whole and its checksum right, int32 on the device; None where nothing can be wrong."""


def device_decoder(plan: ReadPlan) -> Callable[[ReadPlan, Fetched, cupy.cuda.Stream], Decompressed] | None:
    """The function that decompresses the tiles of `plan` on the device, None where there is none."""
    if plan.fill_order != 1:
        return None
    if plan.codec is not None:
        return _jpeg if isinstance(plan.codec, JpegCodec) and _can_jpeg(plan) else None
    name = plan.compression.name
    lengths = plan.length.astype(np.uint64), plan.decoded_bytes.astype(np.uint64)
    if name == "zstd" and not zstd.can_decode(*lengths):
        return None
    if name == "deflate" and not nvcomp.is_available() and not can_inflate(*lengths):
        return None
    if name == "lzw" and not can_decode_lzw(*lengths):
        return None
    return _DEVICE.get(name)


def decompress(plan: ReadPlan, fetched: Fetched, stream: cupy.cuda.Stream) -> Decompressed:
    """Decompress all tiles on the device, queued on `stream`.

    Args:
        plan: the tiles; there must be a `device_decoder` for it.
        fetched: their bytes.
        stream: where the work is queued, and the current one.
    """
    decoder = device_decoder(plan)
    assert decoder is not None  # noqa: S101 - the caller asks first
    return decoder(plan, fetched, stream)


def _stored(plan: ReadPlan, fetched: Fetched, stream: cupy.cuda.Stream) -> Decompressed:  # noqa: ARG001
    fetched.wait()
    return Decompressed((fetched.buffer,), fetched.address, None)


def _room(plan: ReadPlan) -> tuple[cupy.ndarray, NDArray[np.uint64], NDArray[np.uint64]]:
    """One device buffer for all decompressed tiles, with the address and length of each."""
    import cupy

    lengths = plan.decoded_bytes
    room = (lengths + ALIGNMENT - 1) // ALIGNMENT * ALIGNMENT + ALIGNMENT
    starts = np.concatenate([[0], np.cumsum(room)])
    buffer = cupy.empty(int(starts[-1]), np.uint8)
    return buffer, (buffer.data.ptr + starts[:-1]).astype(np.uint64), lengths.astype(np.uint64)


def _deflate(plan: ReadPlan, fetched: Fetched, stream: cupy.cuda.Stream) -> Decompressed:
    import cupy

    buffer, address, lengths = _room(plan)
    compressed = np.maximum(plan.length - ZLIB_HEADER - ZLIB_TRAILER, 0).astype(np.uint64)
    source = fetched.address + np.uint64(ZLIB_HEADER)
    table = cupy.asarray(np.stack([address, lengths, source + compressed]))
    equal = cupy.empty(len(plan), np.int32)
    if can_inflate(compressed, lengths) or not fetched.aligned:
        batch = Inflation(source, compressed, address, lengths, stream)
        for tiles in _arrivals(plan.length):
            fetched.wait(tiles)
            batch.scan(tiles)
        outcome: Any = batch.write()
    else:
        fetched.wait()
        outcome = nvcomp.decompress("deflate", source, compressed, address, lengths, stream)
    adler32 = _kernel("adler32", cupy.cuda.runtime.getDevice())
    adler32((len(plan),), (512,), (table[0], table[1], table[2], equal), stream=stream)
    good = (equal != 0) & (outcome.statuses == 0) & (outcome.sizes == table[1])
    return Decompressed((fetched.buffer, buffer, table, outcome), address, good.astype(np.int32))


def _arrivals(lengths: NDArray[np.int64]) -> list[int]:
    """After how many tiles to begin, with those that are there while others are on their way; all of them at last."""
    ends = np.cumsum(lengths)
    if ends[-1] < ARRIVAL_BYTES:
        return [len(lengths)]
    return [*(np.searchsorted(ends, np.multiply(ARRIVALS, ends[-1])) + 1).tolist(), len(lengths)]


def _zstd(plan: ReadPlan, fetched: Fetched, stream: cupy.cuda.Stream) -> Decompressed:
    import cupy

    buffer, address, lengths = _room(plan)
    fetched.wait()
    outcome = zstd.decode(fetched.address, plan.length.astype(np.uint64), address, lengths, stream)
    good = (outcome.statuses == 0) & (outcome.sizes == cupy.asarray(lengths))
    return Decompressed((fetched.buffer, buffer, outcome), address, good.astype(np.int32))


def _lzw(plan: ReadPlan, fetched: Fetched, stream: cupy.cuda.Stream) -> Decompressed:
    import cupy

    buffer, address, lengths = _room(plan)
    fetched.wait()
    outcome = decode_lzw(fetched.address, plan.length.astype(np.uint64), address, lengths, stream)
    good = (outcome.statuses == 0) & (outcome.sizes == cupy.asarray(lengths))
    return Decompressed((fetched.buffer, buffer, outcome), address, good.astype(np.int32))


def _can_jpeg(plan: ReadPlan) -> bool:
    rows = np.maximum(plan.stored_rows, plan.tile_rows or 0)
    fits = jpeg.can_decode(plan.length, rows, plan.tile_cols, plan.tile_bands)
    return fits and jpeg.is_supported(plan.layout.dtype, plan.tile_bands)


def _jpeg(plan: ReadPlan, fetched: Fetched, stream: cupy.cuda.Stream) -> Decompressed:
    assert isinstance(plan.codec, JpegCodec)  # noqa: S101 - see `device_decoder`
    buffer, address, _ = _room(plan)
    fetched.wait()
    outcome = jpeg.decode(
        fetched.address,
        plan.length,
        address,
        plan.stored_rows,
        stream,
        whole_rows=plan.tile_rows,
        cols=plan.tile_cols,
        bands=plan.tile_bands,
        tables=plan.codec.table_bytes,
        ycbcr_to_rgb=plan.codec.ycbcr_to_rgb,
    )
    return Decompressed((fetched.buffer, buffer, outcome), address, (outcome.statuses == 0).astype(np.int32))


@dataclass(frozen=True, slots=True)
class PackbitsOutcome:
    """What came of each stream, on the device."""

    sizes: cupy.ndarray
    """Bytes that came out, uint64 of shape (streams,)."""
    statuses: cupy.ndarray
    """0: a stream can only be too short."""
    kept: tuple[cupy.ndarray, ...]


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
    kernel = _kernel("packbits", cupy.cuda.runtime.getDevice())
    warps = 4
    kernel((-(-len(sources) // warps),), (32 * warps,), (*table, written, np.int32(len(sources))), stream=stream)
    return PackbitsOutcome(written, cupy.zeros(len(sources), np.uint32), (table,))


def _packbits(plan: ReadPlan, fetched: Fetched, stream: cupy.cuda.Stream) -> Decompressed:
    import cupy

    buffer, address, lengths = _room(plan)
    fetched.wait()
    outcome = packbits(fetched.address, plan.length.astype(np.uint64), address, lengths, stream)
    good = (outcome.sizes == cupy.asarray(lengths)).astype(np.int32)
    return Decompressed((fetched.buffer, buffer, outcome), address, good)


_DEVICE: Final[dict[str, Callable[[ReadPlan, Fetched, cupy.cuda.Stream], Decompressed]]] = {
    "none": _stored,
    "deflate": _deflate,
    "lzw": _lzw,
    "zstd": _zstd,
    "packbits": _packbits,
}
"""What decodes each compression on the device; those to come plug in here."""


@lru_cache(maxsize=64)
def _kernel(name: str, device: int) -> Any:  # noqa: ANN401, ARG001 - one module for each device
    import cupy

    source = (resources("tiff_codecs.gpu") / "kernels" / f"{name}.cu").read_text()
    return cupy.RawModule(code=source, options=("--std=c++17",)).get_function(name)


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
