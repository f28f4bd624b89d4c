"""The JPEG kernels against libjpeg-turbo, to the last bit: on a GPU, and compiled by g++ for the CPU.

Every tile has the pixels that the CPU's codec gives, or a status that sends it there.
"""

from __future__ import annotations

import logging
import shutil
import sys

import imagecodecs
import numpy as np
import pytest
import tifffile
import zarr

import cupy_on_host
import virtual_cog
from tiff_codecs import gpu
from tiff_codecs.errors import TiffDataError
from tiff_codecs.gpu import jpeg
from tiff_codecs.jpeg import JpegCodec, encode_tables

ON_HOST = sys.platform == "linux" and shutil.which("g++") is not None
SUBSAMPLINGS = ("444", "422", "420", "440")


@pytest.fixture(
    params=[
        pytest.param("host", marks=pytest.mark.skipif(not ON_HOST, reason="needs Linux and g++")),
        pytest.param("device", marks=pytest.mark.gpu),
    ]
)
def device(request, monkeypatch):
    if request.param == "host":
        monkeypatch.setitem(sys.modules, "cupy", cupy_on_host)
        return cupy_on_host
    return pytest.importorskip("cupy")


def image(rows, cols, bands, noise=6.0):
    rng = np.random.default_rng(rows * cols + bands)
    y, x = np.mgrid[:rows, :cols]
    smooth = [128 + 90 * np.sin(x / (17 + 3 * band)) * np.cos(y / (23 + band)) for band in range(bands)]
    return np.clip(np.stack(smooth, axis=-1) + rng.normal(0, noise, (rows, cols, bands)), 0, 255).astype("u1")


def encode(pixels, level=75, subsampling="420"):
    """A JPEG as TIFF has it: grey, YCbCr, or four components as they are."""
    bands = pixels.shape[2]
    spaces = {3: ("RGB", "YCBCR"), 4: ("CMYK", "CMYK")}
    if bands not in spaces:
        return bytes(imagecodecs.jpeg_encode(pixels[..., 0], level=level))
    colors = dict(zip(("colorspace", "outcolorspace"), spaces[bands], strict=True))
    return bytes(
        imagecodecs.jpeg_encode(pixels, level=level, subsampling=subsampling if bands == 3 else None, **colors)
    )


def with_restarts(pixels, subsampling="420", level=75):
    """A JPEG with a restart marker behind every row of MCUs, put together from an image of each such row."""
    high = 16 if subsampling in {"420", "440"} and pixels.shape[2] == 3 else 8
    rows = [encode(pixels[top : top + high], level, subsampling) for top in range(0, len(pixels), high)]
    scan = rows[0].index(b"\xff\xda")
    first = scan + 2 + int.from_bytes(rows[0][scan + 2 : scan + 4])
    head = bytearray(rows[0][:first])
    frame = head.index(b"\xff\xc0")
    head[frame + 5 : frame + 7] = len(pixels).to_bytes(2)
    across = -(-pixels.shape[1] // (16 if subsampling in {"420", "422"} and pixels.shape[2] == 3 else 8))
    head[scan:scan] = b"\xff\xdd\x00\x04" + across.to_bytes(2)
    scans = [row[first:-2] for row in rows]
    return bytes(head) + b"".join(
        scan + (bytes((0xFF, 0xD0 + number % 8)) if number + 1 < len(scans) else b"\xff\xd9")
        for number, scan in enumerate(scans)
    )


def expected(stream, shape, *, rgb, tables=None, short=None):
    """What the CPU's codec gives, None where it refuses."""
    rows, cols, bands = shape
    codec = JpegCodec(ycbcr_to_rgb=rgb, tables=tables and encode_tables(tables))
    try:
        return codec.decode_tile(
            np.frombuffer(stream, "u1"), np.dtype("u1"), rows=rows, cols=cols, bands=bands, short=short
        ).transpose(1, 2, 0)
    except TiffDataError:
        return None


def run(device, streams, shape, *, rgb, tables=None, whole_rows=None):
    """Decode all in one batch; returns pixels and statuses. Streams lie at odd addresses."""
    rows, cols, bands = shape
    begins = np.cumsum([16, *(len(stream) + 40 + i % 7 for i, stream in enumerate(streams))])
    host = np.full(int(begins[-1]) + 64, 0xA5, "u1")
    for begin, stream in zip(begins, streams, strict=False):
        host[begin : begin + len(stream)] = np.frombuffer(stream, "u1")
    source = device.asarray(host)
    size = rows * cols * bands
    room = (size + 35) // 4 * 4
    target = device.asarray(np.full(room * len(streams), 0x5A, "u1"))
    outcome = jpeg.decode(
        (source.data.ptr + begins[:-1]).astype("u8"),
        np.array([len(stream) for stream in streams]),
        (target.data.ptr + room * np.arange(len(streams))).astype("u8"),
        np.full(len(streams), rows),
        device.cuda.get_current_stream(),
        whole_rows=whole_rows,
        cols=cols,
        bands=bands,
        tables=tables,
        ycbcr_to_rgb=rgb,
    )
    out = target.get().reshape(len(streams), room)
    assert (out[:, size:] == 0x5A).all()  # nothing outside
    return out[:, :size].reshape(-1, *shape), outcome.statuses.get()


@pytest.mark.parametrize(
    "size", [(256, 256), (37, 53), (8, 8), (1, 1), (3, 5), (100, 4), (17, 16), (16, 130), (300, 2)]
)
def test_sizes_bands_and_subsamplings(device, size):
    for bands, subsampling in [(1, "444"), (4, "444"), *((3, subsampling) for subsampling in SUBSAMPLINGS)]:
        pixels = image(*size, bands)
        streams = [encode(pixels, level, subsampling) for level in (10, 50, 75, 95, 100)]
        for rgb in {bands == 3, False}:
            got, statuses = run(device, streams, pixels.shape, rgb=rgb)
            assert not statuses.any()
            for stream, samples in zip(streams, got, strict=True):
                np.testing.assert_array_equal(
                    samples, expected(stream, pixels.shape, rgb=rgb), f"{bands} {subsampling}"
                )


@pytest.mark.parametrize("kind", ["flat", "noise", "edges", "one row", "large"])
def test_contents(device, kind):
    rng = np.random.default_rng(1)
    pixels = {
        "flat": np.full((256, 256, 3), 77, "u1"),
        "noise": rng.integers(0, 256, (192, 200, 3), "u1"),
        "edges": np.where(np.indices((128, 128)).sum(axis=0) // 11 % 2, 255, 0)[..., None].repeat(3, 2).astype("u1"),
        "one row": image(1, 3000, 3, 40),
        "large": image(350, 450, 3, 30),
    }[kind]
    streams = [encode(pixels, level, subsampling) for level in (30, 98) for subsampling in SUBSAMPLINGS]
    got, statuses = run(device, streams, pixels.shape, rgb=True)
    assert not statuses.any()
    for stream, samples in zip(streams, got, strict=True):
        np.testing.assert_array_equal(samples, expected(stream, pixels.shape, rgb=True))


@pytest.mark.parametrize("subsampling", SUBSAMPLINGS)
def test_restart_markers(device, subsampling):
    pixels = image(163, 90, 3, 15)
    stream = with_restarts(pixels, subsampling)
    assert stream.count(b"\xff\xd7") >= 1
    cut = stream.replace(b"\xff\xd2", b"\xff\xd3", 1)
    (samples, _), statuses = run(device, [stream, cut], pixels.shape, rgb=True)
    np.testing.assert_array_equal(samples, expected(stream, pixels.shape, rgb=True))
    assert statuses[0] == 0
    assert statuses[1] != 0


def test_short_strips(device):
    """The last strip may be an image of its own rows, or of a whole strip's."""
    whole = image(64, 80, 3)
    streams = [encode(whole[:25]), encode(whole), encode(whole[:40])]
    got, statuses = run(device, streams, (25, 80, 3), rgb=True, whole_rows=64)
    assert (statuses == 0).tolist() == [True, True, False]
    for stream, samples in zip(streams[:2], got[:2], strict=True):
        truth = expected(stream, whole.shape, rgb=True, short=25)
        np.testing.assert_array_equal(samples, truth[:25])


def test_what_is_of_another_kind_has_a_status(device, tmp_path):
    rasterio = pytest.importorskip("rasterio")
    pixels = image(64, 64, 1)
    profile = {"driver": "JPEG", "height": 64, "width": 64, "count": 1, "dtype": "uint8"}
    with rasterio.open(tmp_path / "a.jpg", "w", progressive=True, **profile) as file:
        file.write(pixels.transpose(2, 0, 1))
    good = encode(pixels)
    streams = [
        (tmp_path / "a.jpg").read_bytes(),
        bytes(imagecodecs.jpeg_encode(pixels[..., 0], lossless=True)),
        bytes(imagecodecs.jpeg_encode(pixels[..., 0].astype("u2"), bitspersample=12)),
        encode(image(64, 56, 1)),
        encode(image(64, 64, 3)),
        good[:-2],
        good[: len(good) // 2],
        good[: good.index(b"\xff\xc4")] + good[good.index(b"\xff\xda") :],
        b"\xff\xd8\xff\xd9",
        b"x",
        good,
    ]
    got, statuses = run(device, streams, pixels.shape, rgb=False)
    assert (statuses != 0).tolist() == [True] * (len(streams) - 1) + [False]
    np.testing.assert_array_equal(got[-1], expected(good, pixels.shape, rgb=False))


def damaged(rng, stream):
    found = bytearray(stream)
    scan = stream.index(b"\xff\xda")
    for _ in range(int(rng.integers(1, 4))):
        kind = int(rng.integers(5))
        at = int(rng.integers(min(scan if kind < 3 else 0, len(found) - 1), len(found)))
        if kind == 0:
            found[at : at + int(rng.integers(1, 5))] = rng.bytes(int(rng.integers(1, 4)))
        elif kind == 1:
            found[at:at] = rng.choice([0xFF, 0xD0, 0, 0xD9, 7], 2).astype("u1").tobytes()
        elif kind == 2 and rng.random() < 0.2:
            del found[at:]
            found += b"x"
        else:
            found[at] ^= 1 << int(rng.integers(8))
    return bytes(found)


def has_vector_code():
    """Whether libjpeg-turbo has its vector code, whose 16 bits overflow in damaged blocks as the kernels' do."""
    stream = bytearray(encode(np.full((8, 8, 1), 255, "u1"), level=100))
    first = stream.index(b"\xff\xdb") + 5
    stream[first : first + 64] = bytes([40]) * 64  # the mean becomes 40640, four times that is 31488 in 16 bits
    return expected(bytes(stream), (8, 8, 1), rgb=False).min() == 255


@pytest.mark.parametrize("seed", range(8))
def test_mutated_streams(device, seed):
    exact = has_vector_code()
    rng = np.random.default_rng(seed)
    whole = 0
    for _ in range(4):
        shape = int(rng.integers(1, 90)), int(rng.integers(1, 90)), int(rng.choice([1, 3, 3, 4]))
        make = with_restarts if rng.random() < 0.3 else encode
        stream = make(
            image(*shape, noise=20), subsampling=str(rng.choice(SUBSAMPLINGS)), level=int(rng.integers(5, 100))
        )
        streams = [damaged(rng, stream) for _ in range(25)]
        got, statuses = run(device, streams, shape, rgb=shape[2] == 3)
        for i in np.flatnonzero(statuses == 0):
            pixels = expected(streams[i], shape, rgb=shape[2] == 3)
            assert pixels is not None
            if exact:
                np.testing.assert_array_equal(got[i], pixels, streams[i].hex()[:80])
        whole += np.count_nonzero(statuses == 0)
    assert whole > 5


def write_with_gdal(path, pixels, **options):
    rasterio = pytest.importorskip("rasterio")
    height, width, bands = pixels.shape
    profile = {"height": height, "width": width, "count": bands, "dtype": "uint8", "compress": "JPEG"}
    with rasterio.open(path, "w", **profile, **options) as file:
        file.write(pixels.transpose(2, 0, 1))


FILES = {
    "grey": (1, {"driver": "COG", "blocksize": 256}),
    "YCbCr": (3, {"driver": "COG", "blocksize": 256}),
    "four bands": (4, {"driver": "GTiff", "tiled": True}),
    "quality 30": (3, {"driver": "COG", "blocksize": 256, "quality": 30}),
    "quality 100, RGB": (3, {"driver": "GTiff", "tiled": True, "jpeg_quality": 100}),
    "planar": (3, {"driver": "GTiff", "tiled": True, "interleave": "band"}),
    "strips": (3, {"driver": "GTiff", "photometric": "YCBCR", "blockysize": 48}),
}


@pytest.fixture(params=FILES)
def path(request, tmp_path):
    bands, options = FILES[request.param]
    write_with_gdal(tmp_path / "a.tif", image(700, 613, bands), **options)
    return tmp_path / "a.tif"


def test_tables_that_tiles_share(device, path):
    with tifffile.TiffFile(path) as file:
        page = file.pages[0]
        data = path.read_bytes()
        places = list(zip(page.dataoffsets, page.databytecounts, strict=True))
        streams = [data[offset : offset + count] for offset, count in places if count]
        rgb, tables = page.photometric == 6, page.jpegtables
        shape = page.chunks if len(page.chunks) == 3 and page.planarconfig == 1 else (*page.chunks[-2:], 1)
    assert b"\xff\xdb" in tables
    got, statuses = run(device, streams[:4], shape, rgb=rgb, tables=tables)
    assert not statuses.any()
    for stream, samples in zip(streams, got, strict=False):
        np.testing.assert_array_equal(samples, expected(stream, shape, rgb=rgb, tables=tables))


@pytest.mark.gpu
@pytest.mark.filterwarnings("ignore::zarr.errors.ZarrUserWarning")
def test_files_are_decoded_on_the_device(path, caplog):
    host = virtual_cog.read(path)
    with caplog.at_level(logging.INFO, "tiff_codecs.gpu"):
        np.testing.assert_array_equal(virtual_cog.read(path, device="gpu").get(), host)
        np.testing.assert_array_equal(
            virtual_cog.read(path, window=(100, 90, 300, 310), device="gpu").get(), host[:, 90:400, 100:400]
        )
        with gpu.enable(strict=True):
            pixels = zarr.open_group(virtual_cog.open_store(path), mode="r")["band_data"][...]
    np.testing.assert_array_equal(pixels.get(), host)
    assert "on the CPU" not in caplog.text
    assert virtual_cog.describe(path).ifds[0].decoder == "gpu"


@pytest.mark.gpu
def test_a_tile_without_an_end_is_decoded_on_the_cpu(tmp_path, caplog):
    path = tmp_path / "a.tif"
    write_with_gdal(path, image(700, 613, 3), driver="COG", blocksize=256)
    host = virtual_cog.read(path)
    with tifffile.TiffFile(path) as file:
        end = file.pages[0].dataoffsets[2] + file.pages[0].databytecounts[2]
    data = bytearray(path.read_bytes())
    assert data[end - 2 : end] == b"\xff\xd9"
    data[end - 2 : end] = bytes(2)
    path.write_bytes(data)
    with caplog.at_level(logging.INFO, "tiff_codecs.gpu"):
        np.testing.assert_array_equal(virtual_cog.read(path, device="gpu").get(), host)
    assert "1 of 9 tiles" in caplog.text
