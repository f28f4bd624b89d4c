# ruff: noqa: INP001 - scripts, not a package
"""All comparisons on this machine's processor: pixels of large images, and headers.

    python benchmarks/run.py

makes what it needs in a cache folder (2.5 GB), and writes JSON, Markdown and a picture to ``benchmarks/results``.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import headers
from inputs import ORIGINALS, VARIANTS, original, variant
from outputs import RESULTS, place, revision, write
from rich.console import Console

from virtual_cog._bench.machine import load
from virtual_cog._bench.plot import plot
from virtual_cog._bench.report import markdown, table
from virtual_cog._bench.results import describe_file, file_results, results
from virtual_cog._bench.suite import Options, compare
from virtual_cog._bench.task import Task, cores


def main() -> None:
    """Parse the arguments, and run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tci", type=Path, help="8-bit RGB file, instead of the one that is made")
    parser.add_argument("--b04", type=Path, help="16-bit file, instead of the one that is made")
    parser.add_argument("--cache", type=Path, default=Path.home() / ".cache" / "virtual-cog-benchmarks")
    parser.add_argument("--output", type=Path, default=RESULTS, help="folder for the results")
    parser.add_argument("--repeat", type=int, default=7, help="rounds")
    parser.add_argument("--seconds", type=float, default=240.0, help="no further round of a file after so long")
    parser.add_argument("--threads", type=int, default=cores(), help='what "all threads" means')
    parser.add_argument("--only", choices=("pixels", "headers"))
    parser.add_argument("--variants", nargs="*", default=["deflate", *VARIANTS], choices=["deflate", *VARIANTS])
    parser.add_argument("--no-memory", action="store_true", help="do not measure memory, which takes a read more each")
    arguments = parser.parse_args()
    arguments.cache.mkdir(parents=True, exist_ok=True)
    if arguments.only != "headers":
        pixels(arguments)
    if arguments.only != "pixels":
        headers.run(arguments.cache, arguments.output, repeat=arguments.repeat)


def pixels(arguments: argparse.Namespace) -> None:
    """Compare readers of pixels on every file."""
    options = Options(
        kinds=["pixels"],
        rounds=arguments.repeat,
        seconds=arguments.seconds,
        memory=not arguments.no_memory,
    )
    before, files, console = load(), [], Console(width=200, markup=False, highlight=False)
    for kind in ORIGINALS:
        source = original(kind, arguments.cache, getattr(arguments, kind)).absolute()
        for name in arguments.variants:
            path = source if name == "deflate" else variant(source, name, arguments.cache.absolute())
            task = Task(path, threads=arguments.threads)
            files.append(file_results(task, describe_file(task), [compare(task, "pixels", options)]))
            console.print(table(files[-1], "pixels"))
    everything = results(files, options, before) | {"revision": revision()}
    path = place(everything, "cpu", arguments.output)
    write(path, everything, f"# Pixels on the CPU\n\n{markdown(everything)}")
    plot(everything, path.with_name(f"{path.name}.png"))


if __name__ == "__main__":
    main()
