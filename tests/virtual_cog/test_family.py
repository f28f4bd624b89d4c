"""Which IFDs of a file are overviews of an image, and how one of them is chosen."""

from __future__ import annotations

import contextlib
import itertools

import numpy as np
import pytest
import rasterio
import tifffile
import xarray as xr
import zarr
from hypothesis import given
from hypothesis import strategies as st
from obspec_utils.registry import ObjectStoreRegistry
from obstore.store import MemoryStore
from rasterio.enums import Resampling

import virtual_cog
from pyramids import MASK, REDUCED, REDUCED_MASK, check_levels, first_pixels, pyramid, raw_page, write
from rawtiff import RawTiff
from tiff_codecs.errors import TiffError, TiffFormatError, TiffOptionError, TiffSelectionError
from virtual_cog import COGParser

pytestmark = pytest.mark.filterwarnings(
    "ignore::zarr.errors.ZarrUserWarning",
    "ignore::zarr.errors.UnstableSpecificationWarning",
)


@pytest.mark.parametrize(
    ("kinds", "families"),
    [
        ("I", {0: [0]}),
        ("Iooo", {0: [0, 1, 2, 3], 1: [1], 2: [2]}),
        ("IIII", {0: [0], 2: [2]}),
        ("IoIo", {0: [0, 1], 2: [2, 3]}),
        ("IoII", {0: [0, 1], 2: [2], 3: [3]}),
        ("IIoI", {0: [0], 1: [1, 2], 3: [3]}),
        ("IIIoo", {0: [0, 3, 4], 1: [1], 2: [2]}),  # as gdaladdo does it
        ("IoIIo", {0: [0, 1], 2: [2], 3: [3, 4]}),
        ("oIo", {0: [0], 1: [1, 2]}),
        ("mImo", {1: [1, 3]}),
    ],
)
def test_which_overviews_belong_to_which_image(tmp_path, kinds, families):
    file = RawTiff()
    sides = itertools.count()
    for number, kind in enumerate(kinds):
        if kind == "I":
            sides = itertools.count()
        side = 16 if kind in "Im" else 8 >> next(sides)
        raw_page(file, number, side, side, t254={"I": (4, [0]), "o": REDUCED, "m": MASK}[kind])
    path = tmp_path / "a.tif"
    path.write_bytes(file.bytes())
    assert {ifd: first_pixels(path, ifd) for ifd in families} == families
    for ifd, family in families.items():
        if kinds[ifd] != "I":
            continue
        for level, number in enumerate(family[1:]):
            assert virtual_cog.read(path, ifd=ifd, overview_level=level)[0, 0, 0] == number
        with pytest.raises(TiffSelectionError):
            virtual_cog.read(path, ifd=ifd, overview_level=len(family) - 1)


def test_pages_of_many_with_overviews_by_gdaladdo(tmp_path):
    """GDAL writes them behind the last page, and reads them as the first one's."""
    path = tmp_path / "a.tif"
    pages = np.random.default_rng(8).integers(0, 255, (3, 1, 200, 300), "u1")
    for number, page in enumerate(pages):
        write(path, page, **({"APPEND_SUBDATASET": "YES"} if number else {}))
    with rasterio.open(path, "r+") as file:
        file.build_overviews([2, 4], Resampling.nearest)
    assert check_levels(path) == 3
    assert [list(pyramid(path, ifd).children) for ifd in (1, 2)] == [["0"], ["0"]]
    with xr.open_zarr(virtual_cog.open_store(path, ifd=3), consolidated=False, decode_coords="all") as overview:
        assert overview.rio.crs.to_epsg() == 32631


@pytest.mark.parametrize(
    ("size", "bands", "counts"),
    [((150, 100), 1, True), ((149, 100), 1, True), ((151, 101), 1, True), ((1, 1), 1, True), ((3, 2), 1, True),
     ((150, 50), 1, False), ((60, 90), 1, False), ((300, 200), 1, False), ((600, 400), 1, False),
     ((300, 100), 1, False), ((150, 100), 3, False)],
)  # fmt: skip
def test_an_overview_has_the_shape_and_bands_of_its_image(tmp_path, size, bands, counts):
    """A slide scanner's label is marked as a reduced image too."""
    file = RawTiff()
    raw_page(file, 1, 300, 200)
    raw_page(file, 2, size[0] * bands, size[1], t256=(3, [size[0]]), t277=(3, [bands]), t254=REDUCED)
    path = tmp_path / "a.tif"
    path.write_bytes(file.bytes())
    assert first_pixels(path) == ([1, 2] if counts else [1])


def test_the_older_mark_counts_too(tmp_path):
    file = RawTiff()
    raw_page(file, 1, 8, 8, t255=(3, [1]))
    raw_page(file, 2, 4, 4, t255=(3, [2]))
    raw_page(file, 3, 8, 8, t255=(3, [3]))
    path = tmp_path / "a.tif"
    path.write_bytes(file.bytes())
    assert first_pixels(path) == [1, 2]


@pytest.mark.parametrize("marked", [True, False], ids=["marked", "unmarked"])
def test_sub_ifds_by_tifffile(tmp_path, marked):
    pages = np.random.default_rng(8).integers(0, 60000, (2, 300, 411), "u2")
    options = {"tile": (64, 64), "compression": "zlib", "predictor": True, "photometric": "minisblack"}
    path = tmp_path / "a.tif"
    with tifffile.TiffWriter(path, bigtiff=True) as file:
        for page in pages:
            file.write(page, subifds=3, metadata=None, **options)
            for factor in (4, 2, 8):
                file.write(page[::factor, ::factor], subfiletype=1 if marked else 0, metadata=None, **options)
    for number, page in enumerate(pages):
        tree = pyramid(path, number)
        for name, factor in (("0", 1), ("1", 2), ("2", 4), ("3", 8)):
            np.testing.assert_array_equal(tree[name]["band_data"][0], page[::factor, ::factor])
        assert len(tree.children) == 4
        got = virtual_cog.read(path, ifd=number, overview_level=2)
        np.testing.assert_array_equal(got[0], page[::8, ::8])


def test_overview_level(tmp_path):
    pixels = np.random.default_rng(8).integers(0, 255, (2, 500, 400), "u1")
    path = write(tmp_path / "a.tif", pixels, overviews=[2, 4])
    with rasterio.open(path, overview_level=1) as file:
        expected = file.read()
    np.testing.assert_array_equal(virtual_cog.read(path, overview_level=1), expected)
    window = virtual_cog.read(path, overview_level=np.int8(1), window=(5, 7, 20, 30))
    np.testing.assert_array_equal(window, expected[:, 7:37, 5:25])
    store = virtual_cog.open_store(path, overview_level=1)
    np.testing.assert_array_equal(zarr.open_group(store, mode="r")["band_data"][...], expected)
    assert COGParser(overview_level=0) != COGParser()
    for level in (2, -1):
        with pytest.raises(TiffSelectionError, match="2 overviews") as caught:
            virtual_cog.read(path, overview_level=level)
        assert caught.value.supported == "0 to 1"
        with pytest.raises(TiffSelectionError, match="2 overviews"):
            virtual_cog.open_store(path, overview_level=level)
    with pytest.raises(TiffSelectionError, match="IFD 1 is an overview"):
        virtual_cog.read(path, ifd=1, overview_level=0)
    with pytest.raises(TiffSelectionError, match="no such IFD"):
        virtual_cog.read(path, ifd=9, overview_level=0)
    with pytest.raises(TiffOptionError, match="overview level"):
        virtual_cog.read(path, overview_level="0")
    with pytest.raises(TiffSelectionError, match="0 overviews"):
        virtual_cog.read(write(tmp_path / "b.tif", pixels), overview_level=0)


def test_options_that_contradict():
    with pytest.raises(TiffOptionError, match="n \\+ 1"):
        COGParser(layout="pyramid", overview_level=0)
    with pytest.raises(TiffOptionError, match="layout"):
        COGParser(layout="tree")


def test_a_main_image_without_a_size_gives_its_overview_no_place(tmp_path):
    scale, corner = (12, [1.0, 1.0, 0.0]), (12, [0.0, 0.0, 0.0, 5.0, 5.0, 0.0])
    for height, placed in (((3, [8]), True), ((5, bytes(8), 1), False)):
        file = RawTiff()
        raw_page(file, 1, 8, 8, t257=height, t33550=scale, t33922=corner)
        raw_page(file, 2, 4, 4, t254=REDUCED)
        path = tmp_path / "a.tif"
        path.write_bytes(file.bytes())
        assert ("x" in virtual_cog.open_store(path, ifd=1)._group.arrays) is placed


def test_a_size_that_is_no_number(tmp_path):
    file = RawTiff()
    raw_page(file, 1, 8, 8, t257=(5, bytes(8), 1))
    path = tmp_path / "a.tif"
    path.write_bytes(file.bytes())
    with pytest.raises(TiffFormatError, match="no number"):
        virtual_cog.open_store(path, layout="pyramid")


def damageable() -> bytes:
    """Two pages, with overviews and masks in the chain and below."""
    file = RawTiff()
    mask = raw_page(file, 1, 4, 4, chained=False, t254=REDUCED_MASK)
    half = raw_page(file, 2, 4, 4, chained=False, t254=REDUCED, t330=(13, [mask]))
    raw_page(file, 3, 8, 8, t330=(13, [half, mask]))
    raw_page(file, 4, 2, 2, t254=REDUCED)
    raw_page(file, 5, 8, 8, t254=MASK)
    raw_page(file, 6, 8, 8)
    raw_page(file, 7, 4, 4, t255=(3, [2]))
    return file.bytes()


CONTENT = damageable()


@pytest.mark.filterwarnings("ignore::tiff_codecs.errors.TiffWarning")
@given(st.dictionaries(st.integers(4, len(CONTENT) - 1), st.integers(0, 255), max_size=6), st.integers(0, 6))
def test_damage_ends_in_our_errors(changes, index):
    content = bytearray(CONTENT)
    for at, value in changes.items():
        content[at] = value
    store = MemoryStore()
    store.put("a.tif", bytes(content))
    registry = ObjectStoreRegistry({"memory://": store})
    with contextlib.suppress(TiffError):
        virtual_cog.open_store("memory://a.tif", registry, ifd=index, layout="pyramid")
    with contextlib.suppress(TiffError):
        virtual_cog.read("memory://a.tif", registry=registry, ifd=index, overview_level=0)
