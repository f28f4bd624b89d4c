from __future__ import annotations

import importlib.metadata
import json
import re
import subprocess
import sys

import numpy as np
import pytest
import xarray as xr
import zarr
from zarr.abc.codec import BytesBytesCodec
from zarr.core import codec_pipeline
from zarr.registry import get_codec_class

import tiff_codecs
from tiff_codecs import TiffDataError, TiffUnsupportedError, TileCodec, TileLayout, cpu

CODECS = {
    codec.codec_name: codec
    for codec in (getattr(tiff_codecs, name) for name in tiff_codecs.__all__)
    if isinstance(codec, type) and hasattr(codec, "codec_name")
}
BYTE_CODECS = [name for name, codec in CODECS.items() if issubclass(codec, BytesBytesCodec)]
ZARRS_OWN = [name for name in ("BatchedCodecPipeline", "FusedCodecPipeline") if hasattr(codec_pipeline, name)]
PIPELINES = [*[f"zarr.core.codec_pipeline.{name}" for name in ZARRS_OWN], cpu.settings.PIPELINE]
CHAINS = [
    [],
    *[[name] for name in BYTE_CODECS],
    ["tiff_codecs.lzw", "tiff_codecs.fill_order"],
]
LAYOUTS = [
    TileLayout("little", 8, "uint", 2),
    TileLayout("big", 16, "int", 2),
    TileLayout("little", 32, "float", 3),
    TileLayout("big", 64, "float", 3),
    TileLayout("big", 64, "complex_float", 2),
    TileLayout("big", 32, "complex_int"),
    TileLayout("little", 12, "uint"),
    TileLayout("little", 1, "uint"),
    TileLayout("little", 16, "uint", 1, last_strip_rows=3),
]


@pytest.fixture(params=PIPELINES)
def pipeline(request):
    with zarr.config.set({"codec_pipeline.path": request.param}):
        yield request.param


def values_of(layout, shape):
    values = np.random.default_rng(0).integers(0, 2 ** min(layout.bits_per_sample, 15), shape)
    return values.astype(layout.dtype)


def create(store, values, layout, chain=(), chunks=(3, 10, 16), **options):
    array = zarr.create_array(
        store,
        shape=values.shape,
        chunks=chunks,
        dtype=values.dtype,
        filters=[],
        serializer=TileCodec(layout),
        compressors=[CODECS[name]() for name in chain],
        **options,
    )
    array[...] = values
    return array


@pytest.mark.parametrize("chain", CHAINS, ids="+".join)
def test_arrays_are_written_and_read(pipeline, chain):
    layout = TileLayout("big", 16, "uint", 2)
    values = values_of(layout, (3, 25, 40))
    store = zarr.storage.MemoryStore()
    create(store, values, layout, chain)
    array = zarr.open_array(store, mode="r")
    assert pipeline.endswith(f".{type(array._async_array.codec_pipeline).__name__}")
    assert np.array_equal(array[...], values)
    assert np.array_equal(array[1, 7:13, 30:], values[1, 7:13, 30:])
    assert np.array_equal(array[::2, ::3, ::5], values[::2, ::3, ::5])


@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
def test_every_kind_of_sample_is_written_and_read(tmp_path, pipeline, layout):
    values = values_of(layout, (3, 25, 40))
    create(tmp_path / "a.zarr", values, layout, ["tiff_codecs.deflate"])
    array = zarr.open_array(tmp_path / "a.zarr", mode="r+")
    assert array.dtype == layout.dtype
    assert np.array_equal(array[...], values)
    array[0, :5] = values[1, :5]
    assert np.array_equal(array[0, :5], values[1, :5])
    assert np.array_equal(array[:, 5:], values[:, 5:])


def test_stacks_in_time_are_tiles_too(pipeline):
    layout = TileLayout("little", 16, "uint", 2)
    values = values_of(layout, (2, 3, 25, 40))
    store = zarr.storage.MemoryStore()
    create(store, values, layout, ["tiff_codecs.zstd"], chunks=(1, 3, 10, 16))
    assert np.array_equal(zarr.open_array(store, mode="r")[...], values)


def test_reading_leaves_the_store_as_it_was(pipeline):
    layout = TileLayout("big", 32, "float", 3)
    values = values_of(layout, (3, 20, 32))
    store = zarr.storage.MemoryStore()
    create(store, values, layout)
    array = zarr.open_array(store, mode="r")
    assert np.array_equal(array[...], values)
    assert np.array_equal(array[...], values)


def test_short_last_strip_is_read(tmp_path, pipeline):
    layout = TileLayout("little", 16, "uint", 2, last_strip_rows=3)
    values = values_of(layout, (3, 23, 16))
    create(tmp_path / "a.zarr", values, layout, ["tiff_codecs.deflate"])
    raw = tiff_codecs.encode_samples(values[:, 20:], layout)
    last = tmp_path / "a.zarr" / "c" / "0" / "2" / "0"
    last.write_bytes(tiff_codecs.deflate.encode(raw))
    array = zarr.open_array(tmp_path / "a.zarr", mode="r")
    assert np.array_equal(array[...], values)
    last.write_bytes(tiff_codecs.deflate.encode(raw[:-2]))
    with pytest.raises(TiffDataError):
        array[...]


def test_damaged_chunk_raises_our_error(tmp_path, pipeline):
    layout = TileLayout("little", 16, "uint", 2)
    create(tmp_path / "a.zarr", values_of(layout, (3, 20, 16)), layout, ["tiff_codecs.deflate"])
    chunk = tmp_path / "a.zarr" / "c" / "0" / "1" / "0"
    chunk.write_bytes(chunk.read_bytes()[:-9])
    array = zarr.open_array(tmp_path / "a.zarr", mode="r")
    assert array[:, :10].any()
    with pytest.raises(TiffDataError):
        array[...]


@pytest.mark.parametrize("name", CODECS)
def test_names_are_the_entry_points_and_allowed_by_zarr(name):
    assert re.fullmatch(r"^[a-z][a-z0-9-_.]+$", name)
    points = importlib.metadata.entry_points(group="zarr.codecs", name=name)
    assert [point.load() for point in points] == [CODECS[name]]
    assert get_codec_class(name) is CODECS[name]


def test_metadata_in_the_store_is_what_is_documented(tmp_path):
    layout = TileLayout("big", 16, "uint", 2)
    chain = ["tiff_codecs.lzw", "tiff_codecs.fill_order"]
    create(tmp_path / "a.zarr", values_of(layout, (3, 20, 16)), layout, chain)
    metadata = json.loads((tmp_path / "a.zarr" / "zarr.json").read_text())
    assert metadata["codecs"] == [
        {
            "name": "tiff_codecs.tile",
            "configuration": {
                "version": 1,
                "byte_order": "big",
                "bits_per_sample": 16,
                "sample_format": "uint",
                "predictor": 2,
            },
        },
        {"name": "tiff_codecs.lzw", "configuration": {}},
        {"name": "tiff_codecs.fill_order", "configuration": {}},
    ]


def test_fresh_process_reads_what_it_has_never_heard_of(tmp_path):
    layout = TileLayout("big", 32, "float", 3)
    values = values_of(layout, (3, 25, 40))
    for name in BYTE_CODECS:
        create(tmp_path / name, values, layout, [name])
    np.save(tmp_path / "values.npy", values)
    code = f"""
import sys, pathlib, numpy, zarr
values = numpy.load("values.npy")
for path in sorted(pathlib.Path().glob("tiff_codecs.*")):
    for pipeline in {PIPELINES}:
        with zarr.config.set({{"codec_pipeline.path": pipeline}}):
            assert numpy.array_equal(zarr.open_array(path, mode="r")[...], values), path
    print(path)
print("virtual_cog" in sys.modules, "cupy" in sys.modules)
"""
    command = [sys.executable, "-W", "error", "-c", code]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == [*sorted(BYTE_CODECS), "False", "False"]


@pytest.mark.parametrize(
    ("shape", "chunks", "dtype", "problem"),
    [
        ((3, 20, 16), (3, 10, 16), "i2", "data type"),
        ((3, 20, 16), (3, 10, 16), "f4", "data type"),
        ((3, 20, 16), (3, 10, 16), "bool", "data type"),
        ((3, 20, 16), (3, 10, 16), str, "data type|string dtype"),  # zarr's own word in older versions
        ((3, 20, 16), (3, 10, 16), "S4", "data type"),
        ((3, 20, 16), (3, 10, 16), [("a", "u1"), ("b", "u1")], "data type"),
        ((20, 16), (10, 16), "u2", "not TIFF tiles"),
        ((4, 3, 20, 16), (2, 3, 10, 16), "u2", "not TIFF tiles"),
    ],
)
def test_arrays_that_do_not_fit_are_refused_when_created(shape, chunks, dtype, problem):
    with pytest.raises((TiffUnsupportedError, ValueError), match=problem):
        zarr.create_array(
            zarr.storage.MemoryStore(),
            shape=shape,
            chunks=chunks,
            dtype=dtype,
            serializer=TileCodec(TileLayout("big", 16, "uint", 2)),
        )


def test_shards_of_tiles(pipeline):
    layout = TileLayout("big", 16, "uint", 2)
    values = values_of(layout, (3, 40, 64))
    for chain in ([], ["tiff_codecs.fill_order"], ["tiff_codecs.packbits"]):
        store = zarr.storage.MemoryStore()
        create(store, values, layout, chain, shards=(3, 20, 32))
        array = zarr.open_array(store, mode="r")
        assert np.array_equal(array[...], values)
        assert np.array_equal(array[1:2, 5:15, 60:], values[1:2, 5:15, 60:])


@pytest.mark.filterwarnings("ignore:.*consolidated.*")
def test_xarray_writes_what_it_opened_with_the_same_codecs(tmp_path):
    layout = TileLayout("big", 32, "float", 3)
    values = values_of(layout, (3, 20, 32))
    group = zarr.create_group(tmp_path / "a.zarr")
    create(group.store_path, values, layout, ["tiff_codecs.zstd"], name="pixels", dimension_names=["band", "y", "x"])
    opened = xr.open_zarr(tmp_path / "a.zarr", consolidated=False)
    opened.to_zarr(tmp_path / "b.zarr", consolidated=False)
    copied = zarr.open_array(tmp_path / "b.zarr" / "pixels", mode="r")
    assert copied.metadata.codecs == zarr.open_array(tmp_path / "a.zarr" / "pixels", mode="r").metadata.codecs
    assert np.array_equal(copied[...], values)


def manifest_dataset(tmp_path, codecs, values, raw):
    virtualizarr = pytest.importorskip("virtualizarr.manifests")
    metadata_utils = pytest.importorskip("virtualizarr.manifests.utils")
    path = tmp_path / "tiles.bin"
    path.write_bytes(raw)
    manifest = virtualizarr.ChunkManifest(
        {"0.0.0": {"path": path.as_uri(), "offset": 0, "length": len(raw)}},
    )
    metadata = metadata_utils.create_v3_array_metadata(
        shape=values.shape, data_type=values.dtype, chunk_shape=values.shape, codecs=codecs, fill_value=0
    )
    array = virtualizarr.ManifestArray(metadata=metadata, chunkmanifest=manifest)
    return xr.Dataset({"band_data": (("band", "y", "x"), array)})


CONVERTED = [["tiff_codecs.deflate"], [], ["tiff_codecs.packbits", "tiff_codecs.fill_order"]]


@pytest.mark.parametrize("chain", CONVERTED, ids="+".join)
def test_export_to_zarr_format_2_fails_loudly(tmp_path, chain):
    pytest.importorskip("kerchunk")
    layout = TileLayout("big", 16, "uint", 2)
    codecs = [TileCodec(layout).to_dict(), *[{"name": name} for name in chain]]
    dataset = manifest_dataset(tmp_path, codecs, values_of(layout, (3, 10, 16)), b"x")
    with pytest.raises(TiffUnsupportedError, match="zarr_format=3"):
        dataset.vz.to_kerchunk(format="dict", zarr_format=2)


def test_export_to_zarr_format_3_reads_the_same(tmp_path):
    fsspec_store = pytest.importorskip("fsspec.implementations.reference")
    asyn = pytest.importorskip("fsspec.implementations.asyn_wrapper")
    layout = TileLayout("big", 16, "uint", 2)
    values = values_of(layout, (3, 10, 16))
    raw = tiff_codecs.deflate.encode(tiff_codecs.encode_samples(values, layout))
    codecs = [TileCodec(layout).to_dict(), {"name": "tiff_codecs.deflate"}]
    references = manifest_dataset(tmp_path, codecs, values, raw).vz.to_kerchunk(format="dict", zarr_format=3)
    files = asyn.AsyncFileSystemWrapper(fsspec_store.ReferenceFileSystem(references), asynchronous=True)
    store = zarr.storage.FsspecStore(files, read_only=True, path="")
    assert np.array_equal(zarr.open_group(store, mode="r")["band_data"][...], values)


# Zarr itself says so, of the compressed bytes that it copies from a store in host memory.
@pytest.mark.filterwarnings("ignore:Creating a zarr.buffer.gpu")
@pytest.mark.gpu
def test_gpu_buffers_get_device_arrays(pipeline):
    import cupy
    from zarr.core.buffer import gpu

    layout = TileLayout("big", 16, "uint", 2)
    values = values_of(layout, (3, 25, 40))
    store = zarr.storage.MemoryStore()
    create(store, values, layout, ["tiff_codecs.deflate"])
    with zarr.config.set({"buffer": "zarr.buffer.gpu.Buffer", "ndbuffer": "zarr.buffer.gpu.NDBuffer"}):
        pixels = zarr.open_array(store, mode="r").get_basic_selection(prototype=gpu.buffer_prototype)
    assert isinstance(pixels, cupy.ndarray)
    assert np.array_equal(pixels.get(), values)
