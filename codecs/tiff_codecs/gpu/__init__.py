"""Reading TIFF tiles into GPU memory: kvikio, nvCOMP and kernels of our own behind zarr's codec pipeline.

Importing this package touches no device and does not import CuPy.
"""

from __future__ import annotations

from tiff_codecs.gpu.device import Device, why_no_device
from tiff_codecs.gpu.settings import Enabled, enable

__all__ = ["Device", "Enabled", "enable", "why_no_device"]
