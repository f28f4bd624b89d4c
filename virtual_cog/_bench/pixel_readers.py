"""Readers of pixels: each opens the file, and returns a newly allocated array."""

from __future__ import annotations

import asyncio
import weakref
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import numpy as np

import virtual_cog
from virtual_cog._bench.readers import Call, DeclinedError, Reader, Threads, library

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from virtual_cog._bench.task import Task, WindowTuple

FUSED: Final = "zarr.core.codec_pipeline.FusedCodecPipeline"
CPU: Final = "tiff_codecs.cpu.pipeline.CpuCodecPipeline"


def slices(window: WindowTuple | None) -> tuple[slice, slice]:
    if window is None:
        return (slice(None), slice(None))
    col, row, width, height = window
    return (slice(row, row + height), slice(col, col + width))


def _whole(task: Task, library_name: str) -> None:
    if task.window is not None:
        raise DeclinedError(f"{library_name} has no call that reads a window")


def _ours(task: Task, threads: int) -> Call:
    return partial(virtual_cog.read, task.path, ifd=task.ifd, window=task.window, threads=threads)


def _zarr(pipeline: str | None, task: Task, threads: int) -> Call:
    import zarr

    rows, cols = slices(task.window)
    settings: dict[str, Any] = {"codec_pipeline.max_workers": threads}
    if threads == 1:
        settings["async.concurrency"] = 1  # one chunk at a time; Zarr's threads are made once for the process
    if pipeline is not None:
        module, _, name = pipeline.rpartition(".")
        if not hasattr(library(module), name):
            raise DeclinedError(f"zarr {zarr.__version__} has no {pipeline}")
        settings["codec_pipeline.path"] = pipeline
    virtual_cog.open_store(task.path, ifd=task.ifd)  # imports VirtualiZarr, whose memory is not the read's

    def call() -> Any:  # noqa: ANN401
        with zarr.config.set(settings):
            group = zarr.open_group(virtual_cog.open_store(task.path, ifd=task.ifd), mode="r")
            data: Any = group["band_data"]
            return data[:, rows, cols]

    return call


def gdal_call(driver: str, task: Task, threads: int) -> Callable[..., Any]:
    """Read with a driver of GDAL; the call takes `out`, an array to read into."""
    rasterio = library("rasterio")
    windows = library("rasterio.windows")
    with rasterio.Env() as env:
        if driver not in env.drivers():
            raise DeclinedError(f"GDAL {rasterio.__gdal_version__} of this rasterio has no driver {driver}")
    name = str(task.path) if task.ifd == 0 else f"GTIFF_DIR:{task.ifd + 1}:{task.path}"
    window = None if task.window is None else windows.Window(*task.window)

    def call(out: np.ndarray | None = None) -> Any:  # noqa: ANN401
        # side files are none of the file's business, and neither is the folder's listing
        with (
            rasterio.Env(GDAL_PAM_ENABLED=False, GDAL_DISABLE_READDIR_ON_OPEN="EMPTY_DIR"),
            rasterio.open(name, driver=driver, NUM_THREADS=str(threads)) as source,
        ):
            if source.driver != driver:
                raise DeclinedError(f"GDAL opened the file with {source.driver}")
            return source.read(window=window, out=out)

    return call


def _tifffile(task: Task, threads: int) -> Call:
    tifffile = library("tifffile")
    _whole(task, "tifffile")

    def call() -> tuple[Any, Any]:
        with tifffile.TiffFile(task.path) as file:
            page = file.pages[task.ifd]
            return page.asarray(maxworkers=threads), page.axes

    return call


def _planes(result: tuple[Any, Any]) -> Any:  # noqa: ANN401
    """From tifffile's axes to (bands, rows, columns): a view, which costs nothing."""
    pixels, axes = result
    if axes == "YX":
        return pixels[None]
    return np.moveaxis(pixels, -1, 0) if axes == "YXS" else pixels


def _virtual_tiff(task: Task, _: int) -> Call:
    import zarr
    from obspec_utils.registry import ObjectStoreRegistry
    from obstore.store import LocalStore

    virtual_tiff = library("virtual_tiff")
    registry = ObjectStoreRegistry({"file://": LocalStore()})
    parts = slices(task.window)

    def call() -> Any:  # noqa: ANN401
        store = virtual_tiff.VirtualTIFF(ifd=task.ifd)(task.url, registry)
        data: Any = zarr.open_group(store, mode="r")[str(task.ifd)]
        return data[(..., *parts)]

    return call


def _at_least_three(pixels: Any) -> Any:  # noqa: ANN401
    return pixels[None] if pixels.ndim == 2 else pixels


def _async_geotiff(task: Task, _: int) -> Call:
    from obstore.store import LocalStore

    async_geotiff = library("async_geotiff")
    if task.ifd:
        raise DeclinedError("async-geotiff has no IFD index")
    names = ("col_off", "row_off", "width", "height")
    window = None if task.window is None else async_geotiff.Window(**dict(zip(names, task.window, strict=True)))
    store = LocalStore()

    async def read() -> Any:  # noqa: ANN401
        source = await async_geotiff.GeoTIFF.open(str(task.path), store=store)
        return (await source.read(window=window)).data

    return in_loop(read)


def _async_tiff(task: Task, threads: int) -> Call:
    from obstore.store import LocalStore

    async_tiff = library("async_tiff")
    _whole(task, "async-tiff")
    store, pool = LocalStore(), async_tiff.ThreadPool(threads)

    async def read() -> np.ndarray:
        tiff = await async_tiff.TIFF.open(str(task.path), store=store)
        ifd = tiff.ifd(task.ifd)
        if ifd.tile_width is None:
            raise DeclinedError("async-tiff does not read strips")
        columns, rows = -(-ifd.image_width // ifd.tile_width), -(-ifd.image_height // ifd.tile_height)
        places = [(x, y) for y in range(rows) for x in range(columns)]
        tiles = await ifd.fetch_tiles(places)
        out: np.ndarray | None = None
        for (x, y), tile in zip(places, await asyncio.gather(*[t.decode(pool=pool) for t in tiles]), strict=True):
            pixels = np.asarray(tile)
            if int(ifd.planar_configuration.value) == 1:
                pixels = np.moveaxis(pixels, -1, 0)
            if out is None:
                out = np.empty((len(pixels), ifd.image_height, ifd.image_width), pixels.dtype)
            part = out[
                :, y * ifd.tile_height : (y + 1) * ifd.tile_height, x * ifd.tile_width : (x + 1) * ifd.tile_width
            ]
            part[...] = pixels[:, : part.shape[1], : part.shape[2]]
        assert out is not None  # noqa: S101 - an image has tiles
        return out

    return in_loop(read)


def in_loop(work: Callable[[], Coroutine[Any, Any, Any]]) -> Call:
    """Run coroutines of ``work`` in one event loop, which a program that reads has running already."""
    loop = asyncio.new_event_loop()
    weakref.finalize(work, loop.close)
    return lambda: loop.run_until_complete(work())


def _pixels(
    name: str,
    prepare: Callable[[Task, int], Call],
    threads: tuple[Threads, ...],
    **fields: Any,  # noqa: ANN401
) -> list[Reader]:
    return [Reader(name=name, kind="pixels", prepare=prepare, threads=each, **fields) for each in threads]


BOTH: Final[tuple[Threads, ...]] = ("one", "all")

PIXEL_READERS: Final[tuple[Reader, ...]] = (
    *_pixels("GDAL GTiff", partial(gdal_call, "GTiff"), BOTH, needs=("rasterio",), baseline=True),
    *_pixels("GDAL LIBERTIFF", partial(gdal_call, "LIBERTIFF"), BOTH, needs=("rasterio",)),
    *_pixels("virtual-cog read", _ours, BOTH, ours=True),
    *_pixels("virtual-cog Zarr", partial(_zarr, None), BOTH, ours=True),
    *_pixels("virtual-cog Zarr, our pipeline", partial(_zarr, CPU), BOTH, ours=True),
    *_pixels("virtual-cog Zarr, fused pipeline", partial(_zarr, FUSED), BOTH, ours=True),
    *_pixels("tifffile", _tifffile, BOTH, needs=("tifffile",), inspect=_planes),
    *_pixels("async-tiff", _async_tiff, BOTH, needs=("async_tiff",), risky=True),
    *_pixels("async-geotiff", _async_geotiff, ("all",), needs=("async_geotiff",), risky=True),
    *_pixels("virtual-tiff", _virtual_tiff, ("all",), needs=("virtual_tiff",), risky=True, inspect=_at_least_three),
)
"""In the order of reports."""
