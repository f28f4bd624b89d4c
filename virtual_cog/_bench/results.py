"""The results of comparisons as JSON."""

from __future__ import annotations

import statistics
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from virtual_cog._bench.machine import load, machine, versions
from virtual_cog._registry import resolve
from virtual_cog._scene import load_scene

if TYPE_CHECKING:
    from collections.abc import Sequence

    from virtual_cog._bench.suite import Comparison, Options, Outcome
    from virtual_cog._bench.task import Task

SCHEMA: Final = 1
"""Version of the JSON; it grows when a key changes its meaning or goes away."""

NOTE: Final = (
    "Readers take turns, in another order in every round; outputs are newly allocated; the file is in the page cache. "
    "Seconds are wall time of one call, cpu_seconds user and system time of all threads. Ratios are of medians, to the "
    "baseline with the same number of threads."
)


def describe_file(task: Task) -> dict[str, Any]:
    """Facts of the file and the image that is read.

    Raises:
        TiffError: our own parser does not read it; says why.
    """
    source = resolve(task.path)
    scene = source.drive(load_scene(source.open(), task.ifd))
    image, stored = scene.image, scene.tiles.counts
    return {
        "name": task.path.name,
        "bytes": task.path.stat().st_size,
        "ifd": task.ifd,
        "window": task.window,
        "width": image.width,
        "height": image.height,
        "bands": image.bands,
        "bits per sample": list(image.bits_per_sample),
        "compression": image.compression,
        "predictor": image.predictor,
        "planar": image.planar,
        "tiled": image.tiled,
        "tile width": image.tile_width,
        "tile height": image.tile_height,
        "tiles": int(stored.size),
        "stored bytes": int(stored.sum()),
    }


def file_results(task: Task, facts: dict[str, Any], comparisons: Sequence[Comparison]) -> dict[str, Any]:
    """The part of the results that is one file's."""
    return {"file": facts, "threads": task.threads} | {
        comparison.kind: {
            "output_bytes": comparison.output_bytes,
            "agreeing_readers": comparison.agreed,
            "readers": [outcome_results(outcome, task.threads) for outcome in comparison.outcomes],
        }
        for comparison in comparisons
    }


def outcome_results(outcome: Outcome, threads: int) -> dict[str, Any]:
    """The part of the results that is one reader's."""
    reader, timing = outcome.reader, outcome.timing
    found: dict[str, Any] = {
        "name": reader.name,
        "label": reader.label(threads),
        "ours": reader.ours,
        "baseline": reader.baseline,
        "scope": reader.scope or None,
        "threads": None if reader.threads is None else reader.count(threads),
        "device": reader.device,
        "uploads": reader.uploads,
        "status": outcome.status,
        "reason": outcome.reason,
    }
    if reader.kind == "pixels" and outcome.trial is not None and outcome.trial.extra_bytes is not None:
        found["memory_beyond_output_bytes"] = outcome.trial.extra_bytes
    if timing is not None:
        first, third = timing.quartiles
        found |= {
            "median_seconds": timing.median,
            "minimum_seconds": min(timing.wall),
            "quartiles_seconds": [first, third],
            "median_cpu_seconds": statistics.median(timing.cpu),
            "ratio": outcome.ratio,
            "calls_per_sample": timing.loops,
            "samples_seconds": timing.wall,
            "samples_cpu_seconds": timing.cpu,
        }
    return found


def results(files: Sequence[dict[str, Any]], options: Options, load_before: float | None) -> dict[str, Any]:
    """All results: the files', and what they depend on."""
    return {
        "schema": SCHEMA,
        "tool": "virtual-cog bench",
        "note": NOTE,
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": machine() | {"load": [load_before, load()]},
        "versions": versions(),
        "settings": {"rounds": options.rounds, "seconds": options.seconds, "memory": options.memory},
        "files": list(files),
    }
