"""``virtual-cog bench``: this library against others, on files of the user's own."""

from __future__ import annotations

import json as json_format
from pathlib import Path  # noqa: TC003 - cyclopts resolves annotations
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from tiff_codecs.errors import TiffAccessError, TiffOptionError
from virtual_cog._cli._output import console, need, progress
from virtual_cog._cli.read import _to_window  # pyright: ignore[reportPrivateUsage]

if TYPE_CHECKING:
    from virtual_cog._bench.readers import Kind
    from virtual_cog._bench.suite import Options
    from virtual_cog._bench.task import Task


def _suffix(wanted: str) -> Any:  # noqa: ANN401
    def check(_: Any, path: Path | None) -> None:  # noqa: ANN401
        if path is not None and path.suffix != wanted:
            message = f'"{path}" is not a {wanted} file'
            raise ValueError(message)

    return check


def _positive(_: Any, value: float | None) -> None:  # noqa: ANN401
    if value is not None and not value > 0:
        message = f'"{value}" is not a positive number'
        raise ValueError(message)


def bench(
    *files: Annotated[Path, Parameter(required=True)],
    ifd: Annotated[int, Parameter(metavar="N")] = 0,
    window: Annotated[
        tuple[int, int, int, int] | None,
        Parameter(
            converter=_to_window, n_tokens=1, metavar="COL,ROW,WIDTH,HEIGHT", allow_leading_hyphen=True, negative=()
        ),
    ] = None,
    headers: Annotated[bool, Parameter(negative=(), show_default=False)] = False,
    pixels: Annotated[bool, Parameter(negative=(), show_default=False)] = False,
    repeat: Annotated[int, Parameter(metavar="N", validator=_positive)] = 7,
    seconds: Annotated[float, Parameter(metavar="S", validator=_positive)] = 120.0,
    threads: Annotated[int | None, Parameter(metavar="N", validator=_positive)] = None,
    device: Annotated[str, Parameter(metavar="NAME")] = "cpu",
    memory: Annotated[bool, Parameter(negative=(), show_default=False)] = False,
    json: Annotated[Path | None, Parameter(metavar="OUT.json", validator=_suffix(".json"))] = None,
    plot: Annotated[Path | None, Parameter(metavar="OUT.png", validator=_suffix(".png"))] = None,
) -> int:
    """Compare how fast this and other libraries read your files.

    Readers take turns on a file in the page cache. Of those not installed, or with other pixels, it says so.

    Args:
        files: Local paths.
        ifd: Index of the image in each file; "virtual-cog info" lists them.
        window: Read a part, in pixels.
        headers: Compare the reading of IFDs alone. Without --headers and --pixels both are compared.
        pixels: Compare the reading of pixels alone.
        repeat: Rounds, in each of which every reader has its turn.
        seconds: After so many seconds a file's headers or pixels get no further round.
        threads: What "all threads" means; by default the number of cores.
        device: gpu compares readers to GPU memory instead.
        memory: Let every reader read once in a process of its own, and tell its memory beyond the pixels.
        json: Write all samples, with the machine and all versions, to this file.
        plot: Draw them (needs matplotlib).
    """
    from virtual_cog._bench.machine import load
    from virtual_cog._bench.plot import plot as draw
    from virtual_cog._bench.report import table
    from virtual_cog._bench.results import results
    from virtual_cog._bench.suite import Options
    from virtual_cog._bench.task import Task, cores

    if plot is not None:
        need("matplotlib")
    for output in (json, plot):
        if output is not None and not output.absolute().parent.is_dir():
            raise TiffOptionError("the output cannot be written", url=str(output), found="no such folder")
    options = Options(
        kinds=_kinds(device, headers=headers, pixels=pixels), rounds=repeat, seconds=seconds, memory=memory
    )
    tasks = [Task(path.absolute(), ifd, window, threads or cores()) for path in files]
    before, out, reports, failed = load(), console(), list[dict[str, Any]](), False
    for task in tasks:
        report, wrong = _one_file(task, options)
        reports.append(report)
        failed = failed or wrong
        for kind in options.kinds:
            out.print(table(report, kind))
            if steps := report[kind].get("breakdown_ms"):
                parts = ", ".join(f"{name} {value:.1f} ms" for name, value in steps.items())
                out.print(f"virtual-cog read, its steps one by one: {parts}")
    everything = results(reports, options, before)
    if json is not None:
        _write(json, f"{json_format.dumps(everything, indent=1)}\n")
        out.print(f"wrote {json}")
    if plot is not None:
        draw(everything, plot)
        out.print(f"wrote {plot}")
    return int(failed)


def _kinds(device: str, *, headers: bool, pixels: bool) -> list[Kind]:
    if device != "cpu":
        from tiff_codecs.gpu.device import parse_device

        parse_device(device)  # says why there is none
        return ["gpu"]
    if headers == pixels:
        return ["headers", "pixels"]
    return ["headers"] if headers else ["pixels"]


def _one_file(task: Task, options: Options) -> tuple[dict[str, Any], bool]:
    """Compare readers on one file; returns the results, and whether one of ours did not make it."""
    from virtual_cog._bench.results import describe_file, file_results
    from virtual_cog._bench.suite import compare

    facts = describe_file(task)
    comparisons = list[Any]()
    with progress(f"compare readers of {task.path.name}", float(len(options.kinds))) as advance:
        for kind in options.kinds:
            comparisons.append(compare(task, kind, options, advance))
    wrong = any(comparison.ours_failed for comparison in comparisons)
    found = file_results(task, facts, comparisons)
    if "gpu" in found:
        from virtual_cog._bench.gpu_readers import breakdown

        found["gpu"]["breakdown_ms"] = breakdown(task)
    return found, wrong


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise TiffAccessError(
            "the output cannot be written", url=str(path), found=error.strerror or str(error)
        ) from error
