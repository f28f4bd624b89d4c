"""The way people come in: VirtualiZarr, xarray, zarr and Icechunk."""

from __future__ import annotations

import subprocess
import sys
import textwrap

import numpy as np
import pytest
import rasterio
import rioxarray  # noqa: F401 - the `rio` accessor
import virtualizarr
import xarray as xr
import zarr
from obspec_utils.registry import ObjectStoreRegistry
from obstore.store import LocalStore
from virtualizarr.parsers.typing import Parser

import virtual_cog
from pyramids import write_cog
from rawtiff import jbig
from tiff_codecs.errors import TiffError, TiffOptionError, TiffUnsupportedError
from virtual_cog import COGParser

pytestmark = pytest.mark.filterwarnings(
    "ignore::zarr.errors.ZarrUserWarning",
    "ignore::zarr.errors.UnstableSpecificationWarning",
    "ignore:The LocalFileSystem storage:UserWarning",
)


@pytest.fixture
def registry():
    return ObjectStoreRegistry({"file://": LocalStore()})


@pytest.fixture
def cog(tmp_path):
    pixels = np.random.default_rng(2).integers(1, 60000, (3, 700, 600), "u2")
    return write_cog(tmp_path / "a cog.tif", pixels, predictor="yes", nodata=7), pixels


def test_the_parser_is_one():
    assert isinstance(COGParser(), Parser)
    assert COGParser() == COGParser(ifd=0)
    with pytest.raises(TiffOptionError):
        COGParser(prefetch=3)


def test_open_virtual_dataset(cog, registry):
    path, pixels = cog
    with virtualizarr.open_virtual_dataset(str(path), registry=registry, parser=COGParser()) as ds:
        assert ds["band_data"].dims == ("band", "y", "x")
        assert ds["band_data"].shape == pixels.shape
        assert isinstance(ds["band_data"].data, virtualizarr.manifests.ManifestArray)
        assert set(ds.coords) == {"band", "y", "x", "spatial_ref"}
        with xr.open_dataset(path, engine="rasterio") as other:
            for name in ("x", "y", "band"):
                np.testing.assert_array_equal(ds[name], other[name])
        assert rasterio.crs.CRS.from_wkt(ds["spatial_ref"].attrs["crs_wkt"]) == rasterio.crs.CRS.from_epsg(32631)


def test_open_zarr_gives_what_rioxarray_gives(cog):
    path, _ = cog
    with (
        xr.open_zarr(virtual_cog.open_store(path), consolidated=False, decode_coords="all") as ours,
        xr.open_dataset(path, engine="rasterio") as theirs,
    ):
        xr.testing.assert_equal(ours.drop_vars("spatial_ref"), theirs.drop_vars("spatial_ref"))
        assert ours.rio.crs == theirs.rio.crs
        assert ours.rio.transform() == theirs.rio.transform()
        assert ours["band_data"].rio.encoded_nodata == theirs["band_data"].rio.encoded_nodata


def test_overviews_inherit_what_the_main_image_says(cog, registry):
    path, _ = cog
    with rasterio.open(path, overview_level=0) as file:
        expected = file.read()
        expected_transform = file.transform
    store = virtual_cog.open_store(path, ifd=1)
    with xr.open_zarr(store, consolidated=False, decode_coords="all", mask_and_scale=False) as ds:
        np.testing.assert_array_equal(ds["band_data"], expected)
        assert ds.rio.crs.to_epsg() == 32631
        assert ds.rio.transform().almost_equals(expected_transform)
        assert ds["band_data"].attrs["_FillValue"] == 7
    again = virtualizarr.open_virtual_dataset(str(path), registry=registry, parser=COGParser(ifd=1))
    assert again["band_data"].shape == expected.shape


def test_scenes_stack_in_time(tmp_path, registry):
    """Along a new axis, whatever the codecs: pixel interleaved or not, with predictors or without."""
    rng = np.random.default_rng(3)
    for options in ({}, {"predictor": "yes"}, {"interleave": "band"}, {"compress": "lzw"}):
        scenes = [rng.integers(0, 255, (3, 300, 280), "u1") for _ in range(2)]
        paths = [write_cog(tmp_path / f"{i}.tif", scene, **options) for i, scene in enumerate(scenes)]
        datasets = [virtualizarr.open_virtual_dataset(str(p), registry=registry, parser=COGParser()) for p in paths]
        stacked = xr.concat(datasets, dim="time", coords="minimal", compat="override")
        assert stacked["band_data"].shape == (2, 3, 300, 280)
        marr = stacked["band_data"].data
        group = virtualizarr.manifests.ManifestGroup({"band_data": marr})
        store = virtualizarr.manifests.ManifestStore(group, registry=registry)
        np.testing.assert_array_equal(zarr.open_group(store, mode="r")["band_data"][...], np.stack(scenes))


def test_sparse_tiles_are_missing_chunks(cases):
    case = cases["B01_sparse_tiles_nodata7.tif"]
    store = virtual_cog.open_store(case.path)
    manifest = store._group["band_data"].manifest
    assert len(manifest.dict()) == 1
    array = zarr.open_group(store, mode="r")["band_data"]
    assert array.fill_value == 7
    np.testing.assert_array_equal(array[...], case.arrays()["truth"])


@pytest.mark.filterwarnings("ignore::tiff_codecs.errors.TiffWarning")
def test_rotated_grids_have_no_coordinates_but_a_transform(cases):
    with xr.open_zarr(
        virtual_cog.open_store(cases["B47_rotated_modeltransformation.tif"].path),
        consolidated=False,
        decode_coords="all",
    ) as ds:
        assert set(ds.coords) == {"band", "spatial_ref"}
        assert ds["spatial_ref"].attrs["GeoTransform"].split() == [
            "500000.0",
            "8.66",
            "-5.0",
            "4600000.0",
            "5.0",
            "8.66",
        ]


def test_plain_tiles_need_no_codec_of_ours(tmp_path):
    """What Zarr's own codecs can say safely is said with them, so that any Zarr reader opens it."""
    pixels = np.random.default_rng(2).integers(1, 60000, (1, 300, 256), "u2")
    for compress, names in (
        ("deflate", ["bytes", "numcodecs.zlib"]),
        ("zstd", ["tiff_codecs.tile", "tiff_codecs.zstd"]),  # Zarr's own may never return
        ("none", ["bytes"]),
    ):
        path = write_cog(tmp_path / f"{compress}.tif", pixels, compress=compress)
        array = zarr.open_group(virtual_cog.open_store(path), mode="r")["band_data"]
        assert [codec.to_dict()["name"] for codec in array.metadata.codecs] == names
        np.testing.assert_array_equal(array[...], pixels)


def test_kerchunk_version_2_fails_loudly_and_version_3_works(cog, registry, tmp_path):
    path, pixels = cog
    path = path.rename(tmp_path / "a.tif")  # VirtualiZarr's reader of Kerchunk's references knows no spaces
    with virtualizarr.open_virtual_dataset(
        str(path), registry=registry, parser=COGParser(), loadable_variables=[]
    ) as ds:
        with pytest.raises(TiffUnsupportedError, match="kerchunk"):
            ds.vz.to_kerchunk(str(tmp_path / "v2.json"), format="json", zarr_format=2)
        ds.vz.to_kerchunk(str(tmp_path / "v3.json"), format="json", zarr_format=3)
    kerchunk = virtualizarr.parsers.KerchunkJSONParser()
    store = kerchunk((tmp_path / "v3.json").as_uri(), registry)
    np.testing.assert_array_equal(zarr.open_group(store, mode="r")["band_data"][...], pixels)


READER = """
    import sys
    import icechunk, numpy, zarr
    repo = icechunk.Repository.open(
        icechunk.local_filesystem_storage(sys.argv[1]),
        authorize_virtual_chunk_access={sys.argv[2]: icechunk.credentials.LocalFileSystemAccess},
    )
    numpy.save(sys.argv[3], zarr.open_group(repo.readonly_session("main").store, mode="r")["band_data"][...])
    assert not any(name.startswith("virtual_cog") for name in sys.modules), "no import of ours was needed"
"""


@pytest.mark.parametrize("name", ["a.tif", "a b.tif", "100% é.tif"])
def test_icechunk_in_a_fresh_process(tmp_path, registry, name):
    icechunk = pytest.importorskip("icechunk")
    pixels = np.random.default_rng(2).integers(1, 60000, (3, 300, 280), "u2")
    path = write_cog(tmp_path / name, pixels, predictor="yes")
    prefix = f"file://{tmp_path}/"
    config = icechunk.RepositoryConfig.default()
    config.set_virtual_chunk_container(
        icechunk.VirtualChunkContainer(prefix, icechunk.local_filesystem_store(str(tmp_path)))
    )
    storage = icechunk.local_filesystem_storage(str(tmp_path / "repo"))
    access = {prefix: icechunk.credentials.LocalFileSystemAccess}
    repo = icechunk.Repository.create(storage, config=config, authorize_virtual_chunk_access=access)
    session = repo.writable_session("main")
    with virtualizarr.open_virtual_dataset(str(path), registry=registry, parser=COGParser()) as ds:
        ds.vz.to_icechunk(session.store)
    session.commit("one scene")
    run = [sys.executable, "-W", "ignore", "-c", textwrap.dedent(READER)]
    subprocess.run([*run, str(tmp_path / "repo"), prefix, str(tmp_path / "out.npy")], check=True)
    np.testing.assert_array_equal(np.load(tmp_path / "out.npy"), pixels)


def test_what_is_not_decoded_is_refused_when_it_is_opened(tmp_path, cases, registry):
    with pytest.raises(TiffUnsupportedError, match="ISO JBIG"):
        virtualizarr.open_virtual_dataset(str(jbig(tmp_path / "a.tif")), registry=registry, parser=COGParser())
    with pytest.raises(TiffError):
        virtual_cog.open_store(cases["B20_truncated_file.tif"].path)


def test_a_registry_without_the_store(cog):
    with pytest.raises(TiffOptionError, match="register"):
        COGParser()(cog[0].as_uri(), ObjectStoreRegistry({"s3://bucket": LocalStore()}))
