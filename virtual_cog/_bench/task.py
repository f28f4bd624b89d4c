"""What every reader of a comparison is asked for."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

type WindowTuple = tuple[int, int, int, int]


@dataclass(frozen=True, slots=True)
class Task:
    """One image of one local file, or a part of it."""

    path: Path
    """Absolute."""
    ifd: int = 0
    window: WindowTuple | None = None
    """Column, row, width and height in pixels; None is the whole image."""
    threads: int = 1
    """What "all threads" means."""

    @property
    def url(self) -> str:
        """The file as a URL."""
        return self.path.as_uri()

    def to_json(self) -> dict[str, object]:
        """The fields as JSON has them."""
        return {"path": str(self.path), "ifd": self.ifd, "window": self.window, "threads": self.threads}

    @classmethod
    def from_json(cls, fields: dict[str, Any]) -> Task:
        """Undo :meth:`to_json`."""
        window: WindowTuple | None = None
        if fields["window"] is not None:
            col, row, width, height = fields["window"]
            window = (col, row, width, height)
        return cls(Path(fields["path"]), fields["ifd"], window, fields["threads"])


def cores() -> int:
    """Number of cores this process may use."""
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity is not None else os.cpu_count() or 1
