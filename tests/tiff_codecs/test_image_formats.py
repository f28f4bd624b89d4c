"""Tiles in WebP, LERC, JPEG XL, JPEG 2000, JPEG XR and PNG: the same pixels as those libraries and GDAL decode."""

from __future__ import annotations

import imagecodecs
import numpy as np
import pytest
import rasterio
import tifffile

from readers import gdal, read_everywhere

pytestmark = pytest.mark.filterwarnings("ignore::rasterio.errors.NotGeoreferencedWarning")
TILED = {"tiled": True, "blockxsize": 64, "blockysize": 48}
STRIPS = {"tiled": False, "blockysize": 32}
LAYOUTS = pytest.mark.parametrize("layout", [TILED, STRIPS], ids=["tiles", "strips"])


@LAYOUTS
@pytest.mark.parametrize("lossless", [True, False])
@pytest.mark.parametrize("bands", [3, 4])
def test_webp(written, noise, bands, lossless, layout):
    pixels = noise("u1", (bands, 100, 150))
    if bands == 4:
        pixels[3, :50] = 255  # a tile without an alpha channel, in strips
    options = {"WEBP_LOSSLESS": lossless, "interleave": "pixel", **layout}
    path, truth = written(pixels, compress="webp", **options)
    np.testing.assert_array_equal(read_everywhere(path), truth)


@LAYOUTS
@pytest.mark.parametrize("endianness", ["little", "big"])
@pytest.mark.parametrize("compress", ["lerc", "lerc_deflate", "lerc_zstd"])
@pytest.mark.parametrize(("dtype", "interleave"), [("u1", "pixel"), ("i2", "band"), ("u4", "pixel"), ("f8", "band")])
def test_lerc(written, noise, dtype, interleave, compress, endianness, layout):
    pixels = noise(dtype, (3, 100, 150))
    path, truth = written(pixels, compress=compress, interleave=interleave, endianness=endianness, **layout)
    np.testing.assert_array_equal(read_everywhere(path), truth)
    if (dtype, endianness) != ("f8", "big"):  # some doubles are NaN when swapped, which LERC does not keep
        np.testing.assert_array_equal(truth, pixels)


@pytest.mark.parametrize("interleave", ["pixel", "band"])
@pytest.mark.parametrize("compress", ["lerc", "lerc_zstd"])
@pytest.mark.parametrize("max_error", [0, 0.01])
def test_lerc_leaves_nan_where_nothing_was_measured(written, noise, max_error, compress, interleave):
    pixels = noise("f4", (3, 100, 150))
    pixels[:, 20:60, 30:90] = np.nan
    path, truth = written(pixels, compress=compress, interleave=interleave, MAX_Z_ERROR=max_error, **TILED)
    got = read_everywhere(path)
    np.testing.assert_array_equal(got, truth)
    np.testing.assert_array_equal(np.isnan(got), np.isnan(pixels))


def test_lerc_keeps_alpha_as_its_mask(written, noise):
    pixels = noise("u1", (4, 100, 150))
    pixels[3] = np.where(np.arange(150) < 70, 0, 255)
    path, truth = written(pixels, compress="lerc", interleave="pixel", photometric="rgb", alpha="unspecified", **TILED)
    np.testing.assert_array_equal(read_everywhere(path), truth)
    assert set(np.unique(truth[3])) == {0, 255}


FORMATS = [
    ("jpegxl", "u1", 1), ("jpegxl", "u1", 3), ("jpegxl", "u1", 4), ("jpegxl", "u2", 3), ("jpegxl", "f4", 1),
    ("jpegxl_dng", "u2", 1), ("jpeg2000", "u1", 1), ("jpeg2000", "u1", 3), ("jpeg2000", "u2", 3),
    ("aperio_jp2000_rgb", "u1", 3), ("jpegxr", "u1", 3), ("jpegxr", "u2", 1), ("png", "u1", 1), ("png", "u1", 3),
    ("png", "u2", 3), ("png", "u1", 4), ("webp", "u1", 3), ("lerc", "f4", 1),
]  # fmt: skip


@pytest.mark.parametrize("layout", [{"tile": (48, 64)}, {"rowsperstrip": 32}], ids=["tiles", "strips"])
@pytest.mark.parametrize(("compression", "dtype", "bands"), FORMATS)
def test_tifffile(tmp_path, noise, compression, dtype, bands, layout):
    path = tmp_path / "a.tif"
    pixels = noise(dtype, (100, 150, bands)[: 3 if bands > 1 else 2])
    if dtype == "f4":
        pixels = (pixels - pixels.min()) / np.ptp(pixels)
    photometric = "minisblack" if bands == 1 else "rgb"
    extra = ["unassalpha"] if bands == 4 else None
    options = {"photometric": photometric, "extrasamples": extra, "metadata": None}
    tifffile.imwrite(path, pixels, compression=compression, **options, **layout)
    truth = tifffile.imread(path).reshape(100, 150, bands).transpose(2, 0, 1)
    np.testing.assert_array_equal(read_everywhere(path), truth)


def test_formats_that_gdal_reads_too(tmp_path, noise):
    """So that the truth is not imagecodecs' alone."""
    for compression in ("webp", "lerc"):
        path = tmp_path / f"{compression}.tif"
        options = {"tile": (48, 64), "photometric": "rgb", "compression": compression, "metadata": None}
        tifffile.imwrite(path, noise("u1", (100, 150, 3)), **options)
        np.testing.assert_array_equal(read_everywhere(path), gdal(path))


def test_planar_bands_are_tiles_of_one_band(tmp_path, noise):
    path = tmp_path / "a.tif"
    pixels = noise("u2", (3, 100, 150))
    tifffile.imwrite(path, pixels, compression="jpeg2000", planarconfig="separate", photometric="rgb", tile=(48, 64))
    np.testing.assert_array_equal(read_everywhere(path), pixels)


def test_a_cog_of_jpeg_with_its_overviews(tmp_path, noise):
    path = tmp_path / "a.tif"
    pixels = noise("u1", (3, 600, 700))
    with rasterio.open(path, "w", driver="COG", width=700, height=600, count=3, dtype="uint8", compress="jpeg",
                       blocksize=256, nodata=None) as file:  # fmt: skip
        file.write(pixels)
        file.write_mask(np.arange(700)[None].repeat(600, 0) < 300)
    np.testing.assert_array_equal(read_everywhere(path), gdal(path))
    with rasterio.open(path, overview_level=0) as file:
        np.testing.assert_array_equal(read_everywhere(path, overview_level=0), file.read())


def test_jpeg_xl_in_a_container(noise):
    from tiff_codecs import JpegxlCodec

    pixels = noise("u1", (40, 50, 3))
    for container in (False, True):
        stream = imagecodecs.jpegxl_encode(pixels, lossless=True, usecontainer=container)
        got = JpegxlCodec().decode_chunk(stream, np.dtype("u1"), (3, 40, 50))
        np.testing.assert_array_equal(got, pixels.transpose(2, 0, 1))
