"""Switching the CPU pipeline on for zarr, and off again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Self

import zarr

from tiff_codecs.errors import TiffOptionError

if TYPE_CHECKING:
    from types import TracebackType

__all__ = ["PIPELINE", "Enabled", "enable"]

PIPELINE: Final = "tiff_codecs.cpu.pipeline.CpuCodecPipeline"
"""zarr's name of the pipeline: the place where the class is defined."""


@dataclass(eq=False)
class Enabled:
    """The CPU pipeline, switched on; a context manager that switches it off at the end."""

    _config: Any
    _on: bool = True

    def disable(self) -> None:
        """Put zarr's configuration back as it was. Doing it again does nothing."""
        if self._on:
            self._on = False
            self._config.__exit__(None, None, None)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.disable()


def enable(threads: int | None = None) -> Enabled:
    """Let zarr read TIFF tiles with the threads and decoders of this package.

    Sets zarr's codec pipeline for the whole process: arrays opened from now on are read by it. It gives the same
    arrays as zarr's own pipeline, sooner and in less memory, and reads all else as that does. Use it as a context
    manager, or call `disable()` on what it returns.

    Args:
        threads: how many tiles are decoded at once; None takes zarr's `codec_pipeline.max_workers`, else the number of
            cores.

    Raises:
        TiffOptionError: a bad number of threads.
    """
    options: dict[str, Any] = {"codec_pipeline.path": PIPELINE}
    if threads is not None:
        if threads < 1:
            raise TiffOptionError("bad number of threads", found=repr(threads), supported="1 or more")
        options["codec_pipeline.max_workers"] = threads
    config = zarr.config.set(options)
    config.__enter__()
    return Enabled(config)
