"""The pages of a file as one array, compared with tifffile's series of them."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import tifffile
import virtualizarr
import xarray as xr
import zarr
from obspec_utils.registry import ObjectStoreRegistry
from obstore.store import LocalStore

import virtual_cog
from pyramids import MASK, REDUCED, raw_page
from rawtiff import RawTiff
from tiff_codecs import cpu
from tiff_codecs.errors import TiffDataError, TiffFormatError, TiffOptionError, TiffSelectionError, TiffUnsupportedError

pytestmark = pytest.mark.filterwarnings("ignore::zarr.errors.ZarrUserWarning")


def opened(path, **options) -> zarr.Array:
    return zarr.open_group(virtual_cog.open_store(path, layout="stack", **options), mode="r")["band_data"]


def check(path, pixels, **options):
    """Read pixels of shape (pages, bands, height, width) in every way, whole and in part."""
    read = virtual_cog.read(path, layout="stack", **options)
    assert read.dtype == pixels.dtype
    np.testing.assert_array_equal(read, pixels)
    np.testing.assert_array_equal(
        virtual_cog.read(path, layout="stack", window=(3, 2, 5, 4), **options), pixels[..., 2:6, 3:8]
    )
    np.testing.assert_array_equal(opened(path, **options)[...], pixels)
    with cpu.enable(), warnings.catch_warnings(action="error"):
        array = opened(path, **options)
        np.testing.assert_array_equal(array[...], pixels)
        np.testing.assert_array_equal(array[1:3, 0, 1:5], pixels[1:3, 0, 1:5])
        np.testing.assert_array_equal(array[::2, :, 3], pixels[::2, :, 3])
    return array


def noise(*shape, dtype="u2"):
    return np.random.default_rng(1).integers(0, 250, shape).astype(dtype)


@pytest.mark.parametrize("layout", ["one band", "interleaved", "planar"])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"rowsperstrip": 7, "compression": "zlib"},
        {"tile": (16, 32), "compression": "lzw", "predictor": 2, "byteorder": ">"},
    ],
)
def test_pages_of_one_kind(tmp_path, layout, options):
    bands = 1 if layout == "one band" else 3
    pixels = noise(5, bands, 40, 50)
    stored = pixels[:, 0] if bands == 1 else pixels if layout == "planar" else pixels.transpose(0, 2, 3, 1)
    config = {} if bands == 1 else {"planarconfig": "separate" if layout == "planar" else "contig"}
    path = tmp_path / "a.tif"
    tifffile.imwrite(path, stored, photometric="rgb" if bands == 3 else "minisblack", **config, **options)
    with tifffile.TiffFile(path) as file:
        assert len(file.pages) == 5
    check(path, pixels)
    check(path, pixels[2:], ifd=2)


def test_pages_that_are_volumes(tmp_path):
    pixels = noise(3, 1, 6, 40, 50)
    with tifffile.TiffWriter(tmp_path / "a.tif") as file:
        for page in pixels:
            file.write(page[0], tile=(4, 16, 16), volumetric=True, metadata=None)
    np.testing.assert_array_equal(virtual_cog.read(tmp_path / "a.tif", layout="stack"), pixels)
    array = opened(tmp_path / "a.tif")
    assert array.metadata.dimension_names == ("page", "band", "z", "y", "x")
    np.testing.assert_array_equal(array[...], pixels)


def test_through_virtualizarr_and_xarray(tmp_path):
    pixels = noise(4, 1, 40, 50)
    path = tmp_path / "a.tif"
    tifffile.imwrite(path, pixels[:, 0], compression="zlib", photometric="minisblack")
    registry = ObjectStoreRegistry({"file://": LocalStore()})
    parser = virtual_cog.COGParser(layout="stack", ifd=1)
    with virtualizarr.open_virtual_dataset(str(path), registry=registry, parser=parser) as ds:
        assert dict(ds["band_data"].sizes) == {"page": 3, "band": 1, "y": 40, "x": 50}
    with xr.open_zarr(virtual_cog.open_store(path, layout="stack", ifd=1), consolidated=False) as ds:
        assert ds["page"].values.tolist() == [1, 2, 3]
        np.testing.assert_array_equal(ds["band_data"].sel(page=3, band=1), pixels[3, 0])


def test_overviews_masks_and_sub_ifds_are_no_pages(tmp_path):
    file = RawTiff()
    half = raw_page(file, 9, 4, 4, chained=False, t254=REDUCED)
    raw_page(file, 1, 8, 8, t330=(13, [half]))
    raw_page(file, 2, 4, 4, t254=REDUCED)
    raw_page(file, 3, 8, 8)
    raw_page(file, 4, 8, 8, t254=MASK)
    raw_page(file, 5, 8, 8)
    path = tmp_path / "a.tif"
    path.write_bytes(file.bytes())
    check(path, np.broadcast_to(np.array([1, 3, 5], "u1")[:, None, None, None], (3, 1, 8, 8)))
    group = zarr.open_group(virtual_cog.open_store(path, layout="stack"), mode="r")
    assert group["page"][...].tolist() == [0, 2, 4]
    with pytest.raises(TiffSelectionError, match="overview"):
        virtual_cog.read(path, layout="stack", ifd=1)


def test_strips_are_cut_alike_or_not_at_all(tmp_path):
    """One page has its strips behind each other, the other has not: both keep them."""
    file = RawTiff()
    strip = bytes(range(8))
    at = [file.block(strip) for _ in range(4)]
    for places in (at, at[::-1]):
        raw_page(file, 0, 4, 8, t278=(3, [2]), t273=(4, places), t279=(4, [8] * 4))
    path = tmp_path / "a.tif"
    path.write_bytes(file.bytes())
    expected = np.tile(np.arange(8, dtype="u1").reshape(2, 4), (2, 1, 4, 1))
    np.testing.assert_array_equal(virtual_cog.read(path, layout="stack"), expected)
    assert opened(path).chunks == (1, 1, 2, 4)
    np.testing.assert_array_equal(opened(path)[...], expected)


@pytest.mark.parametrize(
    ("other", "what"),
    [
        ({"shape": (40, 51)}, "shape"),
        ({"dtype": "u1"}, "data type"),
        ({"compression": "lzw"}, "codecs"),
        ({"rowsperstrip": 9}, "shape of tiles"),
        ({"extratags": [(42113, 2, 2, "7", True)]}, "nodata"),
    ],
)
def test_a_page_that_differs_is_named(tmp_path, other, what):
    path = tmp_path / "a.tif"
    with tifffile.TiffWriter(path) as file:
        for number in range(4):
            options = {"shape": (40, 50), "dtype": "u2", "compression": "zlib", "rowsperstrip": 8}
            options |= other if number == 2 else {}
            file.write(np.zeros(options.pop("shape"), options.pop("dtype")), metadata=None, **options)
    for read in (virtual_cog.read, virtual_cog.open_store):
        with pytest.raises(TiffUnsupportedError, match=f"differ in their {what} ") as caught:
            read(path, layout="stack")
        assert caught.value.ifd == 2
        assert caught.value.way_out


@pytest.mark.parametrize("shape", [(6, 40, 50), (2, 3, 40, 50), (4, 40, 50, 3)])
def test_imagej_stacks_of_one_ifd(tmp_path, shape):
    rgb = shape[-1] == 3
    pixels = noise(*shape, dtype="u1" if rgb else "u2")
    path = tmp_path / "a.tif"
    tifffile.imwrite(path, pixels, imagej=True, truncate=True, photometric="rgb" if rgb else "minisblack")
    with tifffile.TiffFile(path) as file:
        assert len(file.pages) == 1
        np.testing.assert_array_equal(file.asarray(), pixels)
    check(path, pixels.transpose(0, 3, 1, 2) if rgb else pixels.reshape(6, 1, 40, 50))
    content = path.read_bytes()
    path.write_bytes(content[: len(content) - 100])
    for read in (virtual_cog.read, virtual_cog.open_store):
        with pytest.raises(TiffFormatError, match="too short"):
            read(path, layout="stack")


def test_an_image_that_is_no_stack_is_one_page(tmp_path):
    pixels = noise(1, 1, 40, 50)
    for options in ({}, {"compression": "zlib"}):  # ImageJ's description of images that are not in the file
        tifffile.imwrite(
            tmp_path / "a.tif", pixels[0, 0], description="ImageJ=1.11a\nimages=6\n" if options else None, **options
        )
        np.testing.assert_array_equal(virtual_cog.read(tmp_path / "a.tif", layout="stack"), pixels)


def test_damage_is_told_with_its_page(tmp_path):
    path = tmp_path / "a.tif"
    tifffile.imwrite(path, noise(3, 40, 50), compression="zlib", rowsperstrip=20, photometric="minisblack")
    with tifffile.TiffFile(path) as file:
        at = file.pages[2].dataoffsets[1]
    content = bytearray(path.read_bytes())
    content[at + 2 : at + 60] = b"\xff" * 58
    path.write_bytes(content)
    with pytest.raises(TiffDataError) as caught:
        virtual_cog.read(path, layout="stack")
    assert caught.value.tile == (2, 0, 1, 0)


def test_options_that_contradict_each_other(tmp_path):
    raw = RawTiff()
    raw_page(raw, 1, 8, 8)
    (tmp_path / "a.tif").write_bytes(raw.bytes())
    for options in ({"layout": "stack", "overview_level": 0}, {"layout": "heap"}):
        for read in (virtual_cog.read, virtual_cog.open_store):
            with pytest.raises(TiffOptionError):
                read(tmp_path / "a.tif", **options)
    for layout in ("stack", "pyramid"):
        with pytest.raises(TiffOptionError, match="mask"):
            virtual_cog.open_store(tmp_path / "a.tif", layout=layout, mask=True)
