"""What a reader in a comparison is, and which there are."""

from __future__ import annotations

import importlib
import importlib.util
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from virtual_cog._bench.task import Task

type Kind = Literal["headers", "pixels", "gpu"]
type Threads = Literal["one", "all"]
type Call = Callable[[], Any]

PACKAGES = {
    "async_geotiff": "async-geotiff",
    "async_tiff": "async-tiff",
    "cupy": "cupy-cuda12x or cupy-cuda13x",
    "nvidia.nvimgcodec": "nvidia-nvimgcodec-cu12 or nvidia-nvimgcodec-cu13",
    "virtual_tiff": "virtual-tiff",
    "xrspatial": "xarray-spatial",
}
"""Names to install by, where they differ from those to import."""


class DeclinedError(Exception):
    """A reader does not do the task as it is meant: the reason is reported, and nothing is timed.

    Also for a reader that finds out that something else has done the work in its stead.
    """


def as_it_is(result: Any) -> Any:  # noqa: ANN401
    """Return what is given."""
    return result


@dataclass(frozen=True, slots=True, kw_only=True)
class Reader:
    """One way of reading a file.

    Attributes:
        name: unique together with ``kind`` and ``threads``.
        kind: what it reads: "headers" (IFDs, no pixels), "pixels", or "gpu" (pixels, to GPU memory).
        prepare: takes the task and a number of threads and returns the call that is timed. What a
            user does once for many files (imports, a store, an event loop) belongs here; opening the
            file, and allocating the output, belong in the call. Raises DeclinedError, now or in the call.
        scope: of headers, how much of them.
        threads: how many decode: "one", "all", or None where there is no choice.
        needs: modules it imports.
        device: where pixels are when the call returns; one on a device has synchronised by then.
        uploads: it decodes in host memory and copies to the device; both are timed.
        baseline: others are compared with it (with the same threads).
        ours: it is this library.
        risky: it has been seen to end its process: it is tried in another one first.
        inspect: from what the call returned to what is compared: pixels (bands, rows, columns) in host
            memory, or a dict of facts.
    """

    name: str
    kind: Kind
    prepare: Callable[[Task, int], Call]
    scope: str = ""
    threads: Threads | None = None
    needs: tuple[str, ...] = ()
    device: str = "cpu"
    uploads: bool = False
    baseline: bool = False
    ours: bool = False
    risky: bool = False
    inspect: Callable[[Any], Any] = as_it_is

    @property
    def key(self) -> str:
        """Names it in results."""
        return self.name if self.threads is None else f"{self.name}, {self.threads}"

    def label(self, threads: int) -> str:
        """Its name for people, when "all" is so many threads."""
        if self.threads is None:
            return self.name
        count = self.count(threads)
        return f"{self.name}, {count} thread{'s' if count > 1 else ''}"

    def count(self, threads: int) -> int:
        """How many threads it uses when "all" is so many."""
        return 1 if self.threads == "one" else threads

    def available(self) -> str | None:
        """Why it cannot be used here, or None; imports nothing."""
        missing = [name for name in self.needs if not _is_installed(name)]
        if not missing:
            return None
        packages = " ".join(PACKAGES.get(name, name) for name in missing)
        return f"not installed: {', '.join(missing)} (pip install {packages})"

    def start(self, task: Task) -> Call:
        """Prepare for ``task``.

        Raises:
            DeclinedError: it does not do such a task.
        """
        return self.prepare(task, self.count(task.threads))


def _is_installed(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except ModuleNotFoundError:  # not even the package it is a part of
        return False


def library(name: str) -> Any:  # noqa: ANN401 - a module, of which nothing is known here
    """Import a module that may not be there: the caller's reader names it in ``needs``."""
    return importlib.import_module(name)


def all_readers() -> tuple[Reader, ...]:
    """Every reader, those of headers first; in each kind the baseline comes first."""
    from virtual_cog._bench.gpu_readers import GPU_READERS
    from virtual_cog._bench.header_readers import HEADER_READERS
    from virtual_cog._bench.pixel_readers import PIXEL_READERS

    return (*HEADER_READERS, *PIXEL_READERS, *GPU_READERS)


def select(kinds: Iterable[Kind], threads: int) -> list[Reader]:
    """The readers of some kinds; when "all" is one thread, those that are there for "one" too stand for both."""
    wanted = set(kinds)
    single = {(r.kind, r.name) for r in all_readers() if r.threads == "one"}
    return [
        reader
        for reader in all_readers()
        if reader.kind in wanted
        and (threads > 1 or reader.threads != "all" or (reader.kind, reader.name) not in single)
    ]
