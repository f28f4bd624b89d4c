# ruff: noqa: INP001 - scripts, not a package
"""The files that are read: two like Sentinel-2's public COGs, and each of them compressed in other ways."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import rasterio

SHARED = Path(os.environ.get("VIRTUAL_COG_SHARED") or Path(__file__).resolve().parents[2] / "shared")
ORIGINALS = {"tci": "TCI_like.tif", "b04": "B04_like.tif"}
VARIANTS = {
    "lzw": {"compress": "lzw", "predictor": 2},
    "zstd": {"compress": "zstd", "zstd_level": 9, "predictor": 2},
    "none": {},
}
"""Creation options of GDAL; all in tiles of 1024 x 1024, without overviews."""


def original(kind: str, cache: Path, given: Path | None) -> Path:
    """The file of a kind: the one given, or from the cache, or newly made (half a minute).

    Raises:
        SystemExit: it cannot be made.
    """
    if given is not None:
        return given
    path = cache / ORIGINALS[kind]
    maker = SHARED / "bench" / "make_tci.py"
    if not path.is_file():
        if not maker.is_file():
            sys.exit(f"{path} is missing, and so is {maker} that makes it: name a file with --{kind}")
        print(f"make {path}", flush=True)
        command = [sys.executable, str(maker), "--out", str(cache), "--writer", "numpy", "--only", kind]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return path


def variant(source: Path, name: str, cache: Path) -> Path:
    """The first image of ``source`` compressed in another way; from the cache when it is there."""
    path = cache / f"{source.stem}_{name}.tif"
    if path.is_file() and path.stat().st_mtime >= source.stat().st_mtime:
        return path
    print(f"make {path}", flush=True)
    partial = path.with_suffix(".partial")
    with rasterio.open(source, driver="GTiff", NUM_THREADS="ALL_CPUS") as before:
        profile = {
            key: before.profile[key] for key in ("width", "height", "count", "dtype", "crs", "transform", "nodata")
        }
        profile |= {"tiled": True, "blockxsize": 1024, "blockysize": 1024, "interleave": "pixel", **VARIANTS[name]}
        with rasterio.open(partial, "w", driver="GTiff", NUM_THREADS="ALL_CPUS", **profile) as after:
            after.write(before.read())
    partial.replace(path)
    return path
