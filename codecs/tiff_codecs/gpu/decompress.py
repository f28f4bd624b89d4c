"""Compressed tiles in device memory to decompressed ones."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files as resources
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tiff_codecs.gpu import jpeg, nvcomp, zstd
from tiff_codecs.gpu.crc32 import crc32
from tiff_codecs.gpu.inflate import Inflation, can_inflate
from tiff_codecs.gpu.lzw import can_decode_lzw, decode_lzw
from tiff_codecs.gpu.packbits import packbits
from tiff_codecs.jpeg import JpegCodec

if TYPE_CHECKING:
    from collections.abc import Callable

    import cupy
    from numpy.typing import NDArray

    from tiff_codecs.gpu.fetch import Fetched
    from tiff_codecs.gpu.plan import ReadPlan

__all__ = ["ALIGNMENT", "Decompressed", "decompress", "device_decoder"]

ZLIB: Final = 2, 4
GZIP: Final = 10, 8
"""Bytes before and behind a DEFLATE stream: of a zlib stream, and of a gzip member with the plainest of headers."""

PLAIN_GZIP: Final = 0x00088B1F
"""The first four bytes of such a header, as a little-endian word: gzip, DEFLATE, and no further parts."""

LZ4_HEADER: Final = 4
"""Bytes in front of an LZ4 block, which say how many bytes it holds."""

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
    lengths = plan.length.astype(np.uint64), plan.decoded_bytes.astype(np.uint64)
    return _DEVICE.get(plan.compression.name) if _fits(plan.compression.name, *lengths) else None


def _fits(name: str, source_bytes: NDArray[np.uint64], target_bytes: NDArray[np.uint64]) -> bool:
    """Whether a compression's decoder is there and takes streams of these lengths."""
    match name:
        case "deflate" | "gzip":
            return nvcomp.is_available() or can_inflate(source_bytes, target_bytes)
        case "lz4":
            return nvcomp.is_available() and bool((target_bytes <= nvcomp.MOST_LZ4).all())
        case "lzw":
            return can_decode_lzw(source_bytes, target_bytes)
        case "zstd":
            return zstd.can_decode(source_bytes, target_bytes)
        case _:
            return True


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
    outcome, trailers = _inflate(plan, fetched, ZLIB, (address, lengths), stream)
    table = cupy.asarray(np.stack([address, lengths, trailers]))
    equal = cupy.empty(len(plan), np.int32)
    adler32 = _adler32(cupy.cuda.runtime.getDevice())
    adler32((len(plan),), (512,), (*table, equal), stream=stream)
    good = (equal != 0) & (outcome.statuses == 0) & (outcome.sizes == table[1])
    return Decompressed((fetched.buffer, buffer, table, outcome), address, good.astype(np.int32))


@lru_cache(maxsize=16)
def _adler32(device: int) -> Any:  # noqa: ANN401, ARG001 - one module for each device
    import cupy

    source = (resources("tiff_codecs.gpu") / "kernels" / "adler32.cu").read_text()
    return cupy.RawModule(code=source, options=("--std=c++17",)).get_function("adler32")


def _gzip(plan: ReadPlan, fetched: Fetched, stream: cupy.cuda.Stream) -> Decompressed:
    """One member with a plain header, as Zarr's codecs write it: any other is left to the CPU."""
    import cupy

    buffer, address, lengths = _room(plan)
    outcome, trailers = _inflate(plan, fetched, GZIP, (address, lengths), stream)
    header, trailer = _words(fetched, fetched.address, 1), _words(fetched, trailers, 2)
    wanted = cupy.asarray(lengths)
    good = (outcome.statuses == 0) & (outcome.sizes == wanted) & (header[:, 0] == PLAIN_GZIP)
    good &= (trailer[:, 0] == crc32(address, lengths, stream)) & (trailer[:, 1] == wanted.astype(np.uint32))
    return Decompressed((fetched.buffer, buffer, outcome), address, good.astype(np.int32))


def _inflate(
    plan: ReadPlan,
    fetched: Fetched,
    around: tuple[int, int],
    room: tuple[NDArray[np.uint64], NDArray[np.uint64]],
    stream: cupy.cuda.Stream,
) -> tuple[Any, NDArray[np.uint64]]:
    """Decompress the DEFLATE streams of tiles, as they arrive.

    Args:
        plan: the tiles.
        fetched: their bytes.
        around: how many of them stand before and behind a stream.
        room: where the decompressed bytes go, and how many are wanted.
        stream: where the work is queued.

    Returns:
        What came of each stream, and the address of the bytes behind it.
    """
    header, trailer = around
    compressed = np.maximum(plan.length - header - trailer, 0).astype(np.uint64)
    source = fetched.address + np.uint64(header)
    if can_inflate(compressed, room[1]) or not fetched.aligned:
        batch = Inflation(source, compressed, *room, stream)
        for tiles in _arrivals(plan.length):
            fetched.wait(tiles)
            batch.scan(tiles)
        outcome: Any = batch.write()
    else:
        fetched.wait()
        outcome = nvcomp.decompress("deflate", source, compressed, *room, stream)
    return outcome, source + compressed


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


def _lz4(plan: ReadPlan, fetched: Fetched, stream: cupy.cuda.Stream) -> Decompressed:
    import cupy

    buffer, address, lengths = _room(plan)
    compressed = np.maximum(plan.length - LZ4_HEADER, 0).astype(np.uint64)
    fetched.wait()
    outcome = nvcomp.decompress("lz4", fetched.address + np.uint64(LZ4_HEADER), compressed, address, lengths, stream)
    wanted = cupy.asarray(lengths)
    says = _words(fetched, fetched.address, 1)[:, 0]
    good = (outcome.statuses == 0) & (outcome.sizes == wanted) & (says == wanted)
    return Decompressed((fetched.buffer, buffer, outcome), address, good.astype(np.int32))


def _words(fetched: Fetched, addresses: NDArray[np.uint64], number: int) -> cupy.ndarray:
    """The little-endian words that begin at any addresses in what was fetched, uint32 of shape (tiles, number)."""
    import cupy

    first = (addresses - np.uint64(fetched.buffer.data.ptr)).astype(np.int64)
    return fetched.buffer[cupy.asarray(first[:, None] + np.arange(4 * number))].view(np.uint32)


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
    "gzip": _gzip,
    "lz4": _lz4,
    "lzw": _lzw,
    "zstd": _zstd,
    "packbits": _packbits,
}
"""What decodes each compression on the device; those to come plug in here."""
