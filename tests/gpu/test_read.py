"""Reading to the device: equal to the CPU, whatever the file."""

from __future__ import annotations

import pickle
import zlib
from concurrent.futures import ThreadPoolExecutor

import imagecodecs
import numpy as np
import pytest
import tifffile
import zarr
from obspec_utils.registry import ObjectStoreRegistry
from obstore.store import MemoryStore

import virtual_cog
from httpserver import serve
from rawtiff import RawTiff
from tiff_codecs import gpu
from tiff_codecs.errors import TiffAccessError, TiffDataError, TiffError, TiffOptionError, TiffUnsupportedError
from virtual_cog._read_gpu import read_scene_gpu
from virtual_cog._registry import resolve
from virtual_cog._scene import load_scene

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.filterwarnings("ignore::tiff_codecs.errors.TiffWarning"),
    pytest.mark.filterwarnings("ignore::zarr.errors.ZarrUserWarning"),
]


def read_gpu(path, **options):
    source = resolve(path)
    scene = source.drive(load_scene(source.open(), options.pop("ifd", 0)))
    return read_scene_gpu(source, scene, **options)


def same(device, host):
    import cupy

    assert isinstance(device, cupy.ndarray)
    assert device.dtype == host.dtype
    assert device.shape == host.shape
    assert device.get().tobytes() == host.tobytes()


def check(path):
    try:
        host = virtual_cog.read(path)
    except TiffError as error:
        for read in (read_gpu, through_zarr):
            with pytest.raises(type(error)):
                read(path)
        return
    same(read_gpu(path), host)
    same(through_zarr(path), host)
    height, width = host.shape[-2:]
    window = (width // 3, height // 3, max(1, width // 2), max(1, height // 2))
    part = host[:, window[1] : window[1] + window[3], window[0] : window[0] + window[2]]
    same(read_gpu(path, window=window), np.ascontiguousarray(part))


def through_zarr(path):
    with gpu.enable():
        return zarr.open_group(virtual_cog.open_store(path), mode="r")["band_data"][...]


def test_corpus(corpus_file):
    check(corpus_file.path)


def test_cases(case):
    check(case.path)


@pytest.mark.parametrize("layout", ["one band", "interleaved", "planar"])
@pytest.mark.parametrize("options", [{"tile": (32, 48), "compression": "zlib", "predictor": 2}, {"rowsperstrip": 12}])
def test_stacks_and_volumes(tmp_path, layout, options):
    bands = 1 if layout == "one band" else 3
    pixels = np.random.default_rng(1).integers(0, 250, (6, bands, 70, 90)).astype("u2")
    config = {"photometric": "minisblack" if bands == 1 else "rgb", "metadata": None}
    if bands == 3:
        config["planarconfig"] = "separate" if layout == "planar" else "contig"
    stored = pixels[:, 0] if bands == 1 else pixels if layout == "planar" else pixels.transpose(0, 2, 3, 1)
    tifffile.imwrite(tmp_path / "stack.tif", stored, **config, **options)
    volume = pixels.transpose(1, 0, 2, 3)
    stored = volume[0] if bands == 1 else volume if layout == "planar" else volume.transpose(1, 2, 3, 0)
    if "tile" in options:
        options = {**options, "tile": (4, *options["tile"])}
    tifffile.imwrite(tmp_path / "volume.tif", stored, volumetric=True, **config, **options)
    for name, expected, kind in (("stack", pixels, {"layout": "stack"}), ("volume", volume, {})):
        path = tmp_path / f"{name}.tif"
        same(virtual_cog.read(path, device="gpu", **kind), np.ascontiguousarray(expected))
        part = np.ascontiguousarray(expected[..., 20:53, 11:61])
        same(virtual_cog.read(path, device="gpu", window=(11, 20, 50, 33), **kind), part)
        with gpu.enable():
            array = zarr.open_group(virtual_cog.open_store(path, **kind), mode="r")["band_data"]
            same(array[...], np.ascontiguousarray(expected))
            same(array[:, 0, 5:40, 7:60], np.ascontiguousarray(expected[:, 0, 5:40, 7:60]))


@pytest.fixture(scope="module")
def cog(cases):
    return cases["B15_edge_tiles_multiband.tif"].path


def test_read_takes_a_device_and_memory(cog):
    import cupy

    host = virtual_cog.read(cog)
    same(virtual_cog.read(cog, device="gpu"), host)
    same(virtual_cog.read(cog, device="cuda:0"), host)
    wide = cupy.zeros((host.shape[0], host.shape[1], host.shape[2] + 5), host.dtype)
    out = wide[:, :, 2:-3]
    assert virtual_cog.read(cog, device="gpu", out=out) is out
    np.testing.assert_array_equal(wide.get()[:, :, 2:-3], host)
    assert not wide[:, :, :2].any()
    for bad in (np.zeros(host.shape, host.dtype), cupy.zeros(host.shape, "f8"), cupy.zeros((1, 2, 3), host.dtype)):
        with pytest.raises(TiffOptionError):
            virtual_cog.read(cog, device="gpu", out=bad)
    with pytest.raises(TiffOptionError):
        virtual_cog.read(cog, device="cuda:99")


def test_parts_under_a_memory_limit(corpus):
    for name in ("rasterio__all-nodata.tif", "rio-tiler__cog_scale.tif", "openlayers__not-a-cog.tif"):
        host = virtual_cog.read(corpus[name].path)
        for limit in (1, 30_000, 10**9):
            with gpu.enable(memory_limit=limit):
                array = zarr.open_group(virtual_cog.open_store(corpus[name].path), mode="r")["band_data"]
                same(array[...], host)


SELECTIONS = [
    np.s_[0], np.s_[-1], np.s_[:, 5], np.s_[1, 7, 9], np.s_[:, ::3, 1::2], np.s_[..., 100:257],
    np.s_[1:, 255:258, 255:258], np.s_[:, [3, 250, 299]], np.s_[[2, 0]],
]  # fmt: skip


@pytest.mark.parametrize("selection", SELECTIONS, ids=str)
def test_selections(cog, selection):
    host = virtual_cog.read(cog)
    with gpu.enable():
        array = zarr.open_group(virtual_cog.open_store(cog), mode="r")["band_data"]
        got = array[selection]
    np.testing.assert_array_equal(got.get() if hasattr(got, "get") else got, host[selection])


def test_zarrs_own_pipelines_with_gpu_buffers(cases):
    import cupy

    for name in (
        "B42_zstd_pred2_tiled.tif",
        "B04_short_last_strip_deflate.tif",
        "B44_packbits_strips.tif",
        "B43_lzma.tif",
    ):
        path = cases[name].path
        with zarr.config.enable_gpu():
            pixels = zarr.open_group(virtual_cog.open_store(path), mode="r")["band_data"][...]
        assert isinstance(pixels, cupy.ndarray)
        same(pixels, virtual_cog.read(path))


def test_strict_refuses_what_the_cpu_would_do(cases):
    path = cases["B43_lzma.tif"].path
    with gpu.enable(strict=True):
        array = zarr.open_group(virtual_cog.open_store(path), mode="r")["band_data"]
        with pytest.raises(TiffUnsupportedError, match="lzma"):
            array[...]
    assert zarr.config.get("codec_pipeline.path") != "tiff_codecs.gpu.pipeline.GpuCodecPipeline"


def test_a_damaged_tile_is_named_and_the_next_read_works(cog, tmp_path):
    content = bytearray(cog.read_bytes())
    source = resolve(cog)
    scene = source.drive(load_scene(source.open(), 0))
    start = int(scene.tiles.offsets[0, 1, 0])
    content[start + 40 : start + 90] = b"\xa5" * 50
    (tmp_path / "damaged.tif").write_bytes(content)
    for _ in range(2):
        with pytest.raises(TiffDataError) as caught:
            virtual_cog.read(tmp_path / "damaged.tif", device="gpu")
        assert caught.value.url.endswith("damaged.tif")
        assert caught.value.tile == (0, 1, 0)
        same(virtual_cog.read(cog, device="gpu"), virtual_cog.read(cog))


def test_over_http_and_from_memory(cog):
    host = virtual_cog.read(cog)
    with serve(cog.parent) as server:
        url = f"{server.url}/{cog.name}"
        same(virtual_cog.read(url, device="gpu"), host)
        with gpu.enable():
            same(zarr.open_group(virtual_cog.open_store(url), mode="r")["band_data"][...], host)
    store = MemoryStore()
    store.put("a.tif", cog.read_bytes())
    registry = ObjectStoreRegistry({"memory://": store})
    same(virtual_cog.read("memory:///a.tif", registry=registry, device="gpu"), host)


def test_threads_and_the_callers_stream(cog):
    import cupy

    host = virtual_cog.read(cog)

    def work(_):
        with cupy.cuda.Stream(non_blocking=True):
            return (virtual_cog.read(cog, device="gpu") + 1).get()

    with ThreadPoolExecutor(4) as pool:
        for got in pool.map(work, range(16)):
            np.testing.assert_array_equal(got, host + 1)


def test_dlpack_without_a_copy(cog):
    torch, jax = pytest.importorskip("torch"), pytest.importorskip("jax")
    pixels = virtual_cog.read(cog, device="gpu")
    tensor = torch.from_dlpack(pixels)
    assert tensor.data_ptr() == pixels.data.ptr
    np.testing.assert_array_equal(tensor.cpu().numpy(), pixels.get())
    array = jax.dlpack.from_dlpack(pixels)
    assert array.unsafe_buffer_pointer() == pixels.data.ptr


def test_arrays_pickle_without_handles(cog):
    with gpu.enable():
        array = zarr.open_group(virtual_cog.open_store(cog), mode="r")["band_data"]
        pipeline = pickle.dumps(array._async_array.codec_pipeline._metadata)
        assert b"cupy" not in pipeline


def test_icechunk(cog, tmp_path):
    icechunk = pytest.importorskip("icechunk")
    from virtual_cog._icechunk import open_reference, write_repository

    write_repository([open_reference(str(cog))], tmp_path / "repo", message="one")
    prefix = f"file://{cog.parent}/"
    storage = icechunk.local_filesystem_storage(str(tmp_path / "repo"))
    access = {prefix: icechunk.credentials.LocalFileSystemAccess}
    repo = icechunk.Repository.open(storage, authorize_virtual_chunk_access=access)
    with gpu.enable():
        array = zarr.open_group(repo.readonly_session("main").store, mode="r")["band_data"]
        for _ in range(2):
            same(array[...], virtual_cog.read(cog))
        forbidden = icechunk.Repository.open(storage).readonly_session("main").store
        with pytest.raises(TiffAccessError, match="authorize_virtual_chunk_access"):
            zarr.open_group(forbidden, mode="r")["band_data"][...]


@pytest.mark.parametrize(("number", "compress"), [(1, bytes), (8, zlib.compress), (5, imagecodecs.lzw_encode)])
def test_bits_in_reverse_order(tmp_path, number, compress):
    """FillOrder 2: each byte of the file the other way round."""
    pixels = np.random.default_rng(5).integers(0, 9, (64, 48), "u1")
    data = bytes(int(f"{byte:08b}"[::-1], 2) for byte in compress(pixels.tobytes()))
    file = RawTiff()
    at = file.block(data)
    file.ifd([(256, 3, [48]), (257, 3, [64]), (258, 3, [8]), (259, 3, [number]), (262, 3, [1]), (266, 3, [2]),
              (273, 4, [at]), (277, 3, [1]), (278, 3, [64]), (279, 4, [len(data)])])  # fmt: skip
    path = tmp_path / "a.tif"
    path.write_bytes(file.bytes())
    same(read_gpu(path), pixels[None])
    with gpu.enable(strict=True):
        same(zarr.open_group(virtual_cog.open_store(path), mode="r")["band_data"][...], pixels[None])
