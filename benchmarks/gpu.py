# ruff: noqa: INP001 - scripts, not a package
"""Pixels of large images to GPU memory: ours and others in turns, where our time goes, and many files in one call.

    python benchmarks/gpu.py TCI_like.tif B04_like.tif

Files in the page cache, results CuPy arrays, everything synchronised. Writes JSON and Markdown to
``benchmarks/results``.
"""

from __future__ import annotations

import argparse
import subprocess
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

import cupy
from outputs import RESULTS, place, revision, write

import virtual_cog
from virtual_cog._bench.gpu_readers import breakdown, nvcomp_alone
from virtual_cog._bench.machine import load
from virtual_cog._bench.report import markdown
from virtual_cog._bench.results import describe_file, file_results, results
from virtual_cog._bench.suite import Options, compare
from virtual_cog._bench.task import Task, cores


def device() -> dict[str, Any]:
    """The device and its driver."""
    properties = cupy.cuda.runtime.getDeviceProperties(0)
    return {
        "name": properties["name"].decode(), "memory_bytes": properties["totalGlobalMem"], "driver": driver(),
        "cuda_driver": cupy.cuda.runtime.driverGetVersion(), "cuda_runtime": cupy.cuda.runtime.runtimeGetVersion(),
    }  # fmt: skip


def driver() -> str | None:
    """The version of the NVIDIA driver; None where its tool is not there."""
    command = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()[0]
    except (OSError, subprocess.CalledProcessError, IndexError):
        return None


def one(path: Path, options: Options) -> dict[str, Any]:
    """Compare on one file."""
    task = Task(path.absolute(), threads=cores())
    found = file_results(task, describe_file(task), [compare(task, "gpu", options)])
    pool = cupy.get_default_memory_pool()
    pool.free_all_blocks()
    virtual_cog.read(path, device="gpu")
    found["gpu"] |= {"peak_pool_bytes": pool.total_bytes()}
    found["gpu"] |= {"breakdown_ms": breakdown(task, options.rounds), "nvcomp_ms": nvcomp_alone(task)}
    return found


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
    parser.add_argument("--copies", type=int, default=64, help="files read in one call; 0 leaves that out")
    parser.add_argument("--output", type=Path, default=RESULTS)
    arguments = parser.parse_args()
    before, options = load(), Options(kinds=("gpu",), rounds=arguments.repeat, seconds=60)
    files = [one(path, options) for path in arguments.files]
    many = [together(path, arguments.copies) for path in arguments.files] if arguments.copies else []
    everything = results(files, options, before)
    everything |= {"device": device(), "revision": revision(), "together": many}
    text = f"{everything['device']['name']}, driver {everything['device']['driver']}; {markdown(everything)}\n"
    for file in files:
        steps = ", ".join(f"{name} {value:.1f} ms" for name, value in file["gpu"]["breakdown_ms"].items())
        alone = file["gpu"]["nvcomp_ms"]
        text += f"- {file['file']['name']}, the steps of virtual-cog read one by one: {steps}"
        text += "\n" if alone is None else f"; nvCOMP alone: {alone:.0f} ms\n"
    for found in many:
        text += f"- {found['copies']} files like {found['file']} in one call: {found['gb_per_s']:.1f} GB/s of pixels\n"
    write(place(everything, "gpu", arguments.output), everything, text)


if __name__ == "__main__":
    main()
