"""Reads a file in every way there is on the CPU, and sees that all give the same."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import rasterio
import zarr

import virtual_cog
from tiff_codecs import cpu

if TYPE_CHECKING:
    from pathlib import Path


def read_everywhere(path: str | Path, **options) -> np.ndarray:
    """Read by `virtual_cog.read`, zarr's own pipeline and ours, whole and in windows; returns the pixels."""
    pixels = virtual_cog.read(path, **options)
    store = virtual_cog.open_store(path, **options)
    _, height, width = pixels.shape
    row, col = height // 3, width // 3
    part = np.s_[:, row : 2 * row + 1, col : 2 * col + 1]
    window = (col, row, col + 1, row + 1)
    np.testing.assert_array_equal(virtual_cog.read(path, window=window, **options), pixels[part])
    for pipeline in ("zarr.core.codec_pipeline.BatchedCodecPipeline", cpu.settings.PIPELINE):
        with zarr.config.set({"codec_pipeline.path": pipeline}):
            array = zarr.open_group(store, mode="r")["band_data"]
            assert array.dtype == pixels.dtype
            np.testing.assert_array_equal(array[...], pixels)
            np.testing.assert_array_equal(array[part], pixels[part])
    return pixels


def gdal(path: str | Path) -> np.ndarray:
    """Read by GDAL."""
    with rasterio.open(path) as file:
        return file.read()
