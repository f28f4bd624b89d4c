"""The shared test data, and what every test run agrees on.

The data (`corpus`, `cases`) lies in the folder `shared` beside the repository, or where the environment
variable VIRTUAL_COG_SHARED says. Without it the tests that need it are skipped, and fail on CI.

A test that takes `corpus_file` or `case` runs once for each file listed there.
"""

from __future__ import annotations

import functools
import importlib.util
import json
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import hypothesis
import numpy as np
import pytest

# What a terminal says of itself changes what the commands print; test workers inherit it.
for name in ("COLUMNS", "LINES", "FORCE_COLOR"):
    os.environ.pop(name, None)

ON_CI = os.environ.get("CI", "").lower() in {"1", "true"}
SHARED = Path(os.environ.get("VIRTUAL_COG_SHARED") or Path(__file__).resolve().parents[2] / "shared")

# A shared machine makes any deadline fail now and then; on CI the same examples run every time.
hypothesis.settings.register_profile("local", deadline=None)
hypothesis.settings.register_profile("ci", deadline=None, derandomize=True, print_blob=True)
hypothesis.settings.load_profile("ci" if ON_CI else "local")


@dataclass(frozen=True, slots=True)
class CorpusFile:
    """A real TIFF, and what GDAL and tifffile say of it."""

    path: Path
    entry: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Case:
    """A recreated bug report: the file, and whether it is to be read or refused."""

    path: Path
    entry: dict[str, Any]

    @property
    def is_error(self) -> bool:
        return self.entry["expect"] == "error"

    def arrays(self) -> dict[str, np.ndarray]:
        """The right pixels (`truth`) and, where there is one, the `mask`: (band, row, column).

        Empty for a case without them: one that is to be refused, or whose pixels are GDAL's own.
        """
        if "truth" not in self.entry:
            return {}
        with np.load(self.path.with_name(self.entry["truth"])) as stored:
            return dict(stored)


@functools.cache
def _corpus_files() -> tuple[CorpusFile, ...]:
    listing = SHARED / "corpus" / "manifest.json"
    entries = json.loads(listing.read_text())["files"] if listing.is_file() else []
    return tuple(CorpusFile(listing.with_name(entry["name"]), entry) for entry in entries)


@functools.cache
def _cases() -> tuple[Case, ...]:
    listing = SHARED / "cases" / "cases.json"
    entries = json.loads(listing.read_text()) if listing.is_file() else []
    return tuple(Case(listing.with_name(entry["file"]), entry) for entry in entries)


def _missing(path: Path) -> None:
    reason = f"no test data at {path}: put the folder there, or set VIRTUAL_COG_SHARED"
    if ON_CI:
        pytest.fail(reason, pytrace=False)
    pytest.skip(reason)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    for name, listed in (("corpus_file", _corpus_files), ("case", _cases)):
        if name in metafunc.fixturenames:
            samples = listed() or (None,)
            ids = [sample.path.name if sample else "missing" for sample in samples]
            metafunc.parametrize(name, samples, ids=ids, indirect=True)


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder with the shared test data."""
    if not SHARED.is_dir():
        _missing(SHARED)
    return SHARED


@pytest.fixture
def corpus_file(request) -> CorpusFile:
    """One real file after another."""
    if request.param is None:
        _missing(SHARED / "corpus")
    return request.param


@pytest.fixture
def case(request) -> Case:
    """One recreated bug report after another."""
    if request.param is None:
        _missing(SHARED / "cases")
    return request.param


@pytest.fixture(scope="session")
def corpus() -> dict[str, CorpusFile]:
    """All real files, by name."""
    if not _corpus_files():
        _missing(SHARED / "corpus")
    return {file.path.name: file for file in _corpus_files()}


@pytest.fixture(scope="session")
def cases() -> dict[str, Case]:
    """All recreated bug reports, by file name."""
    if not _cases():
        _missing(SHARED / "cases")
    return {case.path.name: case for case in _cases()}


@pytest.fixture(scope="module")
def gen(shared):
    """The generator of the matrix, which is a script beside the repository."""
    spec = importlib.util.spec_from_file_location("matrix_gen", shared / "matrix" / "gen.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules[spec.name]


@functools.cache
def _no_gpu() -> str | None:
    """Why tests marked `gpu` cannot run here, or None."""
    if importlib.util.find_spec("cupy") is None:
        return "CuPy is not installed"
    import cupy

    try:
        devices = cupy.cuda.runtime.getDeviceCount()
    except cupy.cuda.runtime.CUDARuntimeError as error:
        return str(error)
    return None if devices else "no CUDA device"


def pytest_runtest_setup(item: pytest.Item) -> None:
    if item.get_closest_marker("gpu") and (reason := _no_gpu()):
        pytest.skip(reason)
