"""Pixels, compared exactly with the truth of the corpus and the cases, with GDAL and with tifffile."""

from __future__ import annotations

import contextlib
import hashlib
import time

import numpy as np
import pytest
import rasterio
import tifffile
import zarr

import virtual_cog
from rawtiff import RawTiff, grey
from tiff_codecs import cpu
from tiff_codecs.errors import (
    TiffDataError,
    TiffError,
    TiffFormatError,
    TiffNotFoundError,
    TiffOptionError,
    TiffSelectionError,
    TiffUnsupportedError,
)
from virtual_cog._registry import resolve

pytestmark = pytest.mark.filterwarnings("ignore::tiff_codecs.errors.TiffWarning")


def digest(pixels: np.ndarray) -> str:
    little = np.ascontiguousarray(pixels).astype(pixels.dtype.newbyteorder("<"))
    return hashlib.sha256(little.tobytes()).hexdigest()


def through_zarr(path, ifd=0) -> np.ndarray:
    return zarr.open_group(virtual_cog.open_store(path, ifd=ifd), mode="r")["band_data"][...]


def through_cpu_pipeline(path, ifd=0) -> np.ndarray:
    with cpu.enable():
        return through_zarr(path, ifd)


def gdal(path) -> np.ndarray:
    with rasterio.open(path) as file:
        return file.read()


READERS = (virtual_cog.read, through_zarr, through_cpu_pipeline)


@pytest.mark.filterwarnings("ignore::zarr.errors.ZarrUserWarning")
def test_corpus(corpus_file):
    path, entry = corpus_file.path, corpus_file.entry
    (main,) = [ifd for ifd in entry["ifds"] if ifd["index"] == 0 and ifd["level"] == 0]
    for read in READERS:
        pixels = read(path)
        assert list(pixels.shape) == main["shape"]
        assert pixels.dtype == np.dtype(main["dtype"])
        assert digest(pixels) == main["sha256"]


def test_the_corpus_is_not_empty(corpus):
    assert len(corpus) >= 50


def test_corpus_ifds_behind_the_first(corpus_file):
    """Overviews, masks, pages and SubIFDs, by their index."""
    source = resolve(corpus_file.path)
    directory = source.open()
    by_offset = {entry["offset"]: entry for entry in corpus_file.entry["ifds"]}
    for ifd in source.drive(directory.all())[1:]:
        entry = by_offset[ifd.offset]
        pixels = virtual_cog.read(corpus_file.path, ifd=ifd.index)
        assert digest(pixels) == entry["sha256"], ifd.index


@pytest.mark.filterwarnings("ignore::zarr.errors.ZarrUserWarning")
def test_cases(case):
    for read in READERS:
        if case.is_error:
            start = time.perf_counter()
            with pytest.raises(TiffError) as caught:
                read(case.path)
            assert time.perf_counter() - start < 1
            assert caught.value.url
            continue
        truth = case.arrays()["truth"] if case.arrays() else gdal(case.path)
        pixels = read(case.path)
        assert pixels.dtype == truth.dtype
        np.testing.assert_array_equal(pixels, truth)


def write(path, pixels, **options):
    bands, height, width = pixels.shape
    with rasterio.open(
        path, "w", driver="GTiff", width=width, height=height, count=bands, dtype=pixels.dtype, **options
    ) as file:
        file.write(pixels)
    return path


@pytest.fixture(scope="module")
def tiled(tmp_path_factory):
    pixels = np.random.default_rng(1).integers(0, 60000, (3, 200, 330), "u2")
    folder = tmp_path_factory.mktemp("tiled")
    options = {"tiled": True, "blockxsize": 64, "blockysize": 48, "compress": "deflate", "predictor": 2}
    return write(folder / "pixel.tif", pixels, interleave="pixel", **options), pixels


@pytest.mark.parametrize(
    "window",
    [(0, 0, 1, 1), (329, 199, 1, 1), (0, 0, 330, 200), (63, 47, 2, 2), (64, 48, 64, 48), (10, 20, 300, 100)],
)
@pytest.mark.parametrize("threads", [1, 4])
def test_windows(tiled, window, threads):
    path, pixels = tiled
    col, row, width, height = window
    got = virtual_cog.read(path, window=window, threads=threads)
    np.testing.assert_array_equal(got, pixels[:, row : row + height, col : col + width])
    assert got.flags.c_contiguous


@pytest.mark.parametrize("layout", ["strips", "one strip"])
@pytest.mark.parametrize("interleave", ["pixel", "band"])
def test_windows_of_uncompressed_strips_read_the_rows_they_need(tmp_path, layout, interleave):
    pixels = np.random.default_rng(1).integers(0, 60000, (3, 2000, 700), "u2")
    path = write(tmp_path / "a.tif", pixels, interleave=interleave, blockysize=2000 if layout == "one strip" else 7)
    np.testing.assert_array_equal(virtual_cog.read(path), pixels)
    np.testing.assert_array_equal(virtual_cog.read(path, window=(3, 1500, 5, 77)), pixels[:, 1500:1577, 3:8])


@pytest.mark.parametrize("window", [(0, 0, 331, 1), (-1, 0, 5, 5), (0, 0, 0, 5), (330, 0, 1, 1), (0, 199, 1, 2)])
def test_windows_outside(tiled, window):
    with pytest.raises(TiffSelectionError, match="330 x 200"):
        virtual_cog.read(tiled[0], window=window)


@pytest.mark.parametrize("window", [(1, 2, 3), "abcd", 5, (None,) * 4, (0.5, 0, 5, 5), (float("nan"), 0, 1, 1)])
def test_windows_that_are_none(tiled, window):
    with pytest.raises(TiffOptionError, match="window"):
        virtual_cog.read(tiled[0], window=window)


@pytest.mark.parametrize("option", [{"device": "tpu"}, {"threads": 0}, {"ifd": "x"}])
def test_bad_options(tiled, option):
    with pytest.raises((TiffOptionError, TiffSelectionError)):
        virtual_cog.read(tiled[0], **option)


@pytest.mark.parametrize("name", ["a b.tif", "a%20b.tif", "é漢.tif", "ha#sh.tif", "q?m.tif", "a;b+c&d.tif", "100%.tif"])
def test_local_names(tiled, tmp_path, name, monkeypatch):
    path, pixels = tiled
    copy = tmp_path / name
    copy.write_bytes(path.read_bytes())
    monkeypatch.chdir(tmp_path)
    for url in (copy, str(copy), copy.as_uri(), name):
        np.testing.assert_array_equal(virtual_cog.read(url), pixels)
        if "#" in name or "?" in name:
            with pytest.raises(TiffOptionError, match="# or \\?"):
                virtual_cog.open_store(url)
        else:
            np.testing.assert_array_equal(through_zarr(url), pixels)


def test_files_that_cannot_be_read(tmp_path):
    with pytest.raises(TiffNotFoundError) as caught:
        virtual_cog.read(tmp_path / "none.tif")
    assert caught.value.url.endswith("/none.tif")
    with pytest.raises(TiffError):
        virtual_cog.read(tmp_path)
    (tmp_path / "empty.tif").touch()
    with pytest.raises(TiffFormatError, match="empty"):
        virtual_cog.read(tmp_path / "empty.tif")
    with pytest.raises(TiffOptionError, match="query"):
        virtual_cog.read("https://example.com/a.tif?sig=secret")
    with pytest.raises(TiffOptionError, match="no store"):
        virtual_cog.read("gopher://example.com/a.tif")


FORMS = {
    "cog": {"driver": "COG", "compress": "deflate", "blocksize": 128, "predictor": "yes"},
    "strips": {"driver": "GTiff", "compress": "lzw", "blockysize": 16},
    "raw": {"driver": "GTiff", "blockysize": 16},
    "zstd": {"driver": "GTiff", "compress": "zstd", "tiled": True, "blockxsize": 64, "blockysize": 64},
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.filterwarnings("ignore::zarr.errors.ZarrUserWarning")
def test_a_file_cut_anywhere_never_reads_as_fill(tmp_path, form):
    pixels = np.random.default_rng(1).integers(0, 200, (1, 300, 310), "u1") | 1
    path = tmp_path / "whole.tif"
    with rasterio.open(path, "w", width=310, height=300, count=1, dtype="uint8", **FORMS[form]) as file:
        file.write(pixels)
    content = path.read_bytes()
    np.testing.assert_array_equal(virtual_cog.read(path), pixels)
    cut = tmp_path / "cut.tif"
    for length in [*range(0, 600, 7), *range(600, len(content), 1009), len(content) - 1]:
        cut.write_bytes(content[:length])
        for read in READERS:
            try:
                got = read(cut)
            except TiffError:
                continue
            np.testing.assert_array_equal(got, pixels)


@pytest.mark.parametrize("form", ["cog", "strips", "zstd"])
def test_damaged_tiles_give_our_error_with_its_place(tmp_path, form):
    pixels = np.random.default_rng(1).integers(0, 200, (1, 300, 310), "u1")
    path = tmp_path / "a.tif"
    with rasterio.open(path, "w", width=310, height=300, count=1, dtype="uint8", **FORMS[form]) as file:
        file.write(pixels)
    with tifffile.TiffFile(path) as file:
        offset = file.pages.first.dataoffsets[1]
    content = bytearray(path.read_bytes())
    content[offset + 2 : offset + 200] = b"\xff" * 198
    path.write_bytes(content)
    with pytest.raises(TiffDataError) as caught:
        virtual_cog.read(path)
    assert caught.value.url.endswith("/a.tif")
    assert caught.value.tile
    with pytest.raises(TiffError):
        through_zarr(path)
    with pytest.raises(TiffDataError) as caught:
        through_cpu_pipeline(path)
    assert caught.value.url.endswith("/a.tif")
    # the tiles beside it, and the next read in the same process, are none the worse
    np.testing.assert_array_equal(virtual_cog.read(path, window=(0, 0, 10, 10)), pixels[:, :10, :10])


def test_byte_flips_end_in_pixels_or_our_errors(tmp_path):
    """Damage in the IFD: no crash, no hang, no foreign exception."""
    rng = np.random.default_rng(5)
    pixels = rng.integers(0, 200, (3, 60, 70), "u1")
    path = write(tmp_path / "a.tif", pixels, compress="lzw", tiled=True, blockxsize=32, blockysize=16)
    content = path.read_bytes()
    with tifffile.TiffFile(path) as file:
        begin = file.pages.first.offset
    for _ in range(600):
        damaged = bytearray(content)
        for at in rng.integers(0, 400, rng.integers(1, 4)):
            damaged[int(at) if at < 8 else begin + int(at) % (len(content) - begin)] = rng.integers(256)
        path.write_bytes(damaged)
        start = time.perf_counter()
        with contextlib.suppress(TiffError):
            virtual_cog.read(path)
        assert time.perf_counter() - start < 2


def test_absurd_sizes_are_refused_before_memory_is_asked_for(tmp_path):
    for compression in (1, 5, 8, 32773, 34925, 50000):
        file = RawTiff()
        file.block(bytes(64))
        side = (4, [2**30])
        file.ifd(grey(t256=side, t257=side, t278=side, t259=(3, [compression])))
        (tmp_path / "a.tif").write_bytes(file.bytes())
        with pytest.raises(TiffError):
            virtual_cog.read(tmp_path / "a.tif")


def test_an_image_larger_than_memory_says_so(tmp_path):
    file = RawTiff()
    side = (4, [2**31 - 1])
    file.ifd(grey(t256=side, t257=side, t278=side, t273=(4, [0]), t279=(4, [0])))
    (tmp_path / "a.tif").write_bytes(file.bytes())
    with pytest.raises(TiffUnsupportedError, match="windows"):
        virtual_cog.read(tmp_path / "a.tif")
    assert not virtual_cog.read(tmp_path / "a.tif", window=(5, 5, 10, 10)).any()
