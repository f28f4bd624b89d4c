"""Readers of pixels to GPU memory, and where the time of ours goes. CuPy is imported when one of them is started."""

from __future__ import annotations

import warnings
from contextlib import contextmanager
from functools import partial
from statistics import median
from time import perf_counter
from typing import TYPE_CHECKING, Any, Final

import numpy as np

import virtual_cog
from tiff_codecs.gpu import nvcomp
from tiff_codecs.gpu.decompress import decompress, device_decoder
from tiff_codecs.gpu.device import parse_device
from tiff_codecs.gpu.engine import place_tiles
from tiff_codecs.gpu.fetch import fetch
from tiff_codecs.gpu.on_host import decompress_on_host
from virtual_cog._bench.pixel_readers import gdal_call, slices
from virtual_cog._bench.readers import Call, DeclinedError, Reader, library
from virtual_cog._plan import parse_window
from virtual_cog._read_gpu import plan_scene
from virtual_cog._registry import resolve
from virtual_cog._scene import load_scene

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    import cupy

    from tiff_codecs.gpu.plan import ReadPlan
    from virtual_cog._bench.task import Task


def _finished(call: Call) -> Call:
    """A call that returns when the device has done its work."""
    module = library("cupy")

    def finished() -> Any:  # noqa: ANN401
        result = call()
        module.cuda.Device().synchronize()
        return result

    return finished


def _to_host(pixels: Any) -> np.ndarray:  # noqa: ANN401 - a CuPy array
    return pixels.get()


def _ours(task: Task, _: int) -> Call:
    return _finished(partial(virtual_cog.read, task.path, ifd=task.ifd, window=task.window, device="gpu"))


def _zarr(task: Task, _: int, *, ours: bool) -> Call:
    import zarr

    from tiff_codecs import gpu

    rows, cols = slices(task.window)
    buffers = {"buffer": "zarr.buffer.gpu.Buffer", "ndbuffer": "zarr.buffer.gpu.NDBuffer"}

    def call() -> Any:  # noqa: ANN401
        with gpu.enable() if ours else zarr.config.set(buffers):
            data: Any = zarr.open_group(virtual_cog.open_store(task.path, ifd=task.ifd), mode="r")["band_data"]
            return data[:, rows, cols]

    return _finished(call)


def _gdal(driver: str, task: Task, threads: int, *, pinned: bool) -> Call:
    module = library("cupy")
    read = gdal_call(driver, task, threads)
    if not pinned:
        return _finished(lambda: module.asarray(read()))
    held: list[np.ndarray] = []

    def call() -> Any:  # noqa: ANN401
        if not held:  # pinned memory takes long to get: once for many files
            pixels: np.ndarray = read()
            memory = module.cuda.alloc_pinned_memory(pixels.nbytes)
            held.append(np.frombuffer(memory, pixels.dtype, pixels.size).reshape(pixels.shape))
        return module.asarray(read(out=held[0]))

    return _finished(call)


def _nvimgcodec(task: Task, _: int) -> Call:
    module, codec = library("cupy"), library("nvidia.nvimgcodec")
    if task.ifd or task.window:
        raise DeclinedError("nvimgcodec reads the first image, and no window of it")
    kinds = codec.BackendKind
    on_device = (kinds.GPU_ONLY, kinds.HYBRID_CPU_GPU, kinds.HW_GPU_ONLY)  # it would go to the CPU without a word
    decoder = codec.Decoder(backends=[codec.Backend(kind) for kind in on_device])
    parameters = codec.DecodeParams(allow_any_depth=True, color_spec=codec.ColorSpec.UNCHANGED)

    def call() -> Any:  # noqa: ANN401
        image = decoder.read(str(task.path), params=parameters)
        if image is None:
            raise DeclinedError("nvimgcodec does not decode the file")
        return module.asarray(image.cuda())

    return _finished(call)


def _xarray_spatial(task: Task, _: int) -> Call:
    geotiff = library("xrspatial.geotiff")
    if task.ifd or task.window:
        raise DeclinedError("xarray-spatial is asked for the first image as a whole")

    def call() -> Any:  # noqa: ANN401
        with warnings.catch_warnings():
            warnings.simplefilter("error", RuntimeWarning)  # its word that it goes to the CPU
            try:
                return geotiff.open_geotiff(str(task.path), gpu=True).data
            except RuntimeWarning as warning:
                raise DeclinedError(str(warning)) from warning

    return _finished(call)


def _planes(pixels: Any) -> np.ndarray:  # noqa: ANN401 - (rows, columns) or (rows, columns, bands), on the device
    host = _to_host(pixels)
    return host[None] if host.ndim == 2 else np.moveaxis(host, -1, 0)


def _reader(name: str, prepare: Callable[[Task, int], Call], needs: tuple[str, ...], **fields: Any) -> Reader:  # noqa: ANN401
    fields = {"inspect": _to_host, **fields}
    return Reader(name=name, kind="gpu", prepare=prepare, needs=("cupy", *needs), device="gpu", **fields)


_UPLOADED: Final[dict[str, Any]] = {"threads": "all", "uploads": True}

GPU_READERS: Final[tuple[Reader, ...]] = (
    _reader("GDAL GTiff", partial(_gdal, "GTiff", pinned=False), ("rasterio",), baseline=True, **_UPLOADED),
    _reader("GDAL GTiff, pinned", partial(_gdal, "GTiff", pinned=True), ("rasterio",), **_UPLOADED),
    _reader("GDAL LIBERTIFF", partial(_gdal, "LIBERTIFF", pinned=False), ("rasterio",), **_UPLOADED),
    _reader("GDAL LIBERTIFF, pinned", partial(_gdal, "LIBERTIFF", pinned=True), ("rasterio",), **_UPLOADED),
    _reader("virtual-cog read", _ours, (), ours=True, threads="all"),
    _reader("virtual-cog Zarr", partial(_zarr, ours=True), (), ours=True, threads="all"),
    _reader("virtual-cog Zarr, zarr's pipeline", partial(_zarr, ours=False), (), ours=True, threads="all"),
    _reader("nvimgcodec", _nvimgcodec, ("nvidia.nvimgcodec",), threads="all", inspect=_planes),
    _reader("xarray-spatial", _xarray_spatial, ("xrspatial",), threads="all", inspect=_planes),
)
"""In the order of reports."""


@contextmanager
def planned(task: Task) -> Generator[tuple[ReadPlan, cupy.ndarray, cupy.cuda.Stream]]:
    """The plan to read an image, memory for it, and the stream to do it on."""
    source = resolve(task.path)
    scene = source.drive(load_scene(source.open(), task.ifd))
    window = parse_window(scene.image, task.window)
    device = parse_device("gpu")
    with device.current():
        out = device.output((scene.image.bands, window.height, window.width), scene.image.dtype)
        plan, _ = plan_scene(source, scene, window, out)
        with device.stream() as stream:
            yield plan.take(np.argsort(plan.offset)), out, stream


def milliseconds(work: Call, stream: cupy.cuda.Stream) -> float:
    """How long the device takes for what `work` queues."""
    events = library("cupy").cuda
    begin, end = events.Event(), events.Event()
    begin.record(stream)
    kept = work()
    end.record(stream)
    stream.synchronize()
    del kept
    return events.get_elapsed_time(begin, end)


def breakdown(task: Task, rounds: int = 5) -> dict[str, float]:
    """Milliseconds of each of our steps by itself, medians: a host clock for fetch, device events for the rest.

    In a read they overlap, so that it takes less than their sum. What has no decoder on the device is read and
    decompressed on the CPU, which is one step.
    """
    times: dict[str, list[float]] = {}
    for _ in range(rounds + 2):  # the first two warm up
        with planned(task) as (plan, out, stream):
            if device_decoder(plan) is None:
                began = perf_counter()
                tiles = decompress_on_host(plan, stream)
                stream.synchronize()
                found = {"on the CPU": 1000 * (perf_counter() - began)}
            else:
                fetched = fetch(plan, stream)
                fetched.wait()
                tiles = decompress(plan, fetched, stream)
                found = {
                    "fetch": 1000 * fetched.seconds,
                    "decompress": milliseconds(partial(decompress, plan, fetched, stream), stream),
                }
            found["scatter"] = milliseconds(partial(place_tiles, plan, tiles, out, stream), stream)
        for name, value in found.items():
            times.setdefault(name, []).append(value)
    return {name: round(median(values[2:]), 3) for name, values in times.items()}


def nvcomp_alone(task: Task) -> float | None:
    """Milliseconds that nvCOMP takes for the same tiles, device to device; None where it cannot."""
    with planned(task) as (plan, _, stream):
        name = plan.compression.name
        if not nvcomp.is_available() or name not in ("deflate", "zstd"):
            return None
        fetched = fetch(plan, stream)
        fetched.wait()
        tiles = decompress(plan, fetched, stream)
        header, trailer = (2, 4) if name == "deflate" else (0, 0)
        payload = fetched.address + np.uint64(header), (plan.length - header - trailer).astype(np.uint64)
        lengths = plan.decoded_bytes.astype(np.uint64)
        call = partial(nvcomp.decompress, name, *payload, tiles.address, lengths, stream)
        return round(median(milliseconds(call, stream) for _ in range(3)), 3)
