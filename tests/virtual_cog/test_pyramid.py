"""An image with its overviews as a tree of groups: every level against GDAL, and the way into xarray and Icechunk."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import rasterio
import tifffile
import virtualizarr
import xarray as xr
import zarr
from obspec_utils.registry import ObjectStoreRegistry
from obstore.store import LocalStore

import virtual_cog
from httpserver import serve
from pyramids import REDUCED, check_levels, pyramid, raw_page, write
from rawtiff import RawTiff
from tiff_codecs.errors import TiffUnsupportedError
from virtual_cog import COGParser
from virtual_cog._pyramid import load_pyramid
from virtual_cog._registry import resolve

pytestmark = pytest.mark.filterwarnings(
    "ignore::zarr.errors.ZarrUserWarning",
    "ignore::zarr.errors.UnstableSpecificationWarning",
    "ignore:The LocalFileSystem storage:UserWarning",
)


@pytest.fixture
def registry():
    return ObjectStoreRegistry({"file://": LocalStore()})


@pytest.mark.parametrize(
    "options",
    [
        {"driver": "COG", "predictor": "yes", "nodata": 7},
        {"driver": "COG", "compress": "zstd", "interleave": "band"},
        {"driver": "COG", "compress": "lzw", "overview_count": 1},
        {"overviews": [2, 4, 8], "interleave": "band"},
        {"overviews": [8, 2]},
        {"overviews": [3, 5, 16], "tiled": False, "blockysize": 50, "BIGTIFF": "YES", "ENDIANNESS": "BIG"},
    ],
    ids=lambda options: "-".join(map(str, itertools.chain(*options.items()))),
)
@pytest.mark.parametrize("dtype", ["u2", "f4"])
def test_every_level_is_gdals(tmp_path, options, dtype):
    pixels = np.random.default_rng(8).integers(1, 60000, (3, 701, 603)).astype(dtype)
    path = write(tmp_path / "a.tif", pixels, **options)
    assert check_levels(path) > 1


@pytest.mark.filterwarnings("ignore::tiff_codecs.errors.TiffWarning")
def test_corpus(corpus_file):
    path, dataset = corpus_file.path, corpus_file.entry["dataset"]
    try:
        virtual_cog.open_store(path)
    except TiffUnsupportedError:
        with pytest.raises(TiffUnsupportedError):
            virtual_cog.open_store(path, layout="pyramid")
        return
    if dataset["overviews"] or "per_dataset" in dataset["mask_flags"]:
        assert check_levels(path) == 1 + len(dataset["overviews"])
    else:
        assert list(pyramid(path).children) == ["0"]


@pytest.mark.parametrize("name", ["B33_internal_mask_overviews.tif", "B49_overview_geotags_only_level0.tif"])
def test_cases(cases, name):
    case = cases[name]
    assert check_levels(case.path) == 3
    level = pyramid(case.path)["0"]
    np.testing.assert_array_equal(level["band_data"], case.arrays()["truth"])
    if "mask" in level:  # there it says what is masked
        np.testing.assert_array_equal(level["mask"] == 1, case.arrays()["mask"])


def test_b49_has_its_nodata_on_every_level(cases):
    tree = xr.open_datatree(
        virtual_cog.open_store(cases["B49_overview_geotags_only_level0.tif"].path, layout="pyramid"),
        engine="zarr",
        consolidated=False,
    )
    for level in tree.children.values():
        assert np.isnan(level["band_data"]).any()


def test_what_gdaladdo_writes_on_overviews_hides_nothing_of_the_image(tmp_path):
    """Each has a GDAL_METADATA of its own, with how it was resampled and no more."""
    pixels = np.random.default_rng(8).integers(1, 60000, (1, 300, 280), "u2")
    path = write(tmp_path / "a.tif", pixels, overviews=[2, 4], scales=[0.25])
    tree = pyramid(path)
    for level in tree.children.values():
        attributes = level["band_data"].attrs
        assert (attributes["scale_factor"], attributes["add_offset"]) == (0.25, 1.5)
        assert attributes["long_name"] == "first"
    assert [e.get("resampling_method") for e in tree.attrs["multiscales"]["layout"]] == [None, "nearest", "nearest"]


def test_multiscales_attributes(tmp_path):
    path = write(tmp_path / "a.tif", np.ones((1, 301, 200), "u1"), overviews=[2, 4])
    root = zarr.open_group(virtual_cog.open_store(path, layout="pyramid"), mode="r")
    assert not [*root.arrays()]
    assert [entry["name"] for entry in root.attrs["zarr_conventions"]] == ["multiscales", "proj", "spatial"]
    assert root.attrs["proj:code"] == "EPSG:32631"
    assert root.attrs["spatial:shape"] == [301, 200]
    assert root.attrs["multiscales"]["layout"] == [
        {
            "asset": "0",
            "transform": {"scale": [1.0, 1.0], "translation": [0.0, 0.0]},
            "spatial:shape": [301, 200],
            "spatial:transform": [10.0, 0.0, 5e5, 0.0, -10.0, 4.6e6],
        },
        {
            "asset": "1",
            "derived_from": "0",
            "resampling_method": "nearest",
            "transform": {"scale": [301 / 151, 2.0], "translation": [0.0, 0.0]},
            "spatial:shape": [151, 100],
            "spatial:transform": [20.0, 0.0, 5e5, 0.0, -10 * 301 / 151, 4.6e6],
        },
        {
            "asset": "2",
            "derived_from": "0",
            "resampling_method": "nearest",
            "transform": {"scale": [301 / 76, 4.0], "translation": [0.0, 0.0]},
            "spatial:shape": [76, 50],
            "spatial:transform": [40.0, 0.0, 5e5, 0.0, -10 * 301 / 76, 4.6e6],
        },
    ]
    for entry in root.attrs["multiscales"]["layout"]:
        group = root[entry["asset"]]
        assert group.attrs["spatial:shape"] == entry["spatial:shape"] == list(group["band_data"].shape[1:])
        assert group.attrs["spatial:transform"] == entry["spatial:transform"]


def test_a_pyramid_without_a_place(tmp_path):
    file = RawTiff()
    raw_page(file, 1, 16, 16)
    raw_page(file, 2, 8, 8, t254=REDUCED)
    path = tmp_path / "a.tif"
    path.write_bytes(file.bytes())
    attributes = pyramid(path).attrs
    assert [entry["name"] for entry in attributes["zarr_conventions"]] == ["multiscales"]
    assert attributes["multiscales"]["layout"][1]["transform"]["scale"] == [2.0, 2.0]


def test_virtual_datatree(tmp_path, registry):
    pixels = np.random.default_rng(8).integers(1, 255, (3, 300, 260), "u1")
    path = write(tmp_path / "a b.tif", pixels, mask=np.tri(300, 260, dtype=bool), driver="COG", blocksize=128)
    parser = COGParser(layout="pyramid")
    tree = virtualizarr.open_virtual_datatree(str(path), registry=registry, parser=parser)
    assert list(tree.children) == ["0", "1", "2"]
    for level in tree.children.values():
        assert isinstance(level["band_data"].data, virtualizarr.manifests.ManifestArray)
        assert isinstance(level["mask"].data, virtualizarr.manifests.ManifestArray)
        assert set(level.coords) == {"band", "x", "y", "spatial_ref"}
        assert {"band", "x", "y"} <= set(level.indexes)
    assert not tree.dataset.variables
    assert "multiscales" in tree.attrs
    nothing_loaded = virtualizarr.open_virtual_datatree(
        str(path), registry=registry, parser=parser, loadable_variables=[]
    )
    assert isinstance(nothing_loaded["1/x"].variable._data, virtualizarr.manifests.ManifestArray)


def test_xarray_opens_one_group(tmp_path):
    pixels = np.random.default_rng(8).integers(1, 255, (3, 300, 260), "u1")
    path = write(tmp_path / "a.tif", pixels, overviews=[2])
    store = virtual_cog.open_store(path, layout="pyramid")
    with (
        xr.open_zarr(store, group="1", consolidated=False, decode_coords="all", chunks=None) as one,
        xr.open_zarr(
            virtual_cog.open_store(path, overview_level=0), consolidated=False, decode_coords="all", chunks=None
        ) as other,
    ):
        xr.testing.assert_identical(one.load(), other.load())


def test_icechunk(tmp_path, registry):
    icechunk = pytest.importorskip("icechunk")
    pixels = np.random.default_rng(8).integers(1, 60000, (3, 300, 260), "u2")
    mask = np.tri(300, 260, dtype=bool)
    path = write(tmp_path / "a.tif", pixels, mask=mask, driver="COG", predictor="yes", nodata=9, blocksize=128)
    prefix = f"file://{tmp_path}/"
    config = icechunk.RepositoryConfig.default()
    config.set_virtual_chunk_container(
        icechunk.VirtualChunkContainer(prefix, icechunk.local_filesystem_store(str(tmp_path)))
    )
    repo = icechunk.Repository.create(
        icechunk.local_filesystem_storage(str(tmp_path / "repo")),
        config=config,
        authorize_virtual_chunk_access={prefix: icechunk.credentials.LocalFileSystemAccess},
    )
    session = repo.writable_session("main")
    tree = virtualizarr.open_virtual_datatree(str(path), registry=registry, parser=COGParser(layout="pyramid"))
    tree.vz.to_icechunk(session.store)
    session.commit("a pyramid")
    store = repo.readonly_session("main").store
    options = {"engine": "zarr", "consolidated": False, "decode_coords": "all"}
    back = xr.open_datatree(store, **options)
    direct = xr.open_datatree(virtual_cog.open_store(path, layout="pyramid"), **options)
    assert sorted(back.children) == list(direct.children) == ["0", "1", "2"]  # Icechunk lists them as it likes
    assert back.attrs == direct.attrs
    for name in back.children:
        xr.testing.assert_equal(back[name].to_dataset().load(), direct[name].to_dataset().load())
        assert back[name].to_dataset().rio.transform() == direct[name].to_dataset().rio.transform()
        number = int(name)
        with rasterio.open(path, **({"overview_level": number - 1} if number else {})) as file:
            np.testing.assert_array_equal(zarr.open_group(store, path=name, mode="r")["band_data"][...], file.read())
            np.testing.assert_array_equal(back[name]["mask"] == 1, file.read_masks() == 255)


def drive_counting(source):
    """The pyramid, and how often the store was asked, one time after another."""
    steps, data = load_pyramid(source.open(), 0), None
    for turns in itertools.count(1):
        try:
            ranges = steps.send(data)
        except StopIteration as done:
            return done.value, turns
        data = source._read(ranges)
    return None


def test_requests(tmp_path):
    """One for a COG; else one after another for the chain of IFDs, and all values of all levels at once."""
    pixels = np.random.default_rng(8).integers(0, 255, (1, 900, 1000), "u1")
    write(tmp_path / "cog.tif", pixels, mask=pixels[0] > 3, driver="COG")
    write(tmp_path / "end.tif", pixels, mask=pixels[0] > 3, overviews=[2, 4, 8])
    with tifffile.TiffWriter(tmp_path / "sub.tif") as file:
        file.write(pixels[0], subifds=5, tile=(16, 16), metadata=None)
        for factor in (2, 4, 8, 16, 32):
            file.write(pixels[0, ::factor, ::factor], subfiletype=1, tile=(16, 16), metadata=None)
    with serve(tmp_path) as server:
        # end.tif: the head, the IFDs at five places, and values at three; sub.tif: the offsets of the SubIFDs besides
        for name, levels, most, batches in (("cog.tif", 4, 1, 1), ("end.tif", 4, 10, 8), ("sub.tif", 6, 20, 4)):
            server.requests.clear()
            found, turns = drive_counting(resolve(f"{server.url}/{name}"))
            assert len(found) == levels
            assert turns <= batches, name
            assert len(server.requests) <= most, name
        server.requests.clear()
        virtual_cog.open_store(f"{server.url}/cog.tif", overview_level=1)
        assert len(server.requests) == 1
