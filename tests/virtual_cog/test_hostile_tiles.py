"""Tile tables that say too much, strips with too many rows: the right pixels or our error, by read and by Zarr."""

from __future__ import annotations

import time
import zlib
from concurrent.futures import ThreadPoolExecutor

import imagecodecs
import numpy as np
import pytest
import rasterio
import zarr

import virtual_cog
from httpserver import serve
from rawtiff import RawTiff, grey
from tiff_codecs import COMPRESSIONS
from tiff_codecs.errors import TiffDataError

COLS, ROWS = 24, 10
BYTE_STREAMS = [number for number, compression in COMPRESSIONS.items() if compression.image is None]
"""Compressions of any bytes. A tile that is an image says its size itself."""

RNG = np.random.default_rng(8)
STRIPS = RNG.integers(0, 99, (2, ROWS, COLS), "u1")

pytestmark = pytest.mark.filterwarnings("ignore::rasterio.errors.NotGeoreferencedWarning")


def through_zarr(path) -> np.ndarray:
    return zarr.open_group(virtual_cog.open_store(path), mode="r")["band_data"][...]


READERS = pytest.mark.parametrize("read", [virtual_cog.read, through_zarr], ids=["read", "zarr"])


def compressed(number, pixels) -> bytes:
    codec = COMPRESSIONS[number].codec
    return codec.encode_bytes(pixels) if codec else pixels.tobytes()


def strips(path, number, streams, *, height, counts=None, rows=ROWS):
    """An image whose strips are these streams, one behind another."""
    file = RawTiff()
    offsets = [file.block(stream) for stream in streams]
    counts = counts or [len(stream) for stream in streams]
    tags = {"t259": (3, [number]), "t278": (3, [rows]), "t273": (4, offsets), "t279": (4, counts)}
    file.ifd(grey(COLS, height, **tags))
    path.write_bytes(file.bytes())
    return path


def tiles(path, width, offsets, counts, payload, *, number=8, side=1):
    """A row of tiles that lie somewhere in the payload."""
    file = RawTiff()
    start = file.block(payload)
    tags = grey(width, side, t259=(3, [number]), t273=None, t278=None, t279=None)
    offsets = [start + offset for offset in offsets]
    tags += [(322, 4, [side]), (323, 4, [side]), (324, 4, offsets), (325, 4, counts)]
    file.ifd(tags)
    path.write_bytes(file.bytes())
    return path


@READERS
@pytest.mark.parametrize("behind", [b"\0", b"(", b"(\xb5", b"(\xb5/", b"(\xb5/\xfd", bytes(100), b"\xff" * 5000])
@pytest.mark.parametrize("number", BYTE_STREAMS)
def test_byte_counts_with_too_many_bytes(tmp_path, number, behind, read):
    """As of writers that leave room behind a tile; one byte of the next Zstandard frame is worse than none."""
    streams = [compressed(number, strip) + behind for strip in STRIPS]
    path = strips(tmp_path / "a.tif", number, streams, height=2 * ROWS)
    np.testing.assert_array_equal(read(path)[0], STRIPS.reshape(-1, COLS))
    if number not in (34926, 50013):  # which GDAL does not know
        with rasterio.open(path) as file:
            np.testing.assert_array_equal(file.read(1), STRIPS.reshape(-1, COLS))


@READERS
@pytest.mark.parametrize("rows", [3, ROWS, ROWS + 2])
@pytest.mark.parametrize("number", BYTE_STREAMS)
def test_last_strips_with_more_rows_than_the_image(tmp_path, number, rows, read):
    """Some writers fill the last strip up; GDAL reads no DEFLATE of them, so the truth is what was written."""
    last = np.resize(STRIPS[1], (rows, COLS))
    streams = [compressed(number, STRIPS[0]), compressed(number, last)]
    path = strips(tmp_path / "a.tif", number, streams, height=ROWS + 3)
    np.testing.assert_array_equal(read(path)[0], np.concatenate([STRIPS[0], last[:3]]))


@READERS
@pytest.mark.parametrize("rows", [3, ROWS])
@pytest.mark.parametrize("number", BYTE_STREAMS)
def test_only_strips_with_more_rows_than_the_image(tmp_path, number, rows, read):
    path = strips(tmp_path / "a.tif", number, [compressed(number, STRIPS[0, :rows])], height=3)
    np.testing.assert_array_equal(read(path)[0], STRIPS[0, :3])


def test_what_zarr_cannot_tell_of_short_strips(tmp_path):
    """Documented: a codec does not know which strip it has before it; `read` does."""
    streams = [compressed(5, STRIPS[0, :3]), compressed(5, STRIPS[1, :3])]
    path = strips(tmp_path / "a.tif", 5, streams, height=ROWS + 3)
    with pytest.raises(TiffDataError, match="not complete"):
        virtual_cog.read(path)
    expected = np.concatenate([STRIPS[0, :3], np.zeros((ROWS - 3, COLS), "u1"), STRIPS[1, :3]])
    np.testing.assert_array_equal(through_zarr(path)[0], expected)
    between = strips(tmp_path / "b.tif", 5, [streams[0], compressed(5, STRIPS[1, :5])], height=ROWS + 3)
    with pytest.raises(TiffDataError, match="not complete"):
        through_zarr(between)


@READERS
def test_missing_tiles_may_lie_anywhere(tmp_path, read):
    """A byte count of 0 means that there is no tile, whatever the offset is: also over the network."""
    tile = RNG.integers(0, 99, (16, 16), "u1")
    payload = zlib.compress(tile.tobytes())
    # near enough behind the first tile to be fetched with it, far behind the file's end, and 0
    gone = [len(payload), 5000, 2**32 - 5000, 0, 40_000]
    counts = [len(payload), 0, 0, 0, 0, 0]
    path = tiles(tmp_path / "a.tif", 96, [0] * 6, counts, payload, side=16)
    content = path.read_bytes()
    first = content.index(payload)
    old = np.full(6, first, "<u4").tobytes()
    assert content.count(old) == 1
    path.write_bytes(content.replace(old, np.array([first, *gone], "<u4").tobytes()))
    expected = np.zeros((1, 16, 96), "u1")
    expected[0, :, :16] = tile
    np.testing.assert_array_equal(read(path), expected)
    with serve(tmp_path) as server:
        np.testing.assert_array_equal(read(f"{server.url}/a.tif"), expected)


def test_tiles_that_count_the_whole_file_do_not_fetch_it_each(tmp_path):
    number, payload = 2000, zlib.compress(b"a") + bytes(8 << 20)
    path = tiles(tmp_path / "a.tif", number, [0] * number, [len(payload)] * number, payload)
    start = time.perf_counter()
    assert (virtual_cog.read(path) == ord("a")).all()
    assert time.perf_counter() - start < 5
    with serve(tmp_path) as server:
        assert (virtual_cog.read(f"{server.url}/a.tif") == ord("a")).all()
        assert server.bytes_sent < 2 * path.stat().st_size  # not 2000 times


def test_tiles_that_are_images_are_read_no_further_than_they_can_need(tmp_path):
    number, payload = 2000, bytes(imagecodecs.jpeg_encode(np.full((8, 8), 77, "u1"))) + bytes(8 << 20)
    path = tiles(tmp_path / "a.tif", 8 * number, [0] * number, [len(payload)] * number, payload, number=7, side=8)
    start = time.perf_counter()
    assert (virtual_cog.read(path) == 77).all()
    assert time.perf_counter() - start < 5  # 16 GB would take longer
    with serve(tmp_path) as server:
        assert (virtual_cog.read(f"{server.url}/a.tif") == 77).all()
        assert server.bytes_sent < 2 * path.stat().st_size


def test_tiles_that_share_a_bomb(tmp_path):
    number, payload = 2000, zlib.compress(bytes(66 << 20), 9)
    path = tiles(tmp_path / "a.tif", number, [0] * number, [len(payload)] * number, payload)
    start = time.perf_counter()
    assert not virtual_cog.read(path).any()
    assert time.perf_counter() - start < 5


def test_many_threads_read_at_once(tmp_path):
    pixels = RNG.integers(0, 60_000, (3, 300, 310), "u2")
    path = tmp_path / "a.tif"
    with rasterio.open(
        path, "w", driver="COG", width=310, height=300, count=3, dtype="uint16", compress="deflate", predictor="yes",
        blocksize=128,
    ) as file:  # fmt: skip
        file.write(pixels)
    with serve(tmp_path) as server:

        def check(index) -> bool:
            url = (path, f"{server.url}/a.tif")[index % 2]
            read = (virtual_cog.read, through_zarr)[index // 2 % 2]
            return np.array_equal(read(url), pixels)

        with ThreadPoolExecutor(12) as pool:
            assert all(pool.map(check, range(48)))
