"""The demo's proof: pixels through the repository, in a fresh process, against those of an independent reader."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast
from urllib.parse import urlsplit

import numpy as np

from tiff_codecs.errors import TiffError

if TYPE_CHECKING:
    from virtual_cog._file_info import IfdInfo

READER: Final = Path(__file__).with_name("_demo_reader.py")
CHECKED_BYTES: Final = 64 * 2**20
"""Pixels of an image up to this size are all compared; of a larger one a window that is no larger."""

READ_SECONDS: Final = 900

type Window = tuple[int, int, int, int]


@dataclass(frozen=True, slots=True)
class FreshRead:
    """What the fresh process read."""

    pixels: np.ndarray
    facts: dict[str, Any]


def window_to_check(image: IfdInfo) -> Window:
    """The whole image, or of a large one as many whole tiles around its middle as :data:`CHECKED_BYTES` hold."""
    width, height, tile_width, tile_height = _sides(image)
    if (image.pixel_bytes or 0) <= CHECKED_BYTES:
        return (0, 0, width, height)
    pixel = (image.pixel_bytes or 0) / (width * height)
    side = (CHECKED_BYTES / pixel) ** 0.5
    columns = min(width, max(1, int(side / tile_width)) * tile_width)
    rows = min(height, max(1, int(CHECKED_BYTES / pixel / columns / tile_height)) * tile_height)
    col = (width - columns) // 2 // tile_width * tile_width
    row = (height - rows) // 2 // tile_height * tile_height
    return (col, row, columns, rows)


def _sides(image: IfdInfo) -> tuple[int, int, int, int]:
    return (image.width or 1, image.height or 1, image.tile_width or 1, image.tile_height or 1)


def read_in_fresh_process(code: str, window: Window, folder: Path) -> FreshRead:
    """Read through the repository with Zarr, Icechunk and xarray alone.

    Args:
        code: opens the repository as ``store`` and ``dataset``.
        window: column, row, width and height.
        folder: for the pixels on their way here; the file is removed again.

    Raises:
        TiffError: the process failed; says why.
    """
    output = folder / "fresh.npy"
    request = {"code": code, "window": window, "output": str(output)}
    done = subprocess.run(  # noqa: S603 - this interpreter, on our own script
        [sys.executable, "-P", str(READER)],
        input=json.dumps(request),
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
        timeout=READ_SECONDS,
        env={"ICECHUNK_LOG": "error", **os.environ, "PYTHONIOENCODING": "utf-8"},
    )
    try:
        if done.returncode:
            lines = [line for line in done.stderr.splitlines() if line.strip()]
            unknown = "UnknownCodecError" in done.stderr
            raise TiffError(
                "a process without virtual_cog cannot read the repository",
                found=next((line for line in reversed(lines) if "Error" in line), lines[-1] if lines else "no message"),
                way_out="install virtual-cog, so that Zarr finds its codecs: pip install ." if unknown else None,
            )
        return FreshRead(np.load(output), json.loads(done.stdout))
    finally:
        output.unlink(missing_ok=True)


def read_with_rasterio(url: str, window: Window) -> np.ndarray:
    """Read the same window with GDAL, its side files left out.

    Raises:
        rasterio.errors.RasterioError: GDAL does not read the file.
    """
    import rasterio
    from rasterio.windows import Window as RasterioWindow

    parts = urlsplit(url)
    name = url.removeprefix("file://") if parts.scheme == "file" else url
    col, row, width, height = window
    part: Any = RasterioWindow.from_slices((row, row + height), (col, col + width))
    gdal: Any = cast("Any", rasterio)
    with gdal.Env(GDAL_PAM_ENABLED=False, GDAL_DISABLE_READDIR_ON_OPEN="EMPTY_DIR"), gdal.open(name) as source:
        return source.read(window=part)


def count_differences(ours: np.ndarray, theirs: np.ndarray) -> int:
    """How many values differ in a single bit; all of them when shapes or types do."""
    if ours.shape != theirs.shape or ours.dtype != theirs.dtype:
        return ours.size
    size = ours.dtype.itemsize
    pair = [np.ascontiguousarray(pixels).view(np.uint8).reshape(-1, size) for pixels in (ours, theirs)]
    return int((pair[0] != pair[1]).any(axis=1).sum())
