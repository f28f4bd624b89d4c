"""Whether an NVIDIA GPU is there, asked of its driver: no other package is needed to know."""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Final

DRIVERS: Final = ("libcuda.so.1", "nvcuda.dll")
"""The CUDA driver's library on Linux and on Windows."""

NAME_BYTES: Final = 256


@cache
def cuda_device() -> str | None:
    """Return the name of the first CUDA device, or None when there is none (or no driver for it)."""
    for name in DRIVERS:
        try:
            driver = ctypes.CDLL(name)
        except OSError:
            continue
        count, device, text = ctypes.c_int(), ctypes.c_int(), ctypes.create_string_buffer(NAME_BYTES)
        if driver.cuInit(0) or driver.cuDeviceGetCount(ctypes.byref(count)) or not count.value:
            return None
        if driver.cuDeviceGet(ctypes.byref(device), 0) or driver.cuDeviceGetName(text, NAME_BYTES, device):
            return None
        return text.value.decode("utf-8", "replace")
    return None
