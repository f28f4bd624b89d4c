# ruff: noqa: INP001 - scripts, not a package
"""How fast headers are parsed, and how many requests and bytes that takes.

    python benchmarks/headers.py

writes files with the tile tables of large images and next to no pixels, and times parsing them; then
turns 1,000 COGs into references, in threads and in processes.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import shutil
import sys
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

sys.path.append(str(Path(__file__).resolve().parents[1] / "tests" / "support"))

from outputs import RESULTS, place, revision, write
from rich.console import Console

import header_files
from counting import CountingStore
from virtual_cog._bench.header_readers import every_ifd
from virtual_cog._bench.machine import load
from virtual_cog._bench.plot import plot
from virtual_cog._bench.report import markdown, table
from virtual_cog._bench.results import describe_file, file_results, results
from virtual_cog._bench.suite import Options, compare
from virtual_cog._bench.task import Task, cores
from virtual_cog._parser import COGParser
from virtual_cog._registry import registry_for
from virtual_cog._scene import load_scene
from virtual_cog._source import Source

if TYPE_CHECKING:
    from collections.abc import Callable

MANY_FILES = 1000
WRITERS: dict[str, Callable[[Path], None]] = {
    "cog.tif": partial(header_files.write_cog, tile=header_files.FULL),
    "overviews_behind.tif": partial(header_files.write_overviews_behind, tile=header_files.FULL),
    "ifds_at_the_end.tif": partial(header_files.write_ifds_at_the_end, tile=header_files.FULL),
    "many_tiles.tif": header_files.write_many_tiles,
}


def header_file(name: str, cache: Path) -> Path:
    """A file with the header of a large image, from the cache or newly written."""
    path = cache / name
    if not path.is_file():
        WRITERS[name](path)
    return path


def requests(path: Path) -> dict[str, int]:
    """Count what reading all IFDs, and the main image alone, asks a store for."""
    found: dict[str, int] = {"own bytes": header_files.own_bytes(path)}
    for what, steps in (("all IFDs", every_ifd), ("main image", lambda directory: load_scene(directory, 0))):
        store = CountingStore(path.parent)
        source = Source(path.name, store, path.name)
        source.drive(steps(source.open()))
        found |= {f"requests, {what}": store.requests, f"bytes, {what}": store.bytes_read}
    return found


def reference(url: str) -> int:
    """Turn one file into references; returns the number of its arrays."""
    return len(COGParser()(url, registry_for(url))._group.arrays)  # noqa: SLF001


def many_files(source: Path, folder: Path, repeat: int, workers: int) -> dict[str, Any]:
    """Turn 1,000 copies of a file into references; in files per second, the median of some runs."""
    folder.mkdir(exist_ok=True)
    try:
        for at in range(MANY_FILES):
            shutil.copyfile(source, folder / f"{at}.tif")
        urls = [(folder / f"{at}.tif").as_uri() for at in range(MANY_FILES)]
        rates: dict[str, list[float]] = {"one thread": [], "threads": [], "processes": []}
        # a fork would copy the stores' threads in the middle of whatever they do
        context = multiprocessing.get_context("spawn")
        with ThreadPoolExecutor(workers) as threads, ProcessPoolExecutor(workers, mp_context=context) as processes:
            list(processes.map(reference, urls[:100], chunksize=10))  # they import
            for _ in range(repeat):
                for name, run in (
                    ("one thread", map),
                    ("threads", threads.map),
                    ("processes", partial(processes.map, chunksize=25)),
                ):
                    started = time.perf_counter()
                    list(run(reference, urls))
                    rates[name].append(MANY_FILES / (time.perf_counter() - started))
    finally:
        shutil.rmtree(folder)
    medians = {name: sorted(each)[len(each) // 2] for name, each in rates.items()}
    return {"files": MANY_FILES, "workers": workers, "files_per_second": medians, "samples": rates}


def run(cache: Path, output: Path, *, repeat: int = 7) -> None:
    """Time, count, and write the results."""
    options, before, files = Options(kinds=["headers"], rounds=repeat), load(), []
    console = Console(width=200, markup=False, highlight=False)
    for name in WRITERS:
        task = Task(header_file(name, cache).absolute(), threads=cores())
        counted = requests(task.path)
        files.append(
            file_results(task, describe_file(task), [compare(task, "headers", options)]) | {"requests": counted}
        )
        console.print(table(files[-1], "headers"))
        console.print(", ".join(f"{what}: {count}" for what, count in counted.items()))
    rate = many_files(header_file("cog.tif", cache), cache / f"many-{os.getpid()}", min(repeat, 5), cores())
    everything = results(files, options, before) | {"revision": revision(), "references": rate}
    lines = [f"{what}: {each:.0f} files/s" for what, each in rate["files_per_second"].items()]
    text = f"1,000 COGs to references, {rate['workers']} workers: {', '.join(lines)}."
    console.print(text)
    path = place(everything, "headers", output)
    write(path, everything, f"# Headers\n\n{markdown(everything)}\n{_requests_table(files)}\n{text}\n")
    plot(everything, path.with_name(f"{path.name}.png"))


def _requests_table(files: list[dict[str, Any]]) -> str:
    names = list(files[0]["requests"])
    text = f"### Requests and bytes\n\n| file | {' | '.join(names)} |\n| --- |{' ---: |' * len(names)}\n"
    for file in files:
        text += f"| {file['file']['name']} | {' | '.join(str(file['requests'][name]) for name in names)} |\n"
    return text


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cache", type=Path, default=Path.home() / ".cache" / "virtual-cog-benchmarks")
    parser.add_argument("--output", type=Path, default=RESULTS)
    parser.add_argument("--repeat", type=int, default=7)
    chosen = parser.parse_args()
    chosen.cache.mkdir(parents=True, exist_ok=True)
    run(chosen.cache, chosen.output, repeat=chosen.repeat)
