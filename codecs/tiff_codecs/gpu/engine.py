"""One read on the device: fetch, decompress, scatter, in parts that fit the memory limit."""

from __future__ import annotations

import logging
from collections import deque
from dataclasses import dataclass, field
from time import perf_counter
from typing import TYPE_CHECKING, Final

import numpy as np

from tiff_codecs.errors import TiffUnsupportedError
from tiff_codecs.gpu.decompress import Decompressed, decompress, device_decoder
from tiff_codecs.gpu.fetch import fetch
from tiff_codecs.gpu.on_host import decompress_on_host, tile_on_host
from tiff_codecs.gpu.scatter import TILE, is_supported, scatter
from tiff_codecs.samples import decode_samples

if TYPE_CHECKING:
    import cupy
    from numpy.typing import NDArray

    from tiff_codecs.gpu.plan import ReadPlan

__all__ = ["Report", "execute", "place_tiles"]

MEMORY_LIMIT: Final = 4 * 2**30
"""Bytes of tiles in memory at a time, where nothing else is said: more does not decode faster."""

log = logging.getLogger("tiff_codecs.gpu")


@dataclass(slots=True)
class Report:
    """What one read did, and how long each step took on the host (seconds; device work runs on behind)."""

    tiles: int = 0
    host_tiles: int = 0
    """Tiles whose compression was undone on the CPU."""
    ways: dict[str, int] = field(default_factory=dict[str, int])
    """Bytes by the way they came: "kvikio", "pinned", "host"."""
    seconds: dict[str, float] = field(default_factory=dict[str, float])

    def add(self, step: str, since: float) -> float:
        """Count the time since `since` for `step`; returns the time now."""
        now = perf_counter()
        self.seconds[step] = self.seconds.get(step, 0.0) + now - since
        return now


def execute(
    plan: ReadPlan,
    out: cupy.ndarray,
    stream: cupy.cuda.Stream,
    *,
    memory_limit: int | None = None,
    strict: bool = False,
) -> Report:
    """Read all tiles of `plan` into `out`; returns when the pixels are there.

    Args:
        plan: the tiles.
        out: device array of the layout's dtype; the last three axes are (bands, rows, columns).
        stream: where the work is queued: the current one, and of this thread alone.
        memory_limit: bytes of compressed and decompressed tiles in memory at a time; None is `MEMORY_LIMIT`.
        strict: raise instead of decompressing on the CPU.

    Raises:
        TiffAccessError: a file cannot be read.
        TiffDataError: a tile does not decode; names file and tile.
        TiffUnsupportedError: `strict`, and there is no decoder on the device.
    """
    report = Report(tiles=len(plan))
    if not len(plan):
        return report
    on_device = device_decoder(plan) is not None and is_supported(plan.layout)
    if strict and not on_device:
        raise TiffUnsupportedError(
            "no decoder on the GPU",
            url=plan.files[0].url,
            found=f"compression {plan.compression.name}, predictor {plan.layout.predictor}",
            way_out="read it without strict: the CPU then decompresses it",
        )
    try:
        for part, good in _queue_parts(plan, out, stream, memory_limit, report, on_device=on_device):
            _again_on_host(part, np.flatnonzero(good.get(stream=stream) == 0), out, stream, report)
    finally:
        stream.synchronize()  # before any memory that queued work uses goes back to the pool
    if report.host_tiles:
        log.info("%d of %d tiles (%s) decompressed on the CPU", report.host_tiles, report.tiles, plan.compression.name)
    return report


def _queue_parts(
    plan: ReadPlan,
    out: cupy.ndarray,
    stream: cupy.cuda.Stream,
    memory_limit: int | None,
    report: Report,
    *,
    on_device: bool,
) -> list[tuple[ReadPlan, cupy.ndarray]]:
    """Fetch, decompress and scatter part after part; returns which tiles of each part came out whole, when all have."""
    outcomes: list[tuple[ReadPlan, cupy.ndarray]] = []
    queued: deque[tuple[Decompressed, cupy.cuda.Event]] = deque()
    try:
        for part in plan.in_parts(MEMORY_LIMIT if memory_limit is None else memory_limit):
            now = perf_counter()
            # while one part is decoded the next is read: the memory of the one before goes back when it is done
            while len(queued) > 1:
                queued[0][1].synchronize()
                queued.popleft()
            now = report.add("wait", now)
            if on_device:
                fetched = fetch(part, stream)
                for way, count in fetched.ways.items():
                    report.ways[way] = report.ways.get(way, 0) + count
                try:
                    tiles = decompress(part, fetched, stream)
                finally:
                    fetched.settle()
                report.seconds["fetch"] = report.seconds.get("fetch", 0.0) + fetched.seconds
                now += fetched.seconds
            else:
                tiles = decompress_on_host(part, stream)
                report.host_tiles += len(part)
                report.ways["host"] = report.ways.get("host", 0) + int(part.length.sum())
            now = report.add("decompress", now)
            place_tiles(part, tiles, out, stream)
            queued.append((tiles, stream.record()))
            now = report.add("scatter", now)
            if tiles.good is not None:
                outcomes.append((part, tiles.good))
    finally:
        now = perf_counter()
        stream.synchronize()
        report.add("wait", now)
    return outcomes


def place_tiles(plan: ReadPlan, tiles: Decompressed, out: cupy.ndarray, stream: cupy.cuda.Stream) -> None:
    """Queue the last step: samples are decoded, and the wanted pixels of each tile written to their place in `out`."""
    if not is_supported(plan.layout):
        for tile in range(len(plan)):
            _place_from_host(plan, tile, tile_on_host(plan, tile), out, stream)
        return
    target = plan.target
    table = np.empty(len(plan), TILE)
    table["source"] = tiles.address
    table["target"] = target.offset
    for name in ("first_row", "rows", "first_col", "cols", "first_band", "bands"):
        table[name] = getattr(target, name)
    scatter(table, plan.layout, out, cols=plan.tile_cols, bands=plan.tile_bands, stream=stream)


def _again_on_host(
    plan: ReadPlan, which: NDArray[np.intp], out: cupy.ndarray, stream: cupy.cuda.Stream, report: Report
) -> None:
    """Decode on the CPU what the device could not: it knows a damaged tile from an unusual one, and says which."""
    if not len(which):
        return
    part = plan.take(which)
    place_tiles(part, decompress_on_host(part, stream), out, stream)
    report.host_tiles += len(part)


def _place_from_host(
    plan: ReadPlan, tile: int, raw: NDArray[np.uint8], out: cupy.ndarray, stream: cupy.cuda.Stream
) -> None:
    """Decode samples on the CPU and copy the wanted ones to their place: for layouts without a kernel."""
    import cupy

    rows = int(plan.stored_rows[tile])
    pixels = decode_samples(raw, plan.layout, rows=rows, cols=plan.tile_cols, bands=plan.tile_bands)
    target = plan.target
    y, x = int(target.first_row[tile]), int(target.first_col[tile])
    band = int(target.first_band[tile])
    wanted = pixels[
        band : band + int(target.bands[tile]), y : y + int(target.rows[tile]), x : x + int(target.cols[tile])
    ]
    memory = cupy.cuda.MemoryPointer(out.data.mem, out.data.ptr - out.data.mem.ptr + int(target.offset[tile]))
    view = cupy.ndarray(wanted.shape, out.dtype, memory, strides=out.strides[-3:])
    view[...] = cupy.asarray(np.ascontiguousarray(wanted))
    stream.synchronize()
