# ruff: noqa: INP001 - scripts, not a package
"""Pixels of large images to GPU memory: ours, and GDAL with an upload, in turns; and where our time goes.

    python benchmarks/gpu.py TCI_like.tif B04_like.tif

Files in the page cache, results CuPy arrays, everything synchronised. Writes JSON and Markdown to
``benchmarks/results``.
"""

from __future__ import annotations

import argparse
import subprocess
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import TYPE_CHECKING, Any

import cupy
import numpy as np
from outputs import RESULTS, place, revision, write

import virtual_cog
from tiff_codecs.gpu import nvcomp
from tiff_codecs.gpu.decompress import decompress
from tiff_codecs.gpu.device import parse_device
from tiff_codecs.gpu.engine import place_tiles
from tiff_codecs.gpu.fetch import fetch
from tiff_codecs.gpu.inflate import inflate
from virtual_cog._bench.machine import machine, versions
from virtual_cog._bench.task import cores
from virtual_cog._bench.timing import measure
from virtual_cog._plan import parse_window
from virtual_cog._read_gpu import plan_scene
from virtual_cog._registry import resolve
from virtual_cog._scene import load_scene

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from tiff_codecs.gpu.plan import ReadPlan

type Call = Callable[[], Any]


def synchronised(call: Call) -> Call:
    """A call that returns when the device has done its work."""

    def timed() -> Any:  # noqa: ANN401
        result = call()
        cupy.cuda.Device().synchronize()
        return result

    return timed


def gdal(path: Path, driver: str, threads: int, pinned: np.ndarray | None) -> cupy.ndarray:
    """Read with GDAL and copy to the device, from memory of its own or pinned memory."""
    import rasterio

    with rasterio.open(path, driver=driver, NUM_THREADS=str(threads)) as source:
        return cupy.asarray(source.read() if pinned is None else source.read(out=pinned))


def ours_through_zarr(path: Path) -> cupy.ndarray:
    """Read with zarr and the GPU pipeline."""
    import zarr

    from tiff_codecs import gpu

    with gpu.enable():
        return zarr.open_group(virtual_cog.open_store(path), mode="r")["band_data"][...]


def readers(path: Path, shape: tuple[int, ...], dtype: np.dtype[Any]) -> dict[str, Call | str]:
    """The calls to be timed, or why one is not there."""
    found: dict[str, Call | str] = {
        "virtual-cog read": partial(virtual_cog.read, path, device="gpu"),
        "virtual-cog Zarr": partial(ours_through_zarr, path),
    }
    try:
        import rasterio
    except ImportError:
        return found | {"GDAL": "rasterio is not installed"}
    memory = cupy.cuda.alloc_pinned_memory(int(np.prod(shape)) * dtype.itemsize)
    pinned = np.frombuffer(memory, dtype, int(np.prod(shape))).reshape(shape)
    with rasterio.Env() as env:
        drivers = env.drivers()
    for driver in ("LIBERTIFF", "GTiff"):
        for kind, room in (("pageable", None), ("pinned", pinned)):
            name = f"GDAL {driver}, {cores()} threads, {kind} upload"
            found[name] = partial(gdal, path, driver, cores(), room) if driver in drivers else "not in this GDAL"
    return found


@contextmanager
def planned(path: Path) -> Generator[tuple[ReadPlan, cupy.ndarray, cupy.cuda.Stream]]:
    """The whole image of a file: the plan to read it, memory for it, and the stream to do it on."""
    source = resolve(path)
    scene = source.drive(load_scene(source.open(), 0))
    image = scene.image
    device = parse_device("gpu")
    with device.current():
        out = device.output((image.bands, image.height, image.width), image.dtype)
        plan, _ = plan_scene(source, scene, parse_window(image, None), out)
        with device.stream() as stream:
            yield plan.take(np.argsort(plan.offset)), out, stream


def milliseconds(work: Call, stream: cupy.cuda.Stream) -> float:
    """How long the device takes for what `work` queues."""
    begin, end = cupy.cuda.Event(), cupy.cuda.Event()
    begin.record(stream)
    kept = work()
    end.record(stream)
    stream.synchronize()
    del kept
    return cupy.cuda.get_elapsed_time(begin, end)


def breakdown(path: Path, rounds: int) -> dict[str, float]:
    """Milliseconds of each of our steps by itself, medians: a host clock for fetch, device events for the rest."""
    times: dict[str, list[float]] = {}
    for _ in range(rounds + 2):
        with planned(path) as (plan, out, stream):
            fetched = fetch(plan, stream)
            fetched.wait()
            lengths = plan.decoded_bytes.astype(np.uint64)
            tiles = decompress(plan, fetched, stream)
            found = {
                "fetch": 1000 * fetched.seconds,
                "decompress with its check": milliseconds(partial(decompress, plan, fetched, stream), stream),
                "scatter": milliseconds(partial(place_tiles, plan, tiles, out, stream), stream),
            }
            if plan.compression.name == "deflate":
                payload = fetched.address + np.uint64(2), (plan.length - 6).astype(np.uint64), tiles.address, lengths
                found["inflate alone"] = milliseconds(partial(inflate, *payload, stream), stream)
        for name, value in found.items():
            times.setdefault(name, []).append(value)
    return {name: round(median(values[2:]), 3) for name, values in times.items()}


def nvcomp_alone(path: Path) -> float | None:
    """Milliseconds that nvCOMP takes for the same tiles, device to device; None where it cannot."""
    with planned(path) as (plan, _, stream):
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


def one(path: Path, rounds: int) -> dict[str, Any]:
    """Compare on one file."""
    truth = virtual_cog.read(path)
    calls: dict[str, Call] = {}
    outcome: dict[str, Any] = {}
    for name, call in readers(path, truth.shape, truth.dtype).items():
        if isinstance(call, str):
            outcome[name] = {"status": "missing", "reason": call}
            continue
        got = synchronised(call)()
        if not all(bool((got[band] == cupy.asarray(truth[band])).all()) for band in range(len(truth))):
            outcome[name] = {"status": "differs"}
            continue
        calls[name] = synchronised(call)
        del got
    for name, timing in measure(calls, rounds=rounds, seconds=60).items():
        outcome[name] = {"status": "timed", "median_ms": 1000 * timing.median, "samples_s": timing.wall}
    timed = {name: found["median_ms"] for name, found in outcome.items() if found["status"] == "timed"}
    ours = timed["virtual-cog read"]
    for name, found in timed.items():
        outcome[name]["ratio"] = found / ours
    pool = cupy.get_default_memory_pool()
    pool.free_all_blocks()
    virtual_cog.read(path, device="gpu")
    return {
        "file": path.name, "shape": list(truth.shape), "dtype": truth.dtype.name, "pixel_bytes": truth.nbytes,
        "stored_bytes": path.stat().st_size, "readers": outcome, "breakdown_ms": breakdown(path, rounds),
        "nvcomp_ms": nvcomp_alone(path), "peak_pool_bytes": pool.total_bytes(),
    }  # fmt: skip


def driver() -> str | None:
    """The version of the NVIDIA driver; None where its tool is not there."""
    command = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()[0]
    except (OSError, subprocess.CalledProcessError, IndexError):
        return None


def setting() -> dict[str, Any]:
    """When, where and with what is measured."""
    properties = cupy.cuda.runtime.getDeviceProperties(0)
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"), "machine": machine(),
        "device": {
            "name": properties["name"].decode(), "memory_bytes": properties["totalGlobalMem"],
            "driver": driver(), "cuda_driver": cupy.cuda.runtime.driverGetVersion(),
            "cuda_runtime": cupy.cuda.runtime.runtimeGetVersion(),
        },
        "versions": versions(), "revision": revision(),
    }  # fmt: skip


def together(path: Path, copies: int) -> dict[str, Any]:
    """Read many copies of a file in one call: as one virtual dataset along a new axis, with zarr."""
    import icechunk
    import xarray
    import zarr
    from obspec_utils.registry import ObjectStoreRegistry
    from obstore.store import LocalStore
    from virtualizarr import open_virtual_dataset

    from tiff_codecs import gpu

    with TemporaryDirectory(dir=path.parent) as made:
        folder = Path(made)
        registry = ObjectStoreRegistry({"file://": LocalStore()})
        scenes: list[Any] = []
        for number in range(copies):
            copy = folder / f"{number}.tif"
            copy.hardlink_to(path)
            scenes.append(
                open_virtual_dataset(copy.as_uri(), registry=registry, parser=virtual_cog.COGParser())
                .drop_vars(["spatial_ref", "x", "y", "band"], errors="ignore")
                .expand_dims("scene")
            )
        stack: Any = xarray.concat(scenes, "scene", coords="minimal", compat="override", combine_attrs="override")
        config = icechunk.RepositoryConfig.default()
        prefix = f"{folder.as_uri()}/"
        container = icechunk.VirtualChunkContainer(prefix, icechunk.local_filesystem_store(str(folder)))
        config.set_virtual_chunk_container(container)
        access = icechunk.containers_credentials({prefix: icechunk.credentials.LocalFileSystemAccess})
        repository = icechunk.Repository.create(
            icechunk.in_memory_storage(), config, authorize_virtual_chunk_access=access
        )
        session = repository.writable_session("main")
        stack.vz.to_icechunk(session.store)
        session.commit("copies")
        with gpu.enable():
            array: Any = zarr.open_group(repository.readonly_session("main").store, mode="r")["band_data"]
            taken: list[float] = []
            for _ in range(4):
                pixels = None
                since = perf_counter()
                pixels = array[...]
                cupy.cuda.Device().synchronize()
                taken.append(perf_counter() - since)
        same = all(bool((scene == pixels[0]).all()) for scene in pixels[1:])
        if not same or not bool((pixels[0] == cupy.asarray(virtual_cog.read(path))).all()):
            raise SystemExit(f"{path}: the copies differ")
    seconds = median(taken[1:])
    return {"file": path.name, "copies": copies, "median_s": seconds, "gb_per_s": pixels.nbytes / seconds / 1e9}


def main() -> None:
    """Parse the arguments, and run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--repeat", type=int, default=9)
    parser.add_argument("--copies", type=int, default=64, help="files read in one call")
    parser.add_argument("--output", type=Path, default=RESULTS)
    arguments = parser.parse_args()
    results = setting() | {
        "schema": "virtual-cog gpu benchmark", "schema_version": 2,
        "files": [one(path, arguments.repeat) for path in arguments.files],
        "together": [together(path, arguments.copies) for path in arguments.files],
    }  # fmt: skip
    lines = ["# To GPU memory", "", f"{results['device']['name']}, {results['date'][:10]}; medians in ms.", ""]
    for file in results["files"]:
        lines += [
            f"## {file['file']}: {file['shape']} {file['dtype']}",
            "",
            "| reader | ms | ratio |",
            "| --- | --- | --- |",
        ]
        for name, found in file["readers"].items():
            timed = found["status"] == "timed"
            lines.append(
                f"| {name} | {found['median_ms']:.1f} | {found['ratio']:.2f} |"
                if timed
                else f"| {name} | {found['status']} | |"
            )
        lines += ["", *(f"- {name}: {value} ms" for name, value in file["breakdown_ms"].items())]
        lines += [f"- nvCOMP alone: {file['nvcomp_ms']} ms", ""]
    for many in results["together"]:
        lines.append(f"{many['copies']} files like {many['file']} in one call: {many['gb_per_s']:.1f} GB/s of pixels.")
    write(place(results, "gpu", arguments.output), results, "\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
