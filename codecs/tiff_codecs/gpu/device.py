"""Which device and stream a read uses, and how much of its memory."""

from __future__ import annotations

import contextlib
import os
import re
import threading
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tiff_codecs.errors import TiffOptionError, TiffUnsupportedError
from tiff_codecs.gpu import files

if TYPE_CHECKING:
    from collections.abc import Generator

    import cupy

__all__ = ["Device", "arena", "attribute", "devices", "parse_device", "why_no_device"]

MOST_THREADS: Final = 12
"""Threads of kvikio at most: more gain nothing from a page cache, and disturb those that queue work."""


@dataclass(frozen=True, slots=True)
class Streams:
    """What one read queues its work on, while it lasts."""

    work: cupy.cuda.Stream
    arena: cupy.cuda.Stream
    """No work is queued here: see `arena`."""


_lock = threading.Lock()
_idle: dict[int, list[Streams]] = {}
"""Streams of each device that no read uses now. The last to be given back is taken first: reads one after the other, on
whatever threads, then use the same memory of CuPy's pool, which keeps what was freed by stream."""

_reading = threading.local()


@cache
def _cupy() -> Any:  # noqa: ANN401 - a module without types
    try:
        import cupy
    except ImportError:
        return None
    return cupy


@cache
def why_no_device() -> str | None:
    """Why nothing can be read on a GPU here; None where it can. Counts devices when it is first asked."""
    module = _cupy()
    if module is None:
        return "CuPy is not installed"
    try:
        return None if module.cuda.runtime.getDeviceCount() else "there is no CUDA device"
    except module.cuda.runtime.CUDARuntimeError as error:
        return str(error)


def devices() -> int:
    """Number of CUDA devices; 0 without CuPy."""
    return 0 if why_no_device() else int(_cupy().cuda.runtime.getDeviceCount())


def attribute(name: str) -> int:
    """What the current device has of something, e.g. "MultiProcessorCount"."""
    return _attributes(_cupy().cuda.runtime.getDevice())[name]


@cache
def _attributes(device: int) -> dict[str, int]:
    return _cupy().cuda.Device(device).attributes  # CuPy asks for a hundred of them at each call


@dataclass(frozen=True, slots=True)
class Device:
    """A CUDA device as readers use it. Holds numbers only, so that it can be pickled.

    Attributes:
        number: of the device; None is the caller's current one.
        memory_limit: bytes of compressed and decompressed tiles in its memory at a time; None is 4 GiB.
        strict: raise instead of decompressing on the CPU.
    """

    number: int | None = None
    memory_limit: int | None = None
    strict: bool = False

    def current(self) -> contextlib.AbstractContextManager[Any]:
        """Make the device current in this thread."""
        return _cupy().cuda.Device(self.number)

    @contextlib.contextmanager
    def stream(self) -> Generator[cupy.cuda.Stream]:
        """Give a stream that is this thread's alone meanwhile, on the current device, and make it current.

        It begins when the work is done that the caller has queued on the stream that was current, and is done itself on
        return. Memory for results must be taken outside: CuPy's pool gives freed memory back to the stream it was taken
        on, and the caller will use a result on another.
        """
        module = _cupy()
        _threads()
        callers = module.cuda.get_current_stream()
        with _borrowed(module) as streams:
            streams.work.wait_event(callers.record())
            with streams.work:
                try:
                    yield streams.work
                finally:
                    streams.work.synchronize()

    def output(self, shape: tuple[int, ...], dtype: np.dtype[Any], out: Any = None) -> cupy.ndarray:  # noqa: ANN401
        """Return memory for the result: `out` when it fits, else a new array.

        Raises:
            TiffOptionError: `out` is no device array of this shape, dtype and device.
            TiffUnsupportedError: there is not enough memory.
        """
        module = _cupy()
        number = module.cuda.runtime.getDevice()
        if out is not None:
            fits = isinstance(out, module.ndarray) and out.shape == shape and out.dtype == dtype
            if not fits or out.device.id != number:
                found = f"{out.dtype} {out.shape}" if hasattr(out, "shape") else type(out).__name__
                supported = f"a CuPy array of {dtype} {shape} on cuda:{number}"
                raise TiffOptionError("out does not fit the pixels", found=found, supported=supported)
            return out
        try:
            return module.empty(shape, dtype)
        except module.cuda.memory.OutOfMemoryError as error:
            raise TiffUnsupportedError(
                "the image is larger than the device's memory",
                found=f"{np.prod(shape, dtype=object) * dtype.itemsize} bytes",
                way_out="read it by windows",
            ) from error


def parse_device(name: str, *, memory_limit: int | None = None, strict: bool = False) -> Device:
    """Interpret the name of a device.

    Args:
        name: "gpu" or "cuda" for the current device, "cuda:1" for one by its number.
        memory_limit: see `Device`.
        strict: see `Device`.

    Raises:
        TiffOptionError: the name is none, or there is no such device.
        TiffUnsupportedError: there is no GPU here, or CuPy is not installed.
    """
    match = re.fullmatch(r"gpu|cuda(?::(\d+))?", name) if isinstance(name, str) else None  # pyright: ignore[reportUnnecessaryIsInstance]
    if match is None:
        raise TiffOptionError("unknown device", found=repr(name), supported='"cpu", "gpu", "cuda:0", "cuda:1", ...')
    if reason := why_no_device():
        raise TiffUnsupportedError(
            "no GPU to read on",
            found=reason,
            way_out='read with device="cpu", or install the extra cuda12 or cuda13 where there is an NVIDIA GPU',
        )
    number = None if match[1] is None else int(match[1])
    if number is not None and number >= devices():
        raise TiffOptionError("no such device", found=repr(name), supported=f"cuda:0 to cuda:{devices() - 1}")
    return Device(number, memory_limit, strict)


def arena() -> cupy.cuda.Stream:
    """A stream that no work is queued on, for memory that the host writes to.

    CuPy's pool keeps freed memory by stream, since work queued there may still use it. Memory taken with this stream
    current is used again only for memory taken likewise. To be asked for inside of `Device.stream`.
    """
    return _reading.streams.arena


@contextlib.contextmanager
def _borrowed(module: Any) -> Generator[Streams]:  # noqa: ANN401 - a module without types
    device: int = module.cuda.runtime.getDevice()
    with _lock:
        idle = _idle.setdefault(device, [])
        streams = idle.pop() if idle else None
    if streams is None:
        streams = Streams(module.cuda.Stream(non_blocking=True), module.cuda.Stream(non_blocking=True))
    outer: Streams | None = getattr(_reading, "streams", None)
    _reading.streams = streams
    try:
        yield streams
    finally:
        _reading.streams = outer
        with _lock:
            idle.append(streams)


@cache
def _threads() -> None:
    """Give kvikio threads, unless someone has chosen a number: it begins with one."""
    if "KVIKIO_NTHREADS" not in os.environ and files.threads() == 1:
        files.set_threads(max(1, min(MOST_THREADS, 3 * (os.cpu_count() or 1) // 4)))
