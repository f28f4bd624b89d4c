"""The notebooks run, in a kernel that knows only what is installed, and are kept with what they drew."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))

pytest.importorskip("ipykernel", reason="the dependency group notebooks is not installed")
nbformat = pytest.importorskip("nbformat", reason="the dependency group notebooks is not installed")


@pytest.fixture(scope="module")
def script():
    """notebooks/_execute.py, which is in no package."""
    spec = importlib.util.spec_from_file_location("notebooks_execute", ROOT / "notebooks" / "_execute.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def outputs(notebook):
    return [output for cell in notebook.cells for output in cell.get("outputs", [])]


def kinds(notebook):
    """What each output is: text, a table, a picture; of an error or of something on stderr, its text."""
    found = []
    for output in outputs(notebook):
        wrong = output.output_type == "error" or output.get("name") == "stderr"
        found.append(str(output) if wrong else sorted(output.get("data", {"stdout": ""})))
    return found


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.name)
def test_notebook_runs_and_gives_what_is_kept_with_it(path, script):
    kept, fresh = nbformat.read(path, as_version=4), script.execute(path)
    assert kinds(fresh) == kinds(kept)
    assert "the same pixels: True" in str(outputs(fresh))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.name)
def test_notebook_is_kept_small_clean_and_with_its_pictures(path, script):
    kept = nbformat.read(path, as_version=4)
    assert path.stat().st_size < 500_000
    assert any("image/png" in output.get("data", {}) for output in outputs(kept))
    assert script.cleaned(kept) == kept
