"""CCITT fax, and rare compressions that libtiff decodes: what was written, or the same pixels as GDAL."""

from __future__ import annotations

import imagecodecs
import numpy as np
import pytest
import tifffile
from PIL import Image

from rawtiff import RawTiff, grey
from readers import gdal, read_everywhere
from tiff_codecs import MixedBitsCodec, TiffDataError, YcbcrCodec

pytestmark = pytest.mark.filterwarnings("ignore::rasterio.errors.NotGeoreferencedWarning")
RNG = np.random.default_rng(12)
SCHEMES = [("tiff_ccitt", {}), *[("group3", {292: options}) for options in (0, 1, 4, 5)], ("group4", {})]


@pytest.mark.parametrize("rows", [40, 16], ids=["one strip", "strips"])
@pytest.mark.parametrize("fill_order", [1, 2])
@pytest.mark.parametrize(("scheme", "tags"), SCHEMES)
def test_ccitt(tmp_path, scheme, tags, fill_order, rows):
    path = tmp_path / "a.tif"
    bits = RNG.integers(0, 2, (40, 53)).astype(bool)
    bits[5:30, 7:44] = True
    options = {"compression": scheme, "tiffinfo": tags | {266: fill_order, 278: rows}}
    Image.fromarray((bits * 255).astype("u1")).convert("1").save(path, **options)
    got = read_everywhere(path)
    assert got.dtype == np.uint8
    np.testing.assert_array_equal(got[0], bits)


@pytest.mark.parametrize("compress", ["ccittrle", "ccittfax3", "ccittfax4"])
@pytest.mark.parametrize("layout", [{"tiled": True, "blockxsize": 64, "blockysize": 48}, {"blockysize": 32}])
def test_ccitt_of_gdal(written, compress, layout):
    bits = RNG.integers(0, 2, (1, 100, 150)).astype("u1")
    path, truth = written(bits, compress=compress, NBITS=1, **layout)
    np.testing.assert_array_equal(read_everywhere(path), truth)
    np.testing.assert_array_equal(truth, bits)


def strip(path, number, stream, width, height, **tags):
    file = RawTiff()
    at = file.block(stream)
    tags = {"t259": (3, [number]), "t278": (3, [height]), **tags}
    file.ifd(grey(width, height, offset=at, count=len(stream), **tags))
    path.write_bytes(file.bytes())
    return path


def test_thunderscan(tmp_path):
    pixels = RNG.integers(0, 16, (10, 24)).astype("u1")
    pixels[3:6] = 9
    runs = bytes((0xC9, 23))  # a sample as it is, then a run of it
    rows = [runs if (row == 9).all() else (0xC0 | row).tobytes() for row in pixels]
    path = strip(tmp_path / "a.tif", 32809, b"".join(rows), 24, 10, t258=(3, [4]))
    got = read_everywhere(path)
    np.testing.assert_array_equal(got, gdal(path))
    np.testing.assert_array_equal(got[0], pixels)


def test_next_rle(tmp_path):
    pixels = RNG.integers(0, 4, (10, 24)).astype("u1")
    pixels[3:6] = 2
    packed = pixels.reshape(10, 6, 4) @ np.array([64, 16, 4, 1], "u1")
    rows = [
        bytes((0x80 | 24,)) if (row == 2).all() else b"\0" + line.tobytes()
        for row, line in zip(pixels, packed, strict=True)
    ]
    path = strip(tmp_path / "a.tif", 32766, b"".join(rows), 24, 10, t258=(3, [2]))
    got = read_everywhere(path)
    np.testing.assert_array_equal(got, gdal(path))
    np.testing.assert_array_equal(got[0], pixels)


@pytest.mark.parametrize("dtype", ["u1", "u2", "f4"])
def test_pixarlog(tmp_path, dtype):
    """Eleven bits, logarithmic: 8-bit samples come back. Of random ones GDAL gives others, so it is no oracle."""
    pixels = RNG.uniform(0.02, 1, (10, 24)).astype("f4")
    if dtype != "f4":
        pixels = (pixels * np.iinfo(dtype).max).astype(dtype)
    stream = imagecodecs.pixarlog_encode(pixels)
    tags = {"t258": (3, [8 * pixels.itemsize]), "t339": (3, [3 if dtype == "f4" else 1])}
    path = strip(tmp_path / "a.tif", 32909, stream, 24, 10, **tags)
    got = read_everywhere(path)
    assert got.dtype == dtype
    np.testing.assert_allclose(got[0], pixels, rtol=0 if dtype == "u1" else 0.005)


@pytest.mark.parametrize("compression", [None, "deflate", "lzw"])
@pytest.mark.parametrize("subsampling", [(2, 2), (2, 1), (1, 2), (4, 4), (4, 1)])
def test_subsampled_ycbcr_without_jpeg(tmp_path, subsampling, compression):
    """Units of some luma samples and two of chroma (TIFF 6.0 section 21), packed by hand."""
    across, down = subsampling
    height, width, rows = 26, 37, 16
    strips, expected = [], []
    for first in range(0, height, rows):
        count = min(rows, height - first)
        high, wide = -(-count // down), -(-width // across)
        units = RNG.integers(0, 256, (high, wide, across * down + 2)).astype("u1")
        luma = units[..., :-2].reshape(high, wide, down, across).swapaxes(1, 2).reshape(high * down, wide * across)
        chroma = [np.kron(units[..., place], np.ones((down, across), "u1")) for place in (-2, -1)]
        expected.append(np.stack([luma, *chroma])[:, :count, :width])
        encode = {"deflate": imagecodecs.zlib_encode, "lzw": imagecodecs.lzw_encode}.get(compression, bytes)
        strips.append(encode(units.tobytes()))
    file = RawTiff()
    offsets = [file.block(stream) for stream in strips]
    number = {None: 1, "deflate": 8, "lzw": 5}[compression]
    tags = {"t258": (3, [8, 8, 8]), "t259": (3, [number]), "t262": (3, [6]), "t273": (4, offsets), "t277": (3, [3]),
            "t278": (3, [rows]), "t279": (4, [len(s) for s in strips]), "t530": (3, [across, down])}  # fmt: skip
    file.ifd(grey(width, height, **tags))
    (tmp_path / "a.tif").write_bytes(file.bytes())
    np.testing.assert_array_equal(read_everywhere(tmp_path / "a.tif"), np.concatenate(expected, axis=1))


@pytest.mark.parametrize("bits", [(5, 6, 5), (8, 8, 16), (12, 1, 20), (10, 10, 10, 2)])
def test_bands_of_different_depths(tmp_path, bits):
    height, width, rows = 21, 13, 8
    pixels = np.stack([RNG.integers(0, 2**depth, (height, width)) for depth in bits])
    strips = []
    for first in range(0, height, rows):
        for_rows = []
        for row in range(first, min(first + rows, height)):
            text = "".join(
                f"{pixels[band, row, col]:0{depth}b}" for col in range(width) for band, depth in enumerate(bits)
            )
            for_rows.append(int(text.ljust(-(-len(text) // 8) * 8, "0"), 2).to_bytes(-(-len(text) // 8)))
        strips.append(b"".join(for_rows))
    file = RawTiff()
    offsets = [file.block(stream) for stream in strips]
    tags = {"t258": (3, bits), "t273": (4, offsets), "t277": (3, [len(bits)]), "t278": (3, [rows]),
            "t279": (4, [len(s) for s in strips])}  # fmt: skip
    file.ifd(grey(width, height, **tags))
    (tmp_path / "a.tif").write_bytes(file.bytes())
    got = read_everywhere(tmp_path / "a.tif")
    np.testing.assert_array_equal(got, pixels)
    assert got.dtype == np.min_scalar_type(2 ** max(bits) - 1)


def test_logluv_as_tifffile_has_it(corpus):
    path = corpus["image-tiff__logluv-3c-16b.tiff"].path
    with tifffile.TiffFile(path) as file:
        assert file.pages[0].compression == 34676
    read_everywhere(path)  # test_corpus compares it with GDAL


def test_a_tile_that_is_too_short_for_its_samples():
    for codec in (YcbcrCodec(subsampling=(2, 2)), MixedBitsCodec(bits_per_sample=(5, 6, 5))):
        with pytest.raises(TiffDataError):
            codec.decode_chunk(bytes(10), np.dtype("u1"), (3, 16, 16))
