"""The command that compares readers, and the parts it is made of."""

from __future__ import annotations

import dataclasses
import json
import sys

import numpy as np
import pytest
import rasterio

from virtual_cog._bench import suite
from virtual_cog._bench.agreement import disagreement, widen
from virtual_cog._bench.plot import plot
from virtual_cog._bench.readers import DeclinedError, Reader, all_readers, select
from virtual_cog._bench.report import markdown
from virtual_cog._bench.results import describe_file, file_results, results
from virtual_cog._bench.suite import Options, compare
from virtual_cog._bench.task import Task
from virtual_cog._bench.timing import measure
from virtual_cog._bench.trial import try_alone
from virtual_cog._cli import main

PIXELS = np.random.default_rng(3).integers(0, 255, (3, 300, 400), "u1")
STATUSES = {"timed", "missing", "declined", "failed", "differs"}
QUICK = Options(rounds=2, seconds=5)


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    path = tmp_path_factory.mktemp("bench") / "scene.tif"
    with rasterio.open(
        path, "w", driver="COG", width=400, height=300, count=3, dtype="uint8", compress="deflate", predictor=2,
        blocksize=128, crs="EPSG:32631", transform=rasterio.Affine(10, 0, 5e5, 0, -10, 4.6e6),
    ) as file:  # fmt: skip
        file.write(PIXELS)
    return path


def reader(name, call, **fields):
    return Reader(name=name, kind="pixels", prepare=lambda _task, _threads: call, **fields)


def by_name(comparison):
    return {outcome.reader.name: outcome for outcome in comparison.outcomes}


def test_command(path, tmp_path, capsys):
    written, picture = tmp_path / "out.json", tmp_path / "out.png"
    code = main([
        "bench", str(path), "--repeat", "2", "--seconds", "20", "--json", str(written), "--plot", str(picture),
        "--threads", "2",
    ])  # fmt: skip
    printed = capsys.readouterr().out
    found = json.loads(written.read_text())
    assert code == 0
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert found["schema"] == 1
    assert {"cpu", "cores", "memory bytes", "system", "python", "load"} <= set(found["machine"])
    assert {"numpy", "zarr", "virtual-cog", "(GDAL of rasterio)"} <= set(found["versions"])
    (file,) = found["files"]
    assert file["file"] | {"width": 400, "height": 300, "bands": 3, "tiles": 12, "predictor": 2} == file["file"]
    for kind in ("headers", "pixels"):
        for each in file[kind]["readers"]:
            assert each["status"] in STATUSES
            assert each["label"] in printed
            if each["status"] == "timed":
                assert len(each["samples_seconds"]) == len(each["samples_cpu_seconds"]) == 2
                assert min(each["samples_seconds"]) <= each["median_seconds"] <= max(each["samples_seconds"])
            else:
                assert each["reason"]
                assert "median_seconds" not in each
    timed = {each["label"]: each for each in file["pixels"]["readers"] if each["status"] == "timed"}
    assert {"GDAL GTiff, 1 thread", "GDAL GTiff, 2 threads", "virtual-cog read, 2 threads"} <= set(timed)
    assert {"virtual-cog Zarr, 1 thread", "tifffile, 2 threads"} <= set(timed)
    ours, gdal = timed["virtual-cog read, 2 threads"], timed["GDAL GTiff, 2 threads"]
    assert gdal["ratio"] == 1
    assert ours["ratio"] == pytest.approx(ours["median_seconds"] / gdal["median_seconds"])
    assert file["pixels"]["output_bytes"] == PIXELS.nbytes
    assert file["pixels"]["agreeing_readers"] == len(timed)


def test_missing_peers_are_named(path, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "tifffile", None)
    monkeypatch.setattr("importlib.util.find_spec", lambda _name: None)
    assert main(["bench", str(path), "--headers", "--repeat", "1"]) == 0
    printed = capsys.readouterr().out
    assert "missing: not installed: tifffile (pip install tifffile)" in printed
    assert "missing: not installed: virtual_tiff (pip install virtual-tiff)" in printed


def test_window_and_one_thread(path):
    task = Task(path, window=(100, 50, 200, 120), threads=1)
    comparison = compare(task, "pixels", QUICK)
    outcomes = by_name(comparison)
    assert comparison.output_bytes == 3 * 200 * 120
    assert outcomes["virtual-cog read"].status == outcomes["virtual-cog Zarr"].status == "timed"
    assert outcomes["virtual-cog read"].ratio is not None
    assert outcomes["tifffile"].status == "declined"
    names = [outcome.reader.name for outcome in comparison.outcomes]
    assert len(names) == len(set(names))


def test_overview(path):
    comparison = compare(Task(path, ifd=1, threads=2), "pixels", QUICK)
    assert by_name(comparison)["GDAL GTiff"].status == by_name(comparison)["virtual-cog read"].status == "timed"
    assert comparison.output_bytes == 3 * 200 * 150


def test_outcomes(path):
    def decline():
        raise DeclinedError("something else did the work")

    calls = iter(range(99))

    def late_failure():
        if next(calls) > 1:
            raise OSError("the disk is gone")
        return PIXELS

    comparison = compare(
        Task(path),
        "pixels",
        QUICK,
        readers=[
            reader("base", lambda: PIXELS, threads="one", baseline=True),
            reader("good", PIXELS.copy, threads="one", ours=True),
            reader("wrong", lambda: PIXELS + (PIXELS == 7), threads="one"),
            reader("other type", lambda: PIXELS.astype("u2"), threads="one"),
            reader("absent", PIXELS.copy, needs=("no_such_package",)),
            reader("falls back", decline),
            reader("raises", lambda: 1 / 0),
            reader("raises later", late_failure),
        ],
    )
    outcomes = by_name(comparison)
    assert {name: outcome.status for name, outcome in outcomes.items()} == {
        "base": "timed", "good": "timed", "wrong": "differs", "other type": "differs", "absent": "missing",
        "falls back": "declined", "raises": "failed", "raises later": "failed",
    }  # fmt: skip
    assert outcomes["wrong"].reason == f"{(PIXELS == 7).sum()} of {PIXELS.size} values differ"
    assert "uint16" in outcomes["other type"].reason
    assert outcomes["absent"].reason == "not installed: no_such_package (pip install no_such_package)"
    assert "ZeroDivisionError" in outcomes["raises"].reason
    assert all((outcome.timing is None) == (outcome.status != "timed") for outcome in outcomes.values())
    assert not comparison.ours_failed
    assert outcomes["good"].ratio == outcomes["good"].timing.median / outcomes["base"].timing.median


def test_failure_of_ours_is_a_failure(path, monkeypatch):
    broken = reader("broken", lambda: 1 / 0, ours=True)
    assert compare(Task(path), "pixels", QUICK, readers=[broken]).ours_failed
    monkeypatch.setattr(suite, "select", lambda _kinds, _threads: [broken])
    assert main(["bench", str(path), "--pixels"]) == 1


def test_a_reader_that_dies_is_reported(path, monkeypatch):
    ended = "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)"
    monkeypatch.setattr(sys, "executable", "/bin/sh")
    trial = try_alone(reader("dead", PIXELS.copy), Task(path))
    assert trial.reason is not None
    monkeypatch.undo()
    monkeypatch.setattr("virtual_cog._bench.trial.MODULE", ("-c", ended))
    assert try_alone(reader("dead", PIXELS.copy), Task(path)).reason == "ends its process with signal 9"


def test_trial_measures_memory(path):
    known = next(r for r in all_readers() if r.name == "virtual-cog read" and r.threads == "one")
    trial = try_alone(known, Task(path))
    assert trial.reason is None
    assert trial.output_bytes == PIXELS.nbytes
    assert trial.extra_bytes is None or trial.extra_bytes < 64 * 2**20


def test_read_takes_no_more_memory_than_it_should(tmp_path):
    # 48 MB of pixels in tiles of 3 MB: beyond the pixels at most two tiles a thread, and what malloc keeps
    path = tmp_path / "large.tif"
    with rasterio.open(
        path, "w", driver="GTiff", width=4096, height=4096, count=3, dtype="uint8", compress="deflate",
        interleave="pixel", tiled=True, blockxsize=1024, blockysize=1024, zlevel=1,
    ) as file:  # fmt: skip
        file.write(np.random.default_rng(1).integers(0, 16, (3, 4096, 4096), "u1"))
    known = next(r for r in all_readers() if r.name == "virtual-cog read" and r.threads == "all")
    trial = try_alone(known, Task(path, threads=2))
    assert trial.reason is None
    tile, slack = 3 * 2**20, 12 * 2**20
    assert trial.extra_bytes is None or trial.extra_bytes <= 2 * 2 * tile + slack


def test_rounds_are_interleaved():
    order = []
    timings = measure(
        {name: lambda name=name: order.append(name) for name in "abc"}, rounds=4, known=dict.fromkeys("abc", 9)
    )
    rounds = [order[at : at + 3] for at in range(0, 12, 3)]
    assert all(sorted(each) == list("abc") for each in rounds)
    assert len({tuple(each) for each in rounds}) > 1
    assert all(len(timing.wall) == len(timing.cpu) == 4 for timing in timings.values())


def test_time_runs_out_after_whole_rounds():
    timings = measure({name: lambda: None for name in "ab"}, rounds=50, seconds=0, known=dict.fromkeys("ab", 9))
    assert {len(timing.wall) for timing in timings.values()} == {1}


def test_short_calls_are_repeated():
    timing = measure({"short": lambda: None}, rounds=1)["short"]
    assert timing.loops > 100
    assert timing.median < 1e-3


def test_agreement():
    nan = np.full((1, 2, 2), np.nan, "f4")
    assert disagreement(nan, nan.copy()) is None
    assert disagreement(nan, -nan) == "4 of 4 values differ"
    assert disagreement(nan, nan[0]) is not None
    assert disagreement({"ifds": 3}, {"ifds": 3, "tiles": 9}) is None
    assert disagreement({"ifds": 3}, {"ifds": 4}) == "ifds: 4 instead of 3"
    assert widen({"ifds": 3}, {"ifds": 4, "tiles": 9}) == {"ifds": 3, "tiles": 9}


def test_keys_are_unique():
    keys = [(r.kind, r.key) for r in all_readers()]
    assert len(keys) == len(set(keys))
    assert all(dataclasses.is_dataclass(r) for r in all_readers())
    assert {r.name for r in select(["pixels"], 1)} == {r.name for r in select(["pixels"], 8)}


def test_markdown_and_picture_of_one_sample(path, tmp_path):
    task = Task(path, threads=2)
    options = Options(rounds=1)
    readers = [reader("a | b", lambda: PIXELS, baseline=True), reader("gone", PIXELS.copy, needs=("no_such_package",))]
    part = file_results(task, describe_file(task), [compare(task, "pixels", options, readers=readers)])
    everything = results([part], options, None)
    text = markdown(everything)
    assert "a \\| b" in text
    assert "missing: not installed" in text
    plot(everything, tmp_path / "one.png")
    assert (tmp_path / "one.png").stat().st_size > 1000


@pytest.mark.parametrize(
    "arguments",
    [
        ["none.tif"], ["--json", "out.txt"], ["--repeat", "0"], ["--json", "no/such/folder/out.json"],
        ["--device", "cuda:99"],
    ],
)  # fmt: skip
def test_bad_arguments(path, tmp_path, monkeypatch, capsys, arguments):
    monkeypatch.chdir(tmp_path)
    files = [] if arguments[0].endswith(".tif") else [str(path)]
    assert main(["bench", *files, *arguments]) != 0
    assert capsys.readouterr().err.startswith("error: ")
