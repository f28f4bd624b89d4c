"""DEFLATE tiles and gzip chunks on the device: what stands around a DEFLATE stream, and the checksum behind it."""

from __future__ import annotations

from functools import lru_cache
from importlib.resources import files as resources
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tiff_codecs.gpu import nvcomp
from tiff_codecs.gpu.crc32 import crc32
from tiff_codecs.gpu.decompressed import Decompressed, room_for
from tiff_codecs.gpu.inflate import Inflation, can_inflate

if TYPE_CHECKING:
    import cupy
    from numpy.typing import NDArray

    from tiff_codecs.gpu.fetch import Fetched
    from tiff_codecs.gpu.plan import ReadPlan

__all__ = ["decode_deflate", "decode_gzip"]

ZLIB: Final = 2, 4
GZIP: Final = 10, 8
"""Bytes before and behind a DEFLATE stream: of a zlib stream, and of a gzip member with the plainest of headers."""

PLAIN_GZIP: Final = 0x00088B1F
"""The first four bytes of such a header, as a little-endian word: gzip, DEFLATE, and no further parts."""

ARRIVAL_BYTES: Final = 32 * 1024 * 1024
ARRIVALS: Final = (0.25, 0.6)
"""From so many compressed bytes on, decoding begins when these parts of them are there."""


def decode_deflate(plan: ReadPlan, fetched: Fetched, stream: cupy.cuda.Stream) -> Decompressed:
    """Decompress tiles of zlib streams, and compare their Adler-32; see `tiff_codecs.gpu.decompress.decompress`."""
    import cupy

    buffer, address, lengths = room_for(plan)
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


def decode_gzip(plan: ReadPlan, fetched: Fetched, stream: cupy.cuda.Stream) -> Decompressed:
    """Decompress gzip chunks of one member with a plain header, as Zarr writes them; others are left to the CPU."""
    import cupy

    buffer, address, lengths = room_for(plan)
    outcome, trailers = _inflate(plan, fetched, GZIP, (address, lengths), stream)
    header, trailer = fetched.words(fetched.address, 1), fetched.words(trailers, 2)
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
