"""JPEG on the CPU: what components mean is said by the TIFF, not guessed from the JPEG."""

from __future__ import annotations

import imagecodecs
import numpy as np
import pytest
import tifffile

import virtual_cog

rasterio = pytest.importorskip("rasterio")


@pytest.mark.parametrize("photometric", [2, 6])
@pytest.mark.filterwarnings("ignore::rasterio.errors.NotGeoreferencedWarning")
def test_components_are_those_of_gdal(tmp_path, photometric):
    path = tmp_path / "a.tif"
    y, x = np.mgrid[:64, :64]
    pixels = np.stack([2 * x, 3 * y, x + y], axis=-1).astype("u1")
    tile = imagecodecs.jpeg_encode(pixels, level=95, colorspace="RGB", outcolorspace="YCBCR", subsampling="444")
    tifffile.imwrite(path, iter([tile]), shape=(64, 64, 3), dtype="u1", tile=(64, 64), photometric="ycbcr",
                     compression="jpeg", subsampling=(1, 1))  # fmt: skip
    with tifffile.TiffFile(path, mode="r+b") as file:
        file.pages[0].tags["PhotometricInterpretation"].overwrite(photometric)
    with rasterio.open(path) as file:
        expected = file.read()
    assert (abs(expected.astype(int) - pixels.transpose(2, 0, 1)).max() < 10) == (photometric == 6)
    np.testing.assert_array_equal(virtual_cog.read(path), expected)
