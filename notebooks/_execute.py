# ruff: noqa: INP001 - scripts, not a package
"""Run the notebooks in a fresh kernel, and keep what they print and draw.

    python notebooks/_execute.py notebooks/*.ipynb

What tells of the machine or the moment (paths of temporary folders, times, versions) is left out, so that running a
notebook again changes it as little as may be.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import nbformat
from nbclient import NotebookClient

if TYPE_CHECKING:
    from collections.abc import Sequence

TEMPORARY: Final = re.compile(rf"{re.escape(tempfile.gettempdir())}/virtual-cog-notebook-\w+")
"""The folders that notebooks work in."""

HOME: Final = "/home/you/scenes"
"""What stands in their place."""

SECONDS: Final = 120
"""More than any cell takes."""

METADATA: Final[dict[str, Any]] = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}


def execute(path: Path) -> nbformat.NotebookNode:
    """Run all cells of a notebook; returns it with what they gave.

    Raises:
        nbclient.exceptions.CellExecutionError: a cell raised an error.
    """
    notebook: Any = nbformat.read(path, as_version=4)
    client = NotebookClient(notebook, timeout=SECONDS, kernel_name="python3", coalesce_streams=True)
    tools = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    client.execute(env={**os.environ, "PATH": tools, "NO_COLOR": "1"})
    return notebook


def cleaned(notebook: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """The same without what differs from run to run."""
    notebook: Any = nbformat.reads(TEMPORARY.sub(HOME, nbformat.writes(notebook)), as_version=4)
    notebook.metadata = nbformat.from_dict(METADATA)
    for number, cell in enumerate(notebook.cells):
        cell.id = f"cell-{number:02}"
        cell.metadata = nbformat.from_dict({})
    return notebook


def main(arguments: Sequence[str] | None = None) -> int:
    """Run notebooks, and write them; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("notebooks", nargs="+", type=Path)
    for path in parser.parse_args(arguments).notebooks:
        nbformat.write(cleaned(execute(path)), path)
    return 0


if __name__ == "__main__":
    sys.exit(main())
