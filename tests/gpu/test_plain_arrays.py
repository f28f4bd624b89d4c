"""Arrays that zarr wrote, with codecs that TIFF has not: the same on the device, and decompressed there."""

from __future__ import annotations

import logging

import numpy as np
import pytest
import zarr

from plain_arrays import CODECS, DAMAGE, FORMS, MEMBERS, pixels, store
from tiff_codecs import gpu
from tiff_codecs.errors import TiffDataError
from tiff_codecs.gpu import nvcomp

pytestmark = pytest.mark.gpu


@pytest.fixture
def on_host(caplog):
    """What the log says of chunks that were decompressed on the CPU."""
    caplog.set_level(logging.INFO, "tiff_codecs.gpu")
    return lambda: [record.getMessage() for record in caplog.records if record.name == "tiff_codecs.gpu"]


@pytest.fixture(autouse=True)
def _enabled():
    with gpu.enable():
        yield


def opened(source):
    return zarr.open_group(source, mode="r")["a"]


def same(device, host):
    import cupy

    assert isinstance(device, cupy.ndarray)
    assert device.dtype == host.dtype
    np.testing.assert_array_equal(device.get(), host)


def expect_device(codec, messages):
    if codec != "numcodecs.lz4" or nvcomp.is_available():
        assert not messages
    else:
        assert messages


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("form", FORMS)
def test_arrays(tmp_path, on_host, codec, form):
    dtype, shape, chunks, endian = FORMS[form]
    values = pixels(dtype, shape)
    array = opened(store(tmp_path, values, chunks, codec, endian=endian))
    same(array[...], values)
    same(array[..., 1:33, 5:], np.ascontiguousarray(values[..., 1:33, 5:]))
    expect_device(codec, on_host())


@pytest.mark.parametrize("codec", ["gzip", "numcodecs.lz4"])
@pytest.mark.parametrize("rows", [4000, 4500])
def test_large_chunks_of_noise_with_requests_of_their_own(tmp_path, on_host, codec, rows):
    values = np.random.default_rng(1).integers(0, 256, (5000, 4097), "u1")
    values[1000:1500] = 7
    array = opened(store(tmp_path, values, (rows, 4097), codec))
    same(array[...], values)
    if codec == "numcodecs.lz4" and rows * 4097 > nvcomp.MOST_LZ4:
        assert on_host()
    else:
        expect_device(codec, on_host())


@pytest.mark.parametrize("members", MEMBERS)
def test_gzip_streams_of_other_forms(tmp_path, on_host, members):
    values = pixels("u2", (100, 90))
    array = opened(store(tmp_path, values, (50, 45), "gzip", edit=lambda _, data: MEMBERS[members](data)))
    same(array[...], values)
    assert bool(on_host()) == (members != "stored")


@pytest.mark.parametrize(("codec", "damage"), [(codec, damage) for codec in DAMAGE for damage in DAMAGE[codec]])
def test_a_damaged_chunk_is_named_and_the_next_read_works(tmp_path, codec, damage):
    def edit(place, data):
        return DAMAGE[codec][damage](data) if place == (1, 0) else data

    values = pixels("u2", (100, 90))
    array = opened(store(tmp_path, values, (50, 45), codec, edit=edit))
    for _ in range(2):
        with pytest.raises(TiffDataError) as caught:
            array[...]
        assert caught.value.url.endswith("chunks.bin")
        assert caught.value.tile == (1, 0)
        same(array[:50], values[:50])


def test_strict_takes_gzip(tmp_path):
    values = pixels("u2", (100, 90))
    with gpu.enable(strict=True):
        array = zarr.open_group(store(tmp_path, values, (50, 45), "gzip"), mode="r")["a"]
        same(array[...], values)
