"""What all codecs of tiles that are images share: their JSON, sound streams and hostile ones, and Zarr around them."""

from __future__ import annotations

import json
import pickle
import resource
import struct
import time

import imagecodecs
import numpy as np
import pytest
import tifffile
import virtualizarr
import xarray as xr
import zarr
from obspec_utils.registry import ObjectStoreRegistry
from obstore.store import LocalStore

import virtual_cog
from tiff_codecs import (
    CcittCodec,
    Jpeg2000Codec,
    JpegCodec,
    JpegxlCodec,
    JpegxrCodec,
    LercCodec,
    MixedBitsCodec,
    NextRleCodec,
    OldJpegCodec,
    PixarlogCodec,
    PngCodec,
    SgilogCodec,
    ThunderscanCodec,
    TiffDataError,
    TiffError,
    TiffOptionError,
    TiffUnsupportedError,
    WebpCodec,
    YcbcrCodec,
)
from tiff_codecs.old_jpeg import encode_header

RNG = np.random.default_rng(13)
SHAPE = (3, 32, 40)
PIXELS = (RNG.integers(-9, 10, (32, 40, 3)).cumsum(0) + 128).clip(0, 255).astype("u1")
JPEG = bytes(imagecodecs.jpeg_encode(PIXELS, colorspace="RGB", outcolorspace="YCBCR"))
SCAN = JPEG.index(b"\xff\xda")
SCAN_END = SCAN + 2 + int.from_bytes(JPEG[SCAN + 2 : SCAN + 4])
GREY = PIXELS[..., 0]

STREAMS = {
    "jpeg": (JpegCodec(ycbcr_to_rgb=True), JPEG),
    "jpeg2000": (Jpeg2000Codec(), imagecodecs.jpeg2k_encode(PIXELS, level=0)),
    "jpegxl": (JpegxlCodec(), imagecodecs.jpegxl_encode(PIXELS, lossless=True)),
    "jpegxr": (JpegxrCodec(), imagecodecs.jpegxr_encode(PIXELS, level=1.0)),
    "lerc": (LercCodec(additional_compression="none"), imagecodecs.lerc_encode(PIXELS)),
    "lerc_zstd": (
        LercCodec(additional_compression="zstd"),
        imagecodecs.zstd_encode(imagecodecs.lerc_encode(PIXELS)),
    ),
    "png": (PngCodec(), imagecodecs.png_encode(PIXELS)),
    "webp": (WebpCodec(), imagecodecs.webp_encode(PIXELS, lossless=True)),
    "old_jpeg": (
        OldJpegCodec(ycbcr_to_rgb=True, header=encode_header(JPEG[:SCAN_END])),
        JPEG[SCAN_END:],
    ),
    "ycbcr": (YcbcrCodec(subsampling=(2, 2)), RNG.bytes(32 * 40 * 3 // 2)),
    "mixed_bits": (MixedBitsCodec(bits_per_sample=(5, 6, 5)), RNG.bytes(32 * 40 * 2)),
}
ONE_BAND = {
    "ccitt": (CcittCodec(scheme="group4"), "u1", RNG.bytes(200)),
    "ccitt_rle": (CcittCodec(scheme="rle"), "u1", RNG.bytes(200)),
    "group3": (CcittCodec(scheme="group3", t4_options=5), "u1", RNG.bytes(200)),
    "thunderscan": (ThunderscanCodec(), "u1", (0xC0 | RNG.integers(0, 16, 32 * 40, "u1")).tobytes()),
    "next_rle": (NextRleCodec(), "u1", (bytes(1) + RNG.bytes(10)) * 32),
    "pixarlog": (PixarlogCodec(), "u1", imagecodecs.pixarlog_encode(GREY)),
    "sgilog": (SgilogCodec(scheme="run_length"), "f4", b"\xff\x10" * 100),
    "sgilog_i2": (SgilogCodec(scheme="run_length"), "i2", b"\xff\x10" * 100),
}
ALL = [(name, codec, "u1", 3, bytes(stream)) for name, (codec, stream) in STREAMS.items()]
ALL += [(name, codec, dtype, 1, bytes(stream)) for name, (codec, dtype, stream) in ONE_BAND.items()]
EVERY = pytest.mark.parametrize(("codec", "dtype", "bands", "stream"), [c[1:] for c in ALL], ids=[c[0] for c in ALL])


@EVERY
def test_json(codec, dtype, bands, stream):
    data = json.loads(json.dumps(codec.to_dict()))
    assert data["name"] == codec.codec_name
    assert data["configuration"]["version"] == 1
    assert type(codec).from_dict(data) == codec == pickle.loads(pickle.dumps(codec))  # noqa: S301
    short = data | {"configuration": data["configuration"] | {"last_strip_rows": 7}}
    assert type(codec).from_dict(short).to_dict() == short
    for change, error in (
        ({"quality": 90}, TiffOptionError),
        ({"last_strip_rows": 0}, TiffOptionError),
        ({"last_strip_rows": True}, TiffOptionError),
        ({"version": 2}, TiffUnsupportedError),
        ({"version": "1"}, TiffOptionError),
    ):
        with pytest.raises(error):
            type(codec).from_dict(data | {"configuration": data["configuration"] | change})
    for key in codec.required:
        without = {name: value for name, value in data["configuration"].items() if name != key}
        with pytest.raises(TiffOptionError):
            type(codec).from_dict(data | {"configuration": without})


@pytest.mark.parametrize(
    "make",
    [
        lambda: CcittCodec(scheme="group5"),
        lambda: CcittCodec(scheme="group3", t4_options=8),
        lambda: LercCodec(additional_compression="lzma"),
        lambda: LercCodec(additional_compression="none", byte_order="middle"),
        lambda: SgilogCodec(scheme="packed32"),
        lambda: YcbcrCodec(subsampling=(3, 1)),
        lambda: YcbcrCodec(subsampling=(2,)),
        lambda: MixedBitsCodec(bits_per_sample=()),
        lambda: MixedBitsCodec(bits_per_sample=(8, 65)),
    ],
)
def test_configurations_without_a_meaning(make):
    with pytest.raises(TiffOptionError):
        make()


@pytest.mark.parametrize("name", ["jpeg2000", "jpegxl", "lerc", "lerc_zstd", "png", "webp"])
def test_lossless_streams_come_back(name):
    codec, stream = STREAMS[name]
    np.testing.assert_array_equal(codec.decode_chunk(stream, np.dtype("u1"), SHAPE), PIXELS.transpose(2, 0, 1))


@EVERY
def test_truncated_streams_end_promptly(codec, dtype, bands, stream):
    shape = (bands, *SHAPE[1:])
    for end in {*range(24), *np.linspace(0, len(stream), 40).astype(int).tolist()}:
        decode(codec, stream[:end], dtype, shape)
    with pytest.raises(TiffDataError):
        codec.decode_chunk(b"", np.dtype(dtype), shape)


@pytest.mark.parametrize("part", [0.1, 0.5, 0.9])
@pytest.mark.parametrize("name", STREAMS)
def test_truncated_streams_never_pass_for_whole(name, part):
    codec, stream = STREAMS[name]
    with pytest.raises(TiffDataError):
        codec.decode_chunk(stream[: int(len(stream) * part)], np.dtype("u1"), SHAPE)


@pytest.mark.parametrize("name", ["jpeg", "old_jpeg"])
def test_a_jpeg_whose_end_marker_alone_is_missing(name):
    codec, stream = STREAMS[name]
    whole = codec.decode_chunk(stream, np.dtype("u1"), SHAPE)
    np.testing.assert_array_equal(codec.decode_chunk(stream[:-2], np.dtype("u1"), SHAPE), whole)


@EVERY
def test_streams_damaged_at_random(codec, dtype, bands, stream):
    """Samples of the right shape and type or our error, soon; how many are refused is the format's affair."""
    shape = (bands, *SHAPE[1:])
    for _ in range(150):
        damaged = bytearray(stream)
        for at in RNG.integers(0, len(stream), RNG.integers(1, 6)):
            damaged[at] = RNG.choice([0, 1, 127, 255, RNG.integers(256)])
        decode(codec, bytes(damaged), dtype, shape)


def decode(codec, stream, dtype, shape):
    start = time.perf_counter()
    try:
        pixels = codec.decode_chunk(stream, np.dtype(dtype), shape)
    except TiffError:
        pass
    else:
        assert pixels.shape == shape
        assert pixels.dtype == dtype
    assert time.perf_counter() - start < 2


@pytest.mark.parametrize("name", STREAMS)
@pytest.mark.parametrize("shape", [(3, 31, 40), (3, 32, 41), (4, 32, 40), (1, 32, 40)], ids=str)
def test_images_of_another_size_or_of_other_bands(name, shape):
    codec, stream = STREAMS[name]
    silent = name in ("ycbcr", "mixed_bits", "old_jpeg") and shape[0] == 3  # nothing says how large the image is
    alpha = name in ("lerc", "lerc_zstd", "webp") and shape[0] == 4  # which is 255 where a tile has none
    if silent or alpha:
        assert codec.decode_chunk(stream, np.dtype("u1"), (3 + alpha, 32, 40)).shape == (3 + alpha, 32, 40)
        return
    with pytest.raises(TiffDataError):
        codec.decode_chunk(stream, np.dtype("u1"), shape)


HUGE = 65_000


def huge(name):
    """A stream whose header says that the image is 65,000 pixels wide and high."""
    stream = bytearray(STREAMS[name][1])
    if name == "jpeg":
        at = stream.index(b"\xff\xc0") + 5
        stream[at : at + 4] = struct.pack(">HH", HUGE, HUGE)
    elif name == "png":
        stream[16:24] = struct.pack(">II", HUGE, HUGE)
    elif name == "jpeg2000":
        at = stream.index(b"\xff\x4f\xff\x51") + 8
        stream[at : at + 8] = stream[at + 16 : at + 24] = struct.pack(">II", HUGE, HUGE)
    elif name == "webp":
        stream[21:25] = (16_383 | 16_383 << 14).to_bytes(4, "little")
    elif name == "lerc":
        stream[14:22] = struct.pack("<ii", HUGE, HUGE)
    elif name == "jpegxr":
        stream = bytearray(imagecodecs.jpegxr_encode(PIXELS, level=1.0))
        for at in range(len(stream) - 12):
            if stream[at : at + 2] in (b"\x80\xbc", b"\x81\xbc"):
                stream[at + 8 : at + 12] = struct.pack("<I", HUGE)
    return bytes(stream)


@pytest.mark.parametrize("name", ["jpeg", "png", "jpeg2000", "webp", "lerc", "jpegxr"])
def test_huge_images_are_refused_by_their_header(name):
    codec = STREAMS[name][0]
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(TiffDataError):
        codec.decode_chunk(huge(name), np.dtype("u1"), SHAPE)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100_000  # of 12 GB, in KB


def test_a_jpeg_of_too_many_scans():
    stream = JPEG[:-2] + JPEG[SCAN:-2] * 600
    start = time.perf_counter()
    with pytest.raises(TiffDataError, match="scans"):
        STREAMS["jpeg"][0].decode_chunk(stream, np.dtype("u1"), SHAPE)
    assert time.perf_counter() - start < 1


def test_a_lerc_bomb_takes_no_more_than_its_tile():
    for name, bomb in (
        ("zstd", imagecodecs.zstd_encode(bytes(1 << 30))),
        ("deflate", imagecodecs.zlib_encode(bytes(1 << 28))),
    ):
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        with pytest.raises(TiffDataError):
            LercCodec(additional_compression=name).decode_chunk(bomb, np.dtype("u1"), SHAPE)
        assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100_000


def test_they_are_read_and_not_written(tmp_path):
    array = zarr.create_array(
        tmp_path / "a.zarr",
        shape=SHAPE,
        chunks=SHAPE,
        dtype="u1",
        filters=[],
        serializer=STREAMS["png"][0],
        compressors=[],
    )
    with pytest.raises(TiffUnsupportedError, match="not written"):
        array[...] = PIXELS.transpose(2, 0, 1)
    for shape in ((32, 40), (2, 3, 32, 40)):
        with pytest.raises(TiffUnsupportedError):
            zarr.create_array(
                zarr.storage.MemoryStore(),
                shape=shape,
                chunks=shape,
                dtype="u1",
                filters=[],
                serializer=STREAMS["png"][0],
            )


def test_export_to_zarr_format_2_fails_loudly(tmp_path):
    pytest.importorskip("kerchunk")
    path = write(tmp_path / "a.tif", 0)
    with opened(path, tmp_path) as dataset, pytest.raises(TiffUnsupportedError, match="zarr_format=3"):
        dataset.vz.to_kerchunk(format="dict", zarr_format=2)


def write(path, seed, compression="jpeg2000"):
    pixels = np.random.default_rng(seed).integers(0, 255, (100, 90, 3), "u1")
    tifffile.imwrite(path, pixels, compression=compression, photometric="rgb", tile=(32, 48), metadata=None)
    return path


def opened(path, folder):
    registry = ObjectStoreRegistry({f"file://{folder}": LocalStore(prefix=folder)})
    return virtualizarr.open_virtual_dataset(path.as_uri(), registry=registry, parser=virtual_cog.COGParser())


@pytest.mark.parametrize("compression", ["jpeg2000", "jpeg", "webp", "lerc"])
def test_scenes_are_stacked(tmp_path, compression):
    paths = [write(tmp_path / f"{index}.tif", index, compression) for index in range(2)]
    scenes = [opened(path, tmp_path) for path in paths]
    stack = xr.concat(scenes, dim=xr.Variable("time", [0, 1]), coords="minimal", compat="override", join="override")
    references = stack.vz.to_kerchunk(format="dict", zarr_format=3)
    registry = ObjectStoreRegistry({f"file://{tmp_path}": LocalStore(prefix=tmp_path)})
    (tmp_path / "references.json").write_text(json.dumps(references))
    store = virtualizarr.parsers.KerchunkJSONParser()((tmp_path / "references.json").as_uri(), registry)
    read = zarr.open_group(store, mode="r")["band_data"][...]
    np.testing.assert_array_equal(read, np.stack([virtual_cog.read(path) for path in paths]))
