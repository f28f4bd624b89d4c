"""Switching the GPU pipeline on for zarr, and off again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import zarr

from tiff_codecs.errors import TiffUnsupportedError
from tiff_codecs.gpu.device import Device, parse_device, why_no_device

if TYPE_CHECKING:
    from types import TracebackType

__all__ = ["PIPELINE", "Enabled", "enable", "settings"]

PIPELINE: Final = "tiff_codecs.gpu.pipeline.GpuCodecPipeline"
"""zarr's name of the pipeline: the place where the class is defined."""

_current: list[Device] = [Device()]


def settings() -> Device:
    """The device and limits that the pipeline uses now."""
    return _current[-1]


@dataclass(eq=False)
class Enabled:
    """The GPU pipeline, switched on; a context manager that switches it off at the end."""

    device: Device
    _config: Any
    _on: bool = True

    def disable(self) -> None:
        """Put zarr's configuration back as it was. Doing it again does nothing."""
        if not self._on:
            return
        self._on = False
        _current.remove(self.device)
        self._config.__exit__(None, None, None)

    def __enter__(self) -> Device:
        return self.device

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.disable()


def enable(device: int | str | None = None, *, memory_limit: int | None = None, strict: bool = False) -> Enabled:
    """Let zarr read into GPU memory, through kvikio and the decoders of this package.

    Sets zarr's buffers and its codec pipeline for the whole process, as `zarr.config.enable_gpu()` does: arrays
    opened from now on give CuPy arrays. Use it as a context manager, or call `disable()` on what it returns.

    Args:
        device: number of the CUDA device, or its name ("cuda:1"); None takes the current one of the thread that reads.
        memory_limit: bytes of compressed and decompressed tiles in device memory at a time, beside the result; None is
            4 GiB.
        strict: raise where a chunk would be decoded on the CPU, instead of doing so.

    Raises:
        TiffUnsupportedError: there is no GPU here, or CuPy is not installed.
        TiffOptionError: there is no such device.
    """
    if reason := why_no_device():
        raise TiffUnsupportedError(
            "no GPU to read on", found=reason, way_out="install the extra cuda12 or cuda13 where there is an NVIDIA GPU"
        )
    name = "gpu" if device is None else f"cuda:{device}" if isinstance(device, int) else device
    chosen = parse_device(name, memory_limit=memory_limit, strict=strict)
    config = zarr.config.set(
        {
            "buffer": "zarr.buffer.gpu.Buffer",
            "ndbuffer": "zarr.buffer.gpu.NDBuffer",
            "codec_pipeline.path": PIPELINE,
        }
    )
    config.__enter__()
    if chosen.number is not None:
        _use_on_zarrs_thread(chosen.number)
    _current.append(chosen)
    return Enabled(chosen, config)


def _use_on_zarrs_thread(number: int) -> None:
    """Make a device current in the thread where zarr allocates results: CuPy's current device belongs to a thread."""
    from zarr.core.sync import sync

    async def use() -> None:
        import cupy

        cupy.cuda.Device(number).use()

    sync(use())
