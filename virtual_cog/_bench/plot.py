"""The samples of comparisons as a picture: a violin for each reader."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from virtual_cog._bench.report import TITLES, seconds_text, title

if TYPE_CHECKING:
    from pathlib import Path

    from matplotlib.axes import Axes

OURS: Final = "#1f6f8b"
THEIRS: Final = "#b0b0b0"
LOG_SPAN: Final = 8
"""Largest over smallest median from which on the axis is logarithmic."""


def plot(results: dict[str, Any], path: Path) -> None:
    """Draw all samples of all files and kinds, one row of axes each.

    Args:
        results: as `results` makes them.
        path: of the PNG; it is replaced.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    parts = [
        (title(file, kind), timed)
        for file in results["files"]
        for kind in TITLES
        if kind in file and (timed := [r for r in file[kind]["readers"] if r["status"] == "timed"])
    ]
    heights = [1.0 + 0.38 * len(timed) for _, timed in parts] or [1.0]
    figure = Figure(figsize=(10, sum(heights) + 0.4), layout="constrained")
    FigureCanvasAgg(figure)
    every: Any = figure.subplots(max(1, len(parts)), 1, squeeze=False, height_ratios=heights)
    for (heading, timed), (axes,) in zip(parts, every, strict=False):
        _violins(axes, timed)
        axes.set_title(heading, loc="left", fontsize=10)
    machine = results["machine"]
    figure.supxlabel(f"{machine['cpu']}, {machine['cores available']} cores; {results['date'][:10]}", fontsize=8)
    figure.savefig(path, dpi=120, format="png")


def _violins(axes: Axes, timed: list[dict[str, Any]]) -> None:
    samples = [[1000 * sample for sample in reader["samples_seconds"]] for reader in timed]
    places = list(range(len(timed), 0, -1))
    medians = [1000 * reader["median_seconds"] for reader in timed]
    if max(medians) > LOG_SPAN * min(medians):
        axes.set_xscale("log")
    else:
        axes.set_xlim(0, 1.05 * max(map(max, samples)))
    # a violin needs samples that differ
    drawn = [at for at, values in enumerate(samples) if len(set(values)) > 1]
    if drawn:
        parts: Any = axes.violinplot(
            [samples[at] for at in drawn], [places[at] for at in drawn], orientation="horizontal", widths=0.8,
            showextrema=False,
        )  # fmt: skip
        for body, at in zip(parts["bodies"], drawn, strict=True):
            body.set_facecolor(OURS if timed[at]["ours"] else THEIRS)
            body.set_alpha(0.6)
    for values, place, median, reader in zip(samples, places, medians, timed, strict=True):
        colour = OURS if reader["ours"] else "#555555"
        axes.plot(values, [place] * len(values), "|", color=colour, markersize=5)
        axes.plot([median], [place], "o", color=colour, markersize=5)
        ratio = "" if reader["ratio"] is None else f"  {reader['ratio']:.2f}x"
        axes.annotate(
            f"{seconds_text(median / 1000)}{ratio}",
            (median, place),
            (0, 9),
            textcoords="offset points",
            fontsize=7,
            ha="center",
        )
    axes.set_yticks(places, [reader["label"] for reader in timed], fontsize=8)
    axes.set_ylim(0.3, len(timed) + 0.8)
    axes.set_xlabel("milliseconds", fontsize=8)
    axes.tick_params(axis="x", labelsize=8)
    axes.grid(axis="x", which="both", alpha=0.2)
