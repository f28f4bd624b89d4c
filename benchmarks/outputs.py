# ruff: noqa: INP001 - scripts, not a package
"""Where results go, and which state of the repository they are of."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

from virtual_cog._bench.machine import slug

HERE = Path(__file__).resolve().parent
RESULTS = HERE / "results"


def revision() -> str | None:
    """The commit that is measured, with a mark when files have been changed since; None without git."""
    command = ["git", "describe", "--always", "--dirty", "--abbrev=12"]
    try:
        done = subprocess.run(command, cwd=HERE, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return done.stdout.strip()


def place(results: dict[str, Any], what: str, folder: Path) -> Path:
    """The path of a result file, without its suffix: date, machine and ``what``."""
    folder.mkdir(parents=True, exist_ok=True)
    return folder / f"{results['date'][:10]}-{slug(results['machine'])}-{what}"


def write(path: Path, results: dict[str, Any], text: str) -> None:
    """Write the JSON and the Markdown of some results.

    Args:
        path: without a suffix.
        results: for the JSON.
        text: the Markdown.
    """
    # dots in a machine's name are no suffix
    target = path.with_name(f"{path.name}.json")
    target.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    path.with_name(f"{path.name}.md").write_text(text, encoding="utf-8")
    print(f"wrote {target} and .md")
