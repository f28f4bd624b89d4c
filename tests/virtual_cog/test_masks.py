"""Masks beside the images they mask, and what is left out of a pyramid."""

from __future__ import annotations

import numpy as np
import pytest
import rasterio
import xarray as xr

import virtual_cog
from pyramids import MASK, REDUCED, REDUCED_MASK, check_levels, first_pixels, pyramid, raw_page, write
from rawtiff import RawTiff, grey
from tiff_codecs.errors import TiffFormatError, TiffUnsupportedError, TiffWarning

pytestmark = pytest.mark.filterwarnings(
    "ignore::zarr.errors.ZarrUserWarning",
    "ignore::zarr.errors.UnstableSpecificationWarning",
)


def test_masks_of_every_kind(tmp_path):
    pixels = np.random.default_rng(8).integers(1, 255, (3, 300, 260), "u1")
    mask = np.zeros((300, 260), bool)
    mask[40:200, 30:150] = True
    for options in ({"driver": "COG"}, {"overviews": [2, 4]}, {"overviews": [2], "interleave": "band"}):
        path = write(tmp_path / "a.tif", pixels, mask=mask, **options)
        assert check_levels(path) > 1
        level = pyramid(path)["0"].to_dataset()
        assert level["mask"].rio.crs == rasterio.crs.CRS.from_epsg(32631)
        assert level["mask"].attrs["flag_meanings"].split() == ["masked", "valid"]
        shown = level["band_data"].where(level["mask"] == 1, 0)
        np.testing.assert_array_equal(shown, np.where(mask, pixels, 0))


def test_the_masks_of_an_image_without_overviews(tmp_path):
    mask = np.tri(90, 80, dtype=bool)
    path = write(tmp_path / "a.tif", np.ones((2, 90, 80), "u2"), mask=mask)
    assert check_levels(path) == 1
    store = virtual_cog.open_store(path)
    assert set(store._group.arrays) == {"band_data", "band", "x", "y", "spatial_ref"}, "the plain layout has none"


def test_a_mask_does_not_take_the_nodata_of_its_image(tmp_path):
    """Missing tiles of a mask are 0: masked."""
    file = RawTiff()
    file.ifd(grey(4, 4, offset=file.block(bytes(16)), t42113=(2, b"7\0")))
    bits = {"t254": MASK, "t258": (3, [1]), "t262": (3, [4])}
    file.ifd(grey(4, 4, offset=0, count=0, **bits))
    path = tmp_path / "a.tif"
    path.write_bytes(file.bytes())
    level = pyramid(path)["0"]
    assert not level["mask"].any()
    assert level["band_data"].attrs["_FillValue"] == 7
    assert "_FillValue" not in level["mask"].attrs
    assert not virtual_cog.read(path, ifd=1).any()


def test_a_mask_for_each_band(tmp_path):
    file = RawTiff()
    rgb = {"t258": (3, [8, 8, 8]), "t262": (3, [2]), "t277": (3, [3])}
    file.ifd(grey(8, 2, offset=file.block(bytes(range(48))), count=48, **rgb))
    bits = {"t254": MASK, "t262": (3, [4]), "t277": (3, [3]), "t284": (3, [2]), "t258": (3, [1, 1, 1])}
    offsets = [file.block(bytes([n, 255 - n])) for n in (1, 2, 4)]
    strips = {"t273": (4, offsets), "t279": (4, [2, 2, 2])}
    file.ifd(grey(8, 2, **bits, **strips))
    path = tmp_path / "a.tif"
    path.write_bytes(file.bytes())
    packed = np.array([[[n], [255 - n]] for n in (1, 2, 4)], "u1")
    np.testing.assert_array_equal(pyramid(path)["0"]["mask"], np.unpackbits(packed, axis=2))


def test_masks_among_sub_ifds(tmp_path):
    file = RawTiff()
    masks = [
        file.ifd(grey(8, 8, offset=file.block(b"\xf0" * 8), count=8, t254=MASK, t258=(3, [1])), chained=False),
        file.ifd(grey(4, 4, offset=file.block(b"\xc0" * 4), count=4, t254=REDUCED_MASK, t258=(3, [1])), chained=False),
    ]
    half = raw_page(file, 2, 4, 4, chained=False, t254=REDUCED, t330=(13, [masks[1]]))
    raw_page(file, 1, 8, 8, t330=(13, [half, masks[0]]))
    path = tmp_path / "a.tif"
    path.write_bytes(file.bytes())
    tree = pyramid(path)
    assert first_pixels(path) == [1, 2]
    np.testing.assert_array_equal(tree["0"]["mask"][0], np.repeat([[1, 0]], 4, axis=1).repeat(8, axis=0))
    np.testing.assert_array_equal(tree["1"]["mask"][0], np.repeat([[1, 0]], 2, axis=1).repeat(4, axis=0))


def test_what_is_not_decoded_is_left_out_by_name(tmp_path):
    """Overview n stays the group n + 1, whatever a later version decodes."""
    file = RawTiff()
    raw_page(file, 1, 16, 16)
    raw_page(file, 2, 8, 8, t254=REDUCED, t259=(3, [32767]))
    raw_page(file, 3, 4, 4, t254=REDUCED)
    raw_page(file, 4, 16, 16, t254=MASK, t259=(3, [32767]))
    raw_page(file, 5, 4, 4, t254=REDUCED_MASK)
    path = tmp_path / "a.tif"
    path.write_bytes(file.bytes())
    with pytest.warns(TiffWarning) as caught:
        tree = pyramid(path)
    messages = sorted(str(warning.message) for warning in caught)
    assert [message.split(":")[0] for message in messages] == ["a mask is left out", "overview 0 is left out"]
    assert "32767" in messages[1]
    assert list(tree.children) == ["0", "2"]
    assert "mask" not in tree["0"]
    assert tree["2"]["mask"][0, 0, 0] == 5
    layout = tree.attrs["multiscales"]["layout"]
    assert [entry["asset"] for entry in layout] == ["0", "2"]
    assert virtual_cog.read(path, overview_level=1)[0, 0, 0] == 3
    with pytest.raises(TiffUnsupportedError, match="32767"):
        virtual_cog.read(path, overview_level=0)


def test_masks_that_fit_nothing_are_left_out(tmp_path):
    file = RawTiff()
    raw_page(file, 1, 16, 16)
    raw_page(file, 2, 5, 7, t254=MASK)
    raw_page(file, 3, 32, 16, t256=(3, [16]), t277=(3, [2]), t254=MASK)
    path = tmp_path / "a.tif"
    path.write_bytes(file.bytes())
    with pytest.warns(TiffWarning) as caught:
        tree = pyramid(path)
    assert "mask" not in tree["0"]
    assert sorted(str(warning.message)[:20] for warning in caught) == ["IFD 1 is left out: a", "IFD 2 is left out: a"]


def test_an_image_that_is_not_decoded_has_no_pyramid(tmp_path):
    file = RawTiff()
    raw_page(file, 1, 16, 16, t259=(3, [32767]))
    raw_page(file, 2, 8, 8, t254=REDUCED)
    path = tmp_path / "a.tif"
    path.write_bytes(file.bytes())
    with pytest.raises(TiffUnsupportedError, match="32767"):
        virtual_cog.open_store(path, layout="pyramid")
    assert virtual_cog.read(path, overview_level=0)[0, 0, 0] == 2


def test_damage_is_refused_wherever_it_is(tmp_path):
    path = write(tmp_path / "a.tif", np.random.default_rng(8).integers(0, 255, (1, 700, 600), "u1"), overviews=[2, 4])
    path.write_bytes(path.read_bytes()[:-2000])
    assert virtual_cog.read(path).shape == (1, 700, 600)
    with pytest.raises(TiffFormatError, match="cut short"):
        virtual_cog.open_store(path, layout="pyramid")


@pytest.mark.parametrize("level", [None, 0, 1])
@pytest.mark.parametrize("driver", ["GTiff", "COG"])
def test_the_mask_beside_one_image(tmp_path, driver, level):
    """As in a pyramid: for each band, 1 where GDAL's mask is 255."""
    rows, cols = np.ogrid[:300, :260]
    mask = (rows - 150) ** 2 + (cols - 130) ** 2 < 10_000
    options = {"driver": "COG", "overview_count": 2} if driver == "COG" else {"overviews": [2, 4]}
    path = write(tmp_path / "a.tif", np.ones((3, 300, 260), "u1"), mask=mask, **options)
    with rasterio.open(path, **({} if level is None else {"overview_level": level})) as file:
        expected = file.dataset_mask(), file.read_masks()
    store = virtual_cog.open_store(path, overview_level=level, mask=True)
    with xr.open_zarr(store, consolidated=False) as ds:
        assert ds["mask"].dims == ds["band_data"].dims
        np.testing.assert_array_equal(ds["mask"][0] * np.uint8(255), expected[0])
        np.testing.assert_array_equal(ds["mask"] * np.uint8(255), expected[1])


def test_an_overview_by_its_index_has_its_mask(tmp_path):
    mask = np.tri(300, 260, dtype=bool)
    path = write(tmp_path / "a.tif", np.ones((1, 300, 260), "u1"), mask=mask, overviews=[2])
    (overview,) = (ifd.index for ifd in virtual_cog.describe(path).ifds if ifd.role == "overview")
    store = virtual_cog.open_store(path, ifd=overview, mask=True)
    with rasterio.open(path, overview_level=0) as file, xr.open_zarr(store, consolidated=False) as ds:
        np.testing.assert_array_equal(ds["mask"][0] * np.uint8(255), file.dataset_mask())


def test_an_image_without_a_mask_has_none(tmp_path):
    path = write(tmp_path / "a.tif", np.ones((1, 90, 80), "u1"))
    assert "mask" not in virtual_cog.open_store(path, mask=True)._group.arrays
