"""The pipeline on the CPU: the same arrays and the same errors as zarr's own, whatever is asked for."""

from __future__ import annotations

import pickle
import subprocess
import sys

import numpy as np
import pytest
import rasterio
import virtualizarr
import xarray as xr
import zarr
from obspec_utils.registry import ObjectStoreRegistry
from obstore.store import LocalStore, MemoryStore

import virtual_cog
from httpserver import serve
from tiff_codecs import TileCodec, TileLayout, cpu
from tiff_codecs.errors import TiffAccessError, TiffNotFoundError, TiffOptionError, TiffWarning

PIXELS = np.random.default_rng(7).integers(0, 60000, (3, 301, 333), "u2")
FORMS = {
    "cog": {"compress": "deflate", "predictor": 2, "interleave": "pixel", "tiled": True},
    "planar": {"compress": "lzw", "predictor": 2, "interleave": "band", "tiled": True},
    "plain": {"interleave": "band", "tiled": True},
    "raw": {"interleave": "pixel", "tiled": True},
    "zstd": {"compress": "zstd", "interleave": "band", "tiled": True},
    "zlib": {"compress": "deflate", "interleave": "band", "tiled": True},
    "strips": {"compress": "deflate", "predictor": 2, "interleave": "pixel", "blockysize": 16},
    "raw strips": {"interleave": "pixel", "blockysize": 301},
}
SELECTIONS = [
    np.s_[...], np.s_[0], np.s_[-1], np.s_[:, 5], np.s_[1, 7, 9], np.s_[:, ::3, 1::2], np.s_[..., 100:257],
    np.s_[1:, 255:258, 255:258], np.s_[:, [3, 250, 299]], np.s_[[2, 0]], np.s_[:0], np.s_[:, 300:, 332:],
]  # fmt: skip


def write(path, pixels, **options):
    bands, height, width = pixels.shape
    options = {"blockxsize": 64, "blockysize": 48} | options if options.get("tiled") else options
    with rasterio.open(
        path, "w", driver="GTiff", width=width, height=height, count=bands, dtype=pixels.dtype, **options
    ) as file:
        file.write(pixels)
    return path


def opened(path, **options):
    return zarr.open_group(virtual_cog.open_store(path, **options), mode="r")["band_data"]


@pytest.fixture(scope="module", params=FORMS)
def path(request, tmp_path_factory):
    return write(tmp_path_factory.mktemp("cpu") / "a.tif", PIXELS, **FORMS[request.param])


@pytest.fixture
def cog(tmp_path):
    return write(tmp_path / "a.tif", PIXELS, **FORMS["cog"])


@pytest.mark.parametrize("selection", SELECTIONS, ids=str)
def test_selections(path, selection):
    with cpu.enable():
        array = opened(path)
    assert type(array._async_array.codec_pipeline).__name__ == "CpuCodecPipeline"
    np.testing.assert_array_equal(array[selection], PIXELS[selection])


def test_selections_of_other_kinds(path):
    with cpu.enable():
        array = opened(path)
    np.testing.assert_array_equal(array.oindex[1, [5, 200], ::7], PIXELS[1][[5, 200]][:, ::7])
    np.testing.assert_array_equal(array.vindex[[0, 2], [5, 200], [1, 332]], PIXELS[[0, 2], [5, 200], [1, 332]])
    mask = PIXELS > 59000
    np.testing.assert_array_equal(array.vindex[mask], PIXELS[mask])
    np.testing.assert_array_equal(array.blocks[0, 0], opened(path).blocks[0, 0])


@pytest.mark.parametrize("threads", [1, 2, 8])
def test_threads(path, threads):
    np.testing.assert_array_equal(virtual_cog.read(path, threads=threads), PIXELS)
    with cpu.enable(threads):
        np.testing.assert_array_equal(opened(path)[...], PIXELS)


def test_arrays_of_the_caller_with_another_type(cog):
    from zarr.core.buffer import default_buffer_prototype

    for dtype in ("u2", "f8"):
        room = np.zeros((3, 301, 400), dtype)
        out = default_buffer_prototype().nd_buffer.from_numpy_array(room[:, :, 10:343])
        with cpu.enable():
            opened(cog).get_basic_selection(out=out)
        np.testing.assert_array_equal(room[:, :, 10:343], PIXELS)
        assert not room[:, :, :10].any()
        assert not room[:, :, 343:].any()


@pytest.mark.parametrize("form", ["cog", "zlib", "plain"])
def test_stacks_of_files(tmp_path, form):
    paths = [write(tmp_path / f"{i}.tif", PIXELS + np.uint16(i), **FORMS[form]) for i in range(4)]
    registry = ObjectStoreRegistry({"file://": LocalStore()})
    parts = [
        virtualizarr.open_virtual_dataset(each.as_uri(), registry=registry, parser=virtual_cog.COGParser())
        for each in paths
    ]
    stacked = xr.concat(parts, dim="time", coords="minimal", compat="override")
    group = virtualizarr.manifests.ManifestGroup({"band_data": stacked["band_data"].data})
    store = virtualizarr.manifests.ManifestStore(group, registry=registry)
    truth = np.stack([PIXELS + np.uint16(i) for i in range(4)])
    with cpu.enable():
        array = zarr.open_group(store, mode="r")["band_data"]
    np.testing.assert_array_equal(array[...], truth)
    np.testing.assert_array_equal(array[2], truth[2])
    np.testing.assert_array_equal(array[1:3, 1, 40:60], truth[1:3, 1, 40:60])
    np.testing.assert_array_equal(array[:, :, 7, 9], truth[:, :, 7, 9])


def test_missing_tiles(tmp_path):
    with rasterio.open(
        tmp_path / "a.tif", "w", driver="GTiff", width=100, height=90, count=3, dtype="int16", tiled=True,
        blockxsize=32, blockysize=32, nodata=-7, interleave="pixel", compress="deflate", SPARSE_OK=True,
    ) as file:  # fmt: skip
        file.write(np.full((3, 32, 32), 5, "i2"), window=rasterio.windows.Window(32, 32, 32, 32))
    truth = np.full((3, 90, 100), -7, "i2")
    truth[:, 32:64, 32:64] = 5
    with cpu.enable():
        array = opened(tmp_path / "a.tif")
    np.testing.assert_array_equal(array[...], truth)
    np.testing.assert_array_equal(array[:, ::9, [0, 40]], truth[:, ::9, [0, 40]])
    with cpu.enable(), zarr.config.set({"array.read_missing_chunks": False}):
        array = opened(tmp_path / "a.tif")
        assert (array[:, 32:64, 32:64] == 5).all()
        with pytest.raises(zarr.errors.ChunkNotFoundError, match="11 chunk"):
            array[...]


def test_over_http_and_from_memory(cog):
    with serve(cog.parent) as server, cpu.enable():
        array = opened(f"{server.url}/a.tif")
        before = len(server.requests)
        np.testing.assert_array_equal(array[...], PIXELS)
        assert len(server.requests) - before < 10  # 42 tiles
    store = MemoryStore()
    store.put("a.tif", cog.read_bytes())
    with cpu.enable():
        array = opened("memory:///a.tif", registry=ObjectStoreRegistry({"memory://": store}))
        np.testing.assert_array_equal(array[:, 40:], PIXELS[:, 40:])


@pytest.mark.parametrize("form", ["cog", "zlib"])
def test_icechunk(tmp_path, form):
    icechunk = pytest.importorskip("icechunk")
    from virtual_cog._icechunk import open_reference, write_repository

    cog = write(tmp_path / "a.tif", PIXELS, **FORMS[form])
    write_repository([open_reference(str(cog))], tmp_path / "repo", message="one")
    storage = icechunk.local_filesystem_storage(str(tmp_path / "repo"))
    access = {f"file://{cog.parent}/": icechunk.credentials.LocalFileSystemAccess}
    allowed = icechunk.Repository.open(storage, authorize_virtual_chunk_access=access)
    forbidden = icechunk.Repository.open(storage)
    with cpu.enable():
        array = zarr.open_group(allowed.readonly_session("main").store, mode="r")["band_data"]
        np.testing.assert_array_equal(array[...], PIXELS)
        array = zarr.open_group(forbidden.readonly_session("main").store, mode="r")["band_data"]
        with pytest.raises(icechunk.IcechunkError):
            array[...]


def test_files_that_change(cog):
    with cpu.enable():
        array = opened(cog)
    content = cog.read_bytes()
    cog.write_bytes(content[: len(content) // 2])
    with pytest.raises(TiffAccessError):
        array[...]
    cog.unlink()
    with pytest.raises(TiffNotFoundError) as caught:
        array[...]
    assert caught.value.url.endswith("a.tif")


def test_switched_on_and_off(cog):
    before = zarr.config.get("codec_pipeline")
    enabled = cpu.enable(3)
    assert zarr.config.get("codec_pipeline.path") == cpu.settings.PIPELINE
    assert zarr.config.get("codec_pipeline.max_workers") == 3
    with pytest.raises(ZeroDivisionError, match="x"), cpu.enable():
        raise ZeroDivisionError("x")
    enabled.disable()
    enabled.disable()
    assert zarr.config.get("codec_pipeline") == before
    with pytest.raises(TiffOptionError):
        cpu.enable(0)


def test_arrays_pickle(cog):
    with cpu.enable():
        array = opened(cog)
        again = pickle.loads(pickle.dumps(array._async_array.codec_pipeline))  # noqa: S301
    assert again._chain == array._async_array.codec_pipeline._chain


def test_what_is_not_taken_is_told_if_it_is_ours(tmp_path):
    values = np.arange(2 * 3 * 20 * 16, dtype="u2").reshape(2, 3, 20, 16)
    layout = TileLayout("big", 16, "uint", 2)
    with cpu.enable():
        plain = zarr.create_array(tmp_path / "plain", data=values, chunks=(1, 2, 10, 16))
        np.testing.assert_array_equal(plain[...], values)
        turned = zarr.create_array(
            tmp_path / "turned", shape=values.shape, dtype="u2", chunks=(1, 3, 10, 16), serializer=TileCodec(layout),
            filters=[zarr.codecs.TransposeCodec(order=(0, 1, 2, 3))],
        )  # fmt: skip
        turned[...] = values
        with pytest.warns(TiffWarning, match="zarr's own pipeline"):
            np.testing.assert_array_equal(turned[...], values)


MEMORY = """
import resource, sys, zarr, numpy, virtual_cog
from tiff_codecs import cpu
way, path, threads = sys.argv[1], sys.argv[2], int(sys.argv[3])
def read(window):
    if way == "read":
        return virtual_cog.read(path, window=window, threads=threads)
    with cpu.enable(threads):
        column, row, width, height = window
        array = zarr.open_group(virtual_cog.open_store(path), mode="r")["band_data"]
        return array[:, row : row + height, column : column + width]
def highest():
    return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
read((0, 0, 8, 8))  # imports
before = highest()
pixels = read((0, 0, 4096, 4096))
print(highest() - before - pixels.nbytes)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="ru_maxrss is in bytes elsewhere, or not there")
@pytest.mark.parametrize("way", ["read", "zarr"])
def test_memory_is_the_result_and_two_tiles_a_thread(tmp_path, way):
    # 48 MB of pixels in tiles of 3 MB; malloc keeps some of its own
    pixels = np.random.default_rng(1).integers(0, 16, (3, 4096, 4096), "u1")
    path = write(
        tmp_path / "a.tif", pixels, compress="deflate", zlevel=1, interleave="pixel", tiled=True, blockxsize=1024,
        blockysize=1024,
    )  # fmt: skip
    for threads in (1, 2):
        command = [sys.executable, "-c", MEMORY, way, str(path), str(threads)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        assert int(done.stdout) <= 2 * threads * 3 * 2**20 + 8 * 2**20
