from __future__ import annotations

import dataclasses
import json
import pickle

import numpy as np
import pytest
from zarr.core.array_spec import ArrayConfig, ArraySpec
from zarr.core.buffer import core, default_buffer_prototype
from zarr.dtype import parse_dtype

import tiff_codecs
from tiff_codecs import (
    DeflateCodec,
    FillOrderCodec,
    LzmaCodec,
    LzwCodec,
    PackbitsCodec,
    TiffDataError,
    TiffOptionError,
    TiffUnsupportedError,
    TileCodec,
    TileLayout,
    ZstdCodec,
)

BYTES_CODECS = [DeflateCodec, LzwCodec, ZstdCodec, LzmaCodec, PackbitsCodec, FillOrderCodec]
LAYOUT = TileLayout("big", 16, "uint", 2)
CONFIGURATION = {
    "version": 1,
    "byte_order": "big",
    "bits_per_sample": 16,
    "sample_format": "uint",
    "predictor": 2,
}


def spec_of(shape, dtype, prototype=None):
    return ArraySpec(
        shape=shape,
        dtype=parse_dtype(np.dtype(dtype), zarr_format=3),
        fill_value=0,
        config=ArrayConfig.from_dict({}),
        prototype=prototype or default_buffer_prototype(),
    )


class DeviceArray:
    """Memory that NumPy cannot see: whoever takes it for a NumPy array fails."""

    def __init__(self, host):
        assert type(host) is np.ndarray
        self.on_device = host.copy()

    dtype = property(lambda self: self.on_device.dtype)
    ndim = property(lambda self: self.on_device.ndim)
    shape = property(lambda self: self.on_device.shape)
    size = property(lambda self: self.on_device.size)

    def __array__(self, *args, **kwargs):
        raise TypeError("implicit conversion to a NumPy array is not allowed")


class DeviceBuffer(core.Buffer):
    @classmethod
    def create_zero_length(cls):
        return cls(DeviceArray(np.empty(0, np.uint8)))

    @classmethod
    def from_buffer(cls, buffer):
        return cls(DeviceArray(buffer.as_numpy_array()))

    @classmethod
    def from_bytes(cls, bytes_like):
        return cls(DeviceArray(np.frombuffer(bytes_like, np.uint8)))

    def as_numpy_array(self):
        return self._data.on_device.copy()

    def combine(self, others):
        raise NotImplementedError


class DeviceNDBuffer(core.NDBuffer):
    @classmethod
    def create(cls, **kwargs):
        raise NotImplementedError

    @classmethod
    def from_numpy_array(cls, array_like):
        return cls(DeviceArray(array_like))

    def as_numpy_array(self):
        return self._data.on_device.copy()


DEVICE = core.BufferPrototype(buffer=DeviceBuffer, nd_buffer=DeviceNDBuffer)


def test_configuration_says_everything_and_nothing_else():
    codec = TileCodec(LAYOUT)
    assert codec.to_dict() == {"name": "tiff_codecs.tile", "configuration": CONFIGURATION}
    short = TileCodec(dataclasses.replace(LAYOUT, last_strip_rows=7))
    assert short.to_dict()["configuration"] == CONFIGURATION | {"last_strip_rows": 7}
    for each in (codec, short):
        twin = TileCodec.from_dict(json.loads(json.dumps(each.to_dict())))
        assert twin == each
        assert hash(twin) == hash(each)
        assert pickle.loads(pickle.dumps(each)) == each  # noqa: S301
    assert codec != short


@pytest.mark.parametrize(
    "change",
    [
        {"version": None},
        {"version": "1"},
        {"version": 0},
        {"version": True},
        {"byte_order": "<"},
        {"bits_per_sample": 16.0},
        {"bits_per_sample": "16"},
        {"sample_format": 1},
        {"predictor": 5},
        {"last_strip_rows": 0},
        {"nodata": 0},
    ],
)
def test_configurations_without_a_meaning_are_refused(change):
    with pytest.raises(TiffOptionError):
        TileCodec.from_dict({"name": "tiff_codecs.tile", "configuration": CONFIGURATION | change})


@pytest.mark.parametrize("key", CONFIGURATION)
def test_no_key_of_the_configuration_may_be_missing(key):
    rest = {name: value for name, value in CONFIGURATION.items() if name != key}
    with pytest.raises(TiffOptionError, match="version" if key == "version" else f"missing {key}"):
        TileCodec.from_dict({"name": "tiff_codecs.tile", "configuration": rest})


def test_later_versions_ask_for_an_upgrade():
    later = {"version": 3, "something": "new"}
    with pytest.raises(TiffUnsupportedError, match=r"version 3; .*upgrade"):
        TileCodec.from_dict({"name": "tiff_codecs.tile", "configuration": later})


@pytest.mark.parametrize(
    "data",
    [
        {"name": "bytes", "configuration": CONFIGURATION},
        {"configuration": CONFIGURATION},
        {"name": "tiff_codecs.tile"},
        {"name": "tiff_codecs.tile", "configuration": None},
        {"name": "tiff_codecs.tile", "configuration": [1]},
        {"name": "tiff_codecs.tile", "configuration": CONFIGURATION, "more": 1},
        "tiff_codecs.tile",
        None,
        7,
    ],
)
def test_metadata_of_another_form_is_refused(data):
    with pytest.raises(TiffOptionError):
        TileCodec.from_dict(data)


@pytest.mark.parametrize("codec", BYTES_CODECS)
def test_bytes_codecs_have_no_configuration(codec):
    name = codec.codec_name
    assert codec().to_dict() == {"name": name, "configuration": {}}
    for data in ({"name": name}, {"name": name, "configuration": {}}, name):
        assert codec.from_dict(data) == codec()
    for data in ({"name": name, "configuration": {"level": 1}}, {"name": "zstd"}, "zstd", None):
        with pytest.raises(TiffOptionError):
            codec.from_dict(data)
    assert len({codec(), codec(), pickle.loads(pickle.dumps(codec()))}) == 1  # noqa: S301
    assert codec() != (LzwCodec() if codec is not LzwCodec else ZstdCodec())


def test_compressions_name_their_codecs():
    for number, compression in tiff_codecs.COMPRESSIONS.items():
        assert compression.number == number
        assert number in tiff_codecs.COMPRESSION_NAMES
        if compression.codec is None:
            assert compression.decode is None
            continue
        assert compression.codec.codec_name == f"tiff_codecs.{compression.name}"
        encoded = compression.codec.encode_bytes(np.arange(200, dtype=np.uint8))
        assert compression.decode(encoded, 100).tolist() == list(range(100))


@pytest.mark.parametrize("prototype", [default_buffer_prototype(), DEVICE], ids=["host", "device"])
@pytest.mark.parametrize("codec", BYTES_CODECS)
def test_bytes_codecs_keep_to_the_memory_that_is_asked_for(codec, prototype):
    spec = spec_of((2, 5, 100), "u2", prototype)
    text = bytes(range(200)) * 10
    encoded = codec()._encode_sync(prototype.buffer.from_bytes(text), spec)
    assert type(encoded) is prototype.buffer
    decoded = codec()._decode_sync(encoded, spec)
    assert type(decoded) is prototype.buffer
    assert decoded.to_bytes() == text


@pytest.mark.parametrize("prototype", [default_buffer_prototype(), DEVICE], ids=["host", "device"])
@pytest.mark.parametrize("lead", [(), (1,), (1, 1)])
def test_tile_codec_keeps_to_the_memory_that_is_asked_for(prototype, lead, noise):
    values = noise("u2", (3, 6, 7))
    spec = spec_of((*lead, 3, 6, 7), "u2", prototype)
    codec = TileCodec(LAYOUT)
    encoded = codec._encode_sync(prototype.nd_buffer.from_numpy_array(values.reshape(spec.shape)), spec)
    assert type(encoded) is prototype.buffer
    assert encoded.to_bytes() == tiff_codecs.encode_samples(values, LAYOUT)
    assert codec.compute_encoded_size(0, spec) == len(encoded)
    decoded = codec._decode_sync(encoded, spec)
    assert type(decoded) is prototype.nd_buffer
    assert decoded.shape == spec.shape
    assert np.array_equal(decoded.as_numpy_array(), values.reshape(spec.shape))


@pytest.mark.parametrize("codec", [codec for codec in BYTES_CODECS if codec is not FillOrderCodec])
def test_chunk_bounds_what_a_bytes_codec_decodes(codec):
    spec = spec_of((1, 10, 10), "u2")
    encoded = codec()._encode_sync(spec.prototype.buffer.from_bytes(bytes(100_000)), spec)
    assert len(codec()._decode_sync(encoded, spec)) == 200
    with pytest.raises(TiffUnsupportedError):
        codec().compute_encoded_size(200, spec)


def test_fill_order_is_not_bounded_by_the_chunk():
    spec = spec_of((1, 1, 1), "u1")
    assert len(FillOrderCodec()._decode_sync(spec.prototype.buffer.from_bytes(bytes(50)), spec)) == 50
    assert FillOrderCodec().compute_encoded_size(50, spec) == 50


def test_bytes_codecs_refuse_data_types_without_a_size():
    spec = ArraySpec((2,), parse_dtype(str, zarr_format=3), "", ArrayConfig.from_dict({}), default_buffer_prototype())
    with pytest.raises(TiffUnsupportedError, match="data type"):
        DeflateCodec()._decode_sync(spec.prototype.buffer.from_bytes(b""), spec)


def test_damaged_tiles_raise_our_error():
    spec = spec_of((3, 6, 7), "u2")
    codec = TileCodec(LAYOUT)
    for wrong in (b"", bytes(251)):
        with pytest.raises(TiffDataError):
            codec._decode_sync(spec.prototype.buffer.from_bytes(wrong), spec)
    with pytest.raises(TiffDataError):
        DeflateCodec()._decode_sync(spec.prototype.buffer.from_bytes(b"no stream"), spec)


@pytest.mark.parametrize("shape", [(6, 7), (2, 3, 6, 7), (7,)])
def test_chunks_that_are_no_tiles_are_refused(shape):
    spec = spec_of(shape, "u2")
    with pytest.raises(TiffUnsupportedError):
        TileCodec(LAYOUT)._decode_sync(spec.prototype.buffer.from_bytes(bytes(1000)), spec)


def test_tiles_of_volumes():
    """Slices lie one below the other; the array's chunks have an axis for them."""
    codec = TileCodec(LAYOUT, tile_depth=3)
    metadata = codec.to_dict()
    plain = TileCodec(LAYOUT).to_dict()["configuration"]
    assert metadata["configuration"] == {**plain, "version": 2, "tile_depth": 3}
    assert TileCodec.from_dict(metadata) == codec
    chunk = np.arange(2 * 3 * 4 * 5, dtype=LAYOUT.dtype).reshape(2, 3, 4, 5)
    spec = spec_of(chunk.shape, LAYOUT.dtype)
    encoded = codec._encode_sync(spec.prototype.nd_buffer.from_numpy_array(chunk), spec)
    assert encoded.to_bytes() == tiff_codecs.encode_samples(chunk.reshape(2, 12, 5), LAYOUT)
    np.testing.assert_array_equal(codec._decode_sync(encoded, spec).as_numpy_array(), chunk)
    for shape in ((3, 4, 5), (2, 2, 4, 5), (2, 2, 3, 4, 5)):
        with pytest.raises(TiffUnsupportedError, match=r"\(\.\.\., bands, "):
            codec._decode_sync(encoded, spec_of(shape, LAYOUT.dtype))
    for depth in (0, True, "3"):
        with pytest.raises(TiffOptionError, match="slices"):
            TileCodec(LAYOUT, tile_depth=depth)


def test_asking_for_the_byte_order_raises():
    with pytest.raises(TiffUnsupportedError, match="zarr_format=3"):
        getattr(TileCodec(LAYOUT), "endian", None)
