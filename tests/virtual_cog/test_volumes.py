"""Volumes (ImageDepth, TileDepth), which tifffile writes, read back in every way."""

from __future__ import annotations

import math
import subprocess
import sys
import warnings

import numpy as np
import pytest
import tifffile
import xarray as xr
import zarr

import virtual_cog
from rawtiff import RawTiff, grey
from tiff_codecs import cpu
from tiff_codecs.errors import TiffFormatError, TiffUnsupportedError

pytestmark = pytest.mark.filterwarnings("ignore::zarr.errors.ZarrUserWarning")

SHAPE = (10, 70, 90)
FORMS = {
    "plain tiles": {"tile": (4, 32, 48)},
    "deflate": {"tile": (4, 32, 48), "compression": "zlib"},
    "predictor": {"tile": (4, 32, 48), "compression": "lzw", "predictor": 2},
    "one slice a tile": {"tile": (1, 32, 48), "compression": "zstd"},
    "strips": {"rowsperstrip": 12},
    "deflated strips": {"rowsperstrip": 12, "compression": "zlib"},
}
"""Tiles that reach over the edge of the image on every axis, and strips with a short last one in each slice."""


def opened(path) -> zarr.Array:
    return zarr.open_group(virtual_cog.open_store(path), mode="r")["band_data"]


def write(path, pixels, *, planar=False, **options):
    """A volume of shape (bands, depth, height, width)."""
    bands = len(pixels)
    stored, config = pixels[0], {"photometric": "minisblack"}
    if bands > 1:
        stored = pixels if planar else pixels.transpose(1, 2, 3, 0)
        config = {"photometric": "rgb", "planarconfig": "separate" if planar else "contig"}
    tifffile.imwrite(path, stored, volumetric=True, metadata=None, **config, **options)
    with tifffile.TiffFile(path) as file:
        assert len(file.pages) == 1
        assert file.pages.first.imagedepth == pixels.shape[1]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("layout", ["one band", "interleaved", "planar"])
@pytest.mark.parametrize("dtype", ["<u1", ">u2", "<f4"])
def test_volumes(tmp_path, form, layout, dtype):
    if dtype == "<f4" and form == "predictor":
        pytest.skip("tifffile writes predictor 2 for integers alone")
    bands = 1 if layout == "one band" else 3
    pixels = np.random.default_rng(1).integers(0, 250, (bands, *SHAPE)).astype(dtype[1:])
    path = tmp_path / "a.tif"
    write(path, pixels, planar=layout == "planar", byteorder=dtype[0], **FORMS[form])
    read = virtual_cog.read(path)
    assert read.dtype == pixels.dtype
    np.testing.assert_array_equal(read, pixels)
    np.testing.assert_array_equal(virtual_cog.read(path, window=(11, 20, 50, 33)), pixels[..., 20:53, 11:61])
    tile = FORMS[form].get("tile", (1, 12, 90))
    assert opened(path).chunks == (bands if layout == "interleaved" else 1, *tile)
    np.testing.assert_array_equal(opened(path)[...], pixels)
    with cpu.enable(), warnings.catch_warnings(action="error"):
        np.testing.assert_array_equal(opened(path)[...], pixels)
        np.testing.assert_array_equal(opened(path)[0, 3:9:2, 5, 7:60], pixels[0, 3:9:2, 5, 7:60])


def test_dimensions(tmp_path):
    pixels = np.arange(math.prod(SHAPE), dtype="u2").reshape(1, *SHAPE)
    write(tmp_path / "a.tif", pixels, tile=(4, 32, 48))
    with xr.open_zarr(virtual_cog.open_store(tmp_path / "a.tif"), consolidated=False) as ds:
        assert ds["band_data"].dims == ("band", "z", "y", "x")
        np.testing.assert_array_equal(ds["band_data"].sel(band=1).isel(z=slice(2, 7)), pixels[0, 2:7])


def test_missing_tiles(tmp_path):
    """Some tiles of a volume in TileDepth 16 are not there, and read as nodata."""
    file = RawTiff()
    tile = np.arange(16**3, dtype="u2").astype("u1").reshape(16, 16, 16)
    at = file.block(tile.tobytes())
    side = (3, [16])
    places = {"t324": (4, [0, at, 0, 0]), "t325": (4, [0, 4096, 0, 0]), "t273": None, "t278": None, "t279": None}
    volume = {"t322": side, "t323": side, "t32997": (4, [20]), "t32998": (4, [16]), "t42113": (2, b"7\0")}
    file.ifd(grey(32, 16, **places, **volume))
    (tmp_path / "a.tif").write_bytes(file.bytes())
    expected = np.full((1, 20, 16, 32), 7, "u1")
    expected[0, :16, :, 16:] = tile
    np.testing.assert_array_equal(virtual_cog.read(tmp_path / "a.tif"), expected)
    np.testing.assert_array_equal(opened(tmp_path / "a.tif")[...], expected)
    with cpu.enable():
        np.testing.assert_array_equal(opened(tmp_path / "a.tif")[...], expected)


def test_what_is_refused(tmp_path):
    path = tmp_path / "a.tif"
    file = RawTiff()
    at = file.block(bytes(64))
    tags = {"t273": (4, [at, at]), "t279": (4, [16, 16]), "t32997": (4, [2])}
    file.ifd(grey(4, 4, t259=(3, [34887]), **tags))
    path.write_bytes(file.bytes())
    for read in (virtual_cog.read, virtual_cog.open_store):
        with pytest.raises(TiffUnsupportedError, match="volume") as caught:
            read(path)
        assert caught.value.way_out
    file = RawTiff()
    file.ifd(grey(4, 4, t32997=(4, [2**32 - 1])))
    path.write_bytes(file.bytes())
    with pytest.raises(TiffFormatError, match="too short"):
        virtual_cog.read(path)


def test_info_tells_of_their_depth(tmp_path):
    pixels = np.zeros((3, *SHAPE), "u2")
    write(tmp_path / "a.tif", pixels, rowsperstrip=10)
    (ifd,) = virtual_cog.describe(tmp_path / "a.tif").ifds
    assert (ifd.depth, ifd.bands, ifd.tile_count) == (10, 3, 70)
    assert ifd.pixel_bytes == ifd.stored_bytes == pixels.nbytes


def test_the_command_writes_them(tmp_path):
    pixels = np.random.default_rng(1).integers(0, 250, (1, *SHAPE), "u1")
    write(tmp_path / "a.tif", pixels, **FORMS["deflate"])
    command = [sys.executable, "-m", "virtual_cog", "read", str(tmp_path / "a.tif"), "-o", str(tmp_path / "a.npy")]
    subprocess.run(command, check=True, capture_output=True)
    np.testing.assert_array_equal(np.load(tmp_path / "a.npy"), pixels)
