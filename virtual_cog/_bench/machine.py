"""The machine and the software of a comparison: times say nothing without them."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import platform
import re
from pathlib import Path
from typing import Any

from virtual_cog._bench.readers import library
from virtual_cog._bench.task import cores


def machine() -> dict[str, Any]:
    """Describe the machine: processor, cores, memory, system; and how busy it is."""
    return {
        "cpu": _cpu(),
        "architecture": platform.machine(),
        "cores": os.cpu_count(),
        "cores available": cores(),
        "memory bytes": _memory(),
        "system": f"{platform.system()} {platform.release()}",
        "distribution": _distribution(),
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "load": load(),
    }


def load() -> float | None:
    """Processes that wanted a core in the last minute; None where the system does not say."""
    return round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None


def slug(facts: dict[str, Any]) -> str:
    """A short name of a machine for file names, e.g. ``amd-epyc-2-cores``."""
    words = re.sub(r"\(.*?\)|@.*|\bCPU\b|\bProcessor\b|\b\d+-Core\b", " ", facts["cpu"], flags=re.IGNORECASE)
    name = "-".join(re.findall(r"[a-z0-9]+", words.lower())) or facts["architecture"]
    return f"{name}-{facts['cores available']}-cores"


def versions() -> dict[str, str]:
    """Versions of all installed packages, and of GDAL."""
    found = {
        name.lower(): distribution.version
        for distribution in importlib.metadata.distributions()
        if (name := distribution.metadata["Name"])
    }
    if importlib.util.find_spec("rasterio") is not None:
        found["(GDAL of rasterio)"] = str(library("rasterio").__gdal_version__)
    return dict(sorted(found.items()))


def _cpu() -> str:
    info = Path("/proc/cpuinfo")
    if info.is_file():
        for line in info.read_text().splitlines():
            if line.startswith(("model name", "Model")):
                return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()


def _memory() -> int | None:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return None


def _distribution() -> str | None:
    try:
        return platform.freedesktop_os_release().get("PRETTY_NAME")
    except OSError:
        return None
