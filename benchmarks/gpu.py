# ruff: noqa: INP001 - scripts, not a package
"""Pixels of large images to GPU memory: ours, and GDAL with an upload, in turns; and where our time goes.

    python benchmarks/gpu.py TCI_like.tif B04_like.tif

Files in the page cache, results CuPy arrays, everything synchronised. Writes JSON and Markdown to
``benchmarks/results``.
"""

from __future__ import annotations

import argparse
import subprocess
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

import cupy
import numpy as np
from outputs import RESULTS, place, revision, write

import virtual_cog
from tiff_codecs.gpu import nvcomp
from tiff_codecs.gpu.decompress import decompress
from tiff_codecs.gpu.device import parse_device
from tiff_codecs.gpu.engine import execute
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
    from collections.abc import Callable

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


def breakdown(path: Path, rounds: int) -> dict[str, float]:
    """Milliseconds of each of our steps, medians: host clocks for parse, plan and fetch, device events for the rest."""
    device = parse_device("gpu")
    times: dict[str, list[float]] = {}
    for _ in range(rounds + 2):
        source = resolve(path)
        scene = source.drive(load_scene(source.open(), 0))
        image = scene.image
        with device.current():
            out = device.output((image.bands, image.height, image.width), image.dtype)
            plan, _ = plan_scene(source, scene, parse_window(image, None), out)
            with device.stream() as stream:
                report = execute(plan, out, stream)
                events = [cupy.cuda.Event() for _ in range(4)]
                fetched = fetch(plan, stream)
                events[0].record(stream)
                tiles = decompress(plan, fetched, stream)
                events[1].record(stream)
                stream.synchronize()
                lengths = plan.decoded_bytes.astype(np.uint64)
                compressed = (plan.length - 6).astype(np.uint64)
                events[2].record(stream)
                inflate(fetched.address + np.uint64(2), compressed, tiles.address, lengths, stream)
                events[3].record(stream)
                stream.synchronize()
        times.setdefault("fetch", []).append(1000 * report.seconds["fetch"])
        between = cupy.cuda.get_elapsed_time
        times.setdefault("decompress with its check", []).append(between(events[0], events[1]))
        times.setdefault("inflate alone", []).append(between(events[2], events[3]))
    return {name: round(median(values[2:]), 3) for name, values in times.items()}


def nvcomp_alone(path: Path) -> float | None:
    """Milliseconds that nvCOMP's DEFLATE takes for the same tiles, device to device; None without nvCOMP."""
    if not nvcomp.is_available():
        return None
    device = parse_device("gpu")
    source = resolve(path)
    scene = source.drive(load_scene(source.open(), 0))
    image = scene.image
    with device.current():
        out = device.output((image.bands, image.height, image.width), image.dtype)
        plan, _ = plan_scene(source, scene, parse_window(image, None), out)
        with device.stream() as stream:
            fetched = fetch(plan, stream)
            tiles = decompress(plan, fetched, stream)
            lengths = plan.decoded_bytes.astype(np.uint64)
            taken = []
            for _ in range(3):
                begin, end = cupy.cuda.Event(), cupy.cuda.Event()
                begin.record(stream)
                nvcomp.decompress(
                    "deflate", fetched.address + np.uint64(2), (plan.length - 6).astype(np.uint64), tiles.address,
                    lengths, stream,
                )  # fmt: skip
                end.record(stream)
                stream.synchronize()
                taken.append(cupy.cuda.get_elapsed_time(begin, end))
    return round(median(taken), 3)


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
        "nvcomp_deflate_ms": nvcomp_alone(path), "peak_pool_bytes": pool.total_bytes(),
    }  # fmt: skip


def driver() -> str | None:
    """The version of the NVIDIA driver; None where its tool is not there."""
    command = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()[0]
    except (OSError, subprocess.CalledProcessError, IndexError):
        return None


def main() -> None:
    """Parse the arguments, and run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--repeat", type=int, default=9)
    parser.add_argument("--output", type=Path, default=RESULTS)
    arguments = parser.parse_args()
    properties = cupy.cuda.runtime.getDeviceProperties(0)
    results = {
        "schema": "virtual-cog gpu benchmark", "schema_version": 1,
        "date": datetime.now(UTC).isoformat(timespec="seconds"), "machine": machine(),
        "device": {
            "name": properties["name"].decode(), "memory_bytes": properties["totalGlobalMem"],
            "driver": driver(), "cuda_driver": cupy.cuda.runtime.driverGetVersion(),
            "cuda_runtime": cupy.cuda.runtime.runtimeGetVersion(),
        },
        "versions": versions(), "revision": revision(),
        "files": [one(path, arguments.repeat) for path in arguments.files],
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
        lines += [f"- nvCOMP DEFLATE alone: {file['nvcomp_deflate_ms']} ms", ""]
    write(place(results, "gpu", arguments.output), results, "\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
