"""Uncompressed strips become chunks of even size, whatever strips the file has; files written by tifffile and GDAL."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
import rasterio
import tifffile
import xarray as xr
import zarr
from obspec_utils.registry import ObjectStoreRegistry
from obstore.store import LocalStore
from virtualizarr import open_virtual_dataset

import virtual_cog
from counting import CountingStore
from rawtiff import RawTiff, grey
from tiff_codecs import cpu

MIB = 2**20

pytestmark = pytest.mark.filterwarnings("ignore::zarr.errors.ZarrUserWarning")


def opened(path, **options) -> zarr.Array:
    return zarr.open_group(virtual_cog.open_store(path, **options), mode="r")["band_data"]


def check(path, pixels):
    """Read in every way, whole and in part; returns the array of the store."""
    array = opened(path)
    np.testing.assert_array_equal(array[...], pixels)
    np.testing.assert_array_equal(virtual_cog.read(path), pixels)
    height, width = pixels.shape[1:]
    top, left = height // 3, width // 4
    part = np.s_[:, top : top + height // 2, left : left + width // 2]
    np.testing.assert_array_equal(array[part], pixels[part])
    np.testing.assert_array_equal(virtual_cog.read(path, window=(left, top, width // 2, height // 2)), pixels[part])
    with cpu.enable():
        np.testing.assert_array_equal(opened(path)[part], pixels[part])
    return array


def noise(*shape, dtype="u2"):
    size = math.prod(shape) * np.dtype(dtype).itemsize
    return np.frombuffer(np.random.default_rng(size).bytes(size), dtype).reshape(shape)


@pytest.mark.parametrize("rows", [1, 7, 999, 3000, 2**32 - 1])
@pytest.mark.parametrize("layout", ["one band", "interleaved", "planar"])
def test_chunks_do_not_depend_on_the_strips(tmp_path, rows, layout):
    """Neither on how many there are, nor on a last one that is short: scenes of one shape fit together."""
    bands = 1 if layout == "one band" else 3
    pixels = noise(bands, 3000, 700)
    path = tmp_path / "a.tif"
    stored = pixels[0] if bands == 1 else pixels if layout == "planar" else pixels.transpose(1, 2, 0)
    config = {} if bands == 1 else {"planarconfig": "separate" if layout == "planar" else "contig"}
    photometric = "minisblack" if bands == 1 else "rgb"
    tifffile.imwrite(
        path, stored, rowsperstrip=min(rows, 3000), byteorder="<>"[rows % 2], photometric=photometric, **config
    )
    if rows > 3000:
        with tifffile.TiffFile(path, mode="r+b") as file:
            file.pages.first.tags["RowsPerStrip"].overwrite(rows, dtype="I")
    array = check(path, pixels)
    assert array.chunks == ((3, 750, 700) if layout == "interleaved" else (1, 1500, 700))


@pytest.mark.parametrize(
    ("height", "width", "rows"),
    [
        (40, 30, 40),  # less than 1 MiB is one chunk
        (4096, 1024, 4096),  # 4 MiB as well
        (4098, 1024, 2049),  # the largest part that divides the height
        (8191, 1024, 2048),  # a prime number of rows: 2 MiB, and a short last chunk
        (3, 5 * MIB, 1),  # rows larger than that are not cut
        (5, 1200 * 1024, 1),  # 1.2 MiB a row
    ],
)
def test_the_size_of_chunks(tmp_path, height, width, rows):
    path = tmp_path / "a.tif"
    pixels = noise(1, height, width, dtype="u1")
    tifffile.imwrite(path, pixels[0], rowsperstrip=1 if height < 10 else 3)
    array = check(path, pixels)
    assert array.chunks == (1, rows, width)
    names = [codec.to_dict()["name"] for codec in array.metadata.codecs]
    assert names == ["bytes" if height % rows == 0 else "tiff_codecs.tile"], "Zarr reads even strips by itself"


@pytest.mark.parametrize(("bits", "height"), [(1, 4000), (12, 400)])
def test_samples_that_share_bytes(tmp_path, bits, height):
    """Rows of 10001 samples end within a byte; what is left of it belongs to no row."""
    pixels = np.random.default_rng(bits).integers(0, 2**bits, (1, height, 10001), "u2" if bits > 8 else "u1")
    path = tmp_path / "a.tif"
    with rasterio.open(
        path, "w", driver="GTiff", width=10001, height=height, count=1, dtype=pixels.dtype, nbits=bits, blockysize=3
    ) as file:
        file.write(pixels)
    assert check(path, pixels).chunks == (1, height // 2, 10001)


def test_bands_of_different_depths(tmp_path):
    file = RawTiff()
    rows = noise(200, 700 * 2, dtype="u1")
    at = file.block(rows.tobytes())
    tags = {"t258": (3, [5, 6, 5]), "t262": (3, [2]), "t277": (3, [3]), "t278": (3, [1])}
    places = {"t273": (4, [at + 1400 * row for row in range(200)]), "t279": (4, [1400] * 200)}
    file.ifd(grey(700, 200, **tags, **places))
    path = tmp_path / "a.tif"
    path.write_bytes(file.bytes())
    words = rows[:, 0::2].astype("u2") << 8 | rows[:, 1::2]
    array = check(path, np.stack([words >> 11, words >> 5 & 63, words & 31]).astype("u1"))
    assert array.chunks == (3, 200, 700)


def test_a_window_reads_the_chunks_it_needs(tmp_path):
    """Of an image in one strip, and of one in thousands, with few requests."""
    pixels = noise(1, 20_000, 1000)
    window = np.s_[0, 10_001:10_101, 500:600]
    for rows in (1, 20_000):
        tifffile.imwrite(tmp_path / "a.tif", pixels[0], rowsperstrip=rows)
        store = CountingStore(Path(tmp_path.root))
        registry = ObjectStoreRegistry({"file://": store})
        array = opened(tmp_path / "a.tif", registry=registry)
        store.clear()
        np.testing.assert_array_equal(array[window], pixels[window])
        assert store.requests == 1
        assert store.bytes_read <= 4 * MIB


def strips(places, counts, content, **tags):
    """A file of 6 rows of 4 bytes, 2 rows a strip, and its strips where they are said to be."""
    file = RawTiff()
    file.block(content)
    file.ifd(grey(4, 6, t278=(3, [2]), t273=(4, [8 + place for place in places]), t279=(4, counts), **tags))
    return file.bytes()


CONTENT = bytes(range(64))


@pytest.mark.parametrize(
    ("places", "counts", "chunks"),
    [
        ((0, 8, 16), (8, 8, 8), 1),
        ((0, 8, 16), (9, 8, 40), 1),  # counts that say more than there is
        ((0, 9, 17), (9, 8, 8), 3),  # a byte to fill up
        ((16, 8, 0), (8, 8, 8), 3),
        ((0, 0, 0), (8, 8, 8), 3),
        ((0, 8, 16), (8, 0, 8), 3),  # a missing strip
    ],
)
def test_strips_that_do_not_lie_one_behind_the_other_stay(tmp_path, places, counts, chunks):
    path = tmp_path / "a.tif"
    path.write_bytes(strips(places, counts, CONTENT))
    rows = [CONTENT[place : place + 8] if count else bytes(8) for place, count in zip(places, counts, strict=True)]
    pixels = np.frombuffer(b"".join(rows), "u1").reshape(1, 6, 4)
    array = check(path, pixels)
    assert math.prod(-(-side // chunk) for side, chunk in zip(array.shape, array.chunks, strict=True)) == chunks
    with rasterio.open(path) as file:
        np.testing.assert_array_equal(file.read(), pixels)


def test_compressed_strips_and_tiles_stay(tmp_path):
    pixels = noise(1, 256, 256, dtype="u1")
    for options, chunks in (
        ({"rowsperstrip": 8, "compression": "zlib"}, (1, 8, 256)),
        ({"tile": (32, 64)}, (1, 32, 64)),
    ):
        tifffile.imwrite(tmp_path / "a.tif", pixels[0], **options)
        assert check(tmp_path / "a.tif", pixels).chunks == chunks


@pytest.mark.parametrize("bands", [1, 3])
def test_scenes_with_other_strips_are_put_together(tmp_path, bands):
    registry = ObjectStoreRegistry({"file://": LocalStore()})
    pixels = noise(2, 1201, 1999, bands, dtype="u2")
    scenes = []
    for number, rows in enumerate((1, 1201)):
        path = tmp_path / f"{number}.tif"
        tifffile.imwrite(path, pixels[number], rowsperstrip=rows, photometric="rgb" if bands == 3 else "minisblack")
        scenes.append(open_virtual_dataset(str(path), registry=registry, parser=virtual_cog.COGParser()))
    stack = xr.concat(scenes, dim="time", coords="minimal", compat="override", combine_attrs="drop_conflicts")
    array = stack["band_data"].data
    assert array.metadata.chunks == (1, *scenes[0]["band_data"].data.metadata.chunks)
    references = array.manifest.dict()
    assert {entry["path"].rpartition("/")[2] for entry in references.values()} == {"0.tif", "1.tif"}
    assert sum(entry["length"] for entry in references.values()) == pixels.nbytes
