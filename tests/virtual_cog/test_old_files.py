"""Files that leave out what TIFF 6.0 asks for, or say it as early writers did; GDAL and tifffile say what they hold."""

from __future__ import annotations

import warnings
import zlib

import numpy as np
import pytest
import rasterio
import tifffile
import zarr

import virtual_cog
from rawtiff import RawTiff, grey
from tiff_codecs import cpu
from tiff_codecs.errors import TiffError, TiffFormatError

pytestmark = pytest.mark.filterwarnings(
    "ignore::zarr.errors.ZarrUserWarning", "ignore::rasterio.errors.NotGeoreferencedWarning"
)

WIDTH, HEIGHT = 30, 23
GREY = np.random.default_rng(1).integers(0, 250, (1, HEIGHT, WIDTH), "u1")


def check(path, pixels):
    np.testing.assert_array_equal(virtual_cog.read(path), pixels)
    np.testing.assert_array_equal(virtual_cog.read(path, window=(3, 9, 20, 11)), pixels[:, 9:20, 3:23])
    for pipeline in (warnings.catch_warnings, cpu.enable):
        with pipeline():
            array = zarr.open_group(virtual_cog.open_store(path), mode="r")["band_data"]
            np.testing.assert_array_equal(array[...], pixels)


def check_with_gdal(path, pixels):
    with warnings.catch_warnings(action="ignore"), rasterio.open(path) as file:
        np.testing.assert_array_equal(file.read(), pixels)
    check(path, pixels)


def page(path, strips, *, rows=HEIGHT, behind=b"", **tags):
    """A grey image of strips (bytes) that lie behind one another."""
    file = RawTiff()
    offsets = []
    for strip in strips:
        offsets.append(len(file.data))
        file.data += strip + behind
    file.data += bytes(len(file.data) % 2)
    places = {"t273": (4, offsets), "t279": (4, [len(strip) for strip in strips]), "t278": (3, [rows])}
    file.ifd(grey(WIDTH, HEIGHT, **(places | tags)))
    path.write_bytes(file.bytes())
    return path


def cut(rows):
    return [GREY[0, row : row + rows].tobytes() for row in range(0, HEIGHT, rows)]


@pytest.mark.parametrize("rows", [1, 7, HEIGHT])
@pytest.mark.parametrize("compression", [1, 8])
@pytest.mark.parametrize("behind", [b"", b"\0", bytes(5)])
def test_no_strip_byte_counts(tmp_path, rows, compression, behind):
    """Strips then end where the next begins. GDAL guesses that for one strip, and refuses more."""
    strips = [zlib.compress(strip) if compression == 8 else strip for strip in cut(rows)]
    path = page(tmp_path / "a.tif", strips, rows=rows, behind=behind, t259=(3, [compression]), t279=None)
    (check_with_gdal if rows == HEIGHT else check)(path, GREY)


def test_no_rows_per_strip(tmp_path):
    for compression, strip in ((1, GREY.tobytes()), (8, zlib.compress(GREY.tobytes()))):
        check_with_gdal(page(tmp_path / "a.tif", [strip], t278=None, t259=(3, [compression])), GREY)


@pytest.mark.parametrize("rows", [2**32 - 1, 2**31, 100_000])
def test_rows_per_strip_past_the_image(tmp_path, rows):
    for compression, strip in ((1, GREY.tobytes()), (8, zlib.compress(GREY.tobytes()))):
        check_with_gdal(page(tmp_path / "a.tif", [strip], t278=(4, [rows]), t259=(3, [compression])), GREY)


def test_no_samples_per_pixel(tmp_path):
    check_with_gdal(page(tmp_path / "a.tif", cut(7), rows=7, t277=None), GREY)


def test_no_bits_per_sample(tmp_path):
    """The default is 1, of one sample."""
    packed = np.packbits(GREY[0] & 1, axis=1)
    path = page(tmp_path / "a.tif", [packed.tobytes()], t258=None, t277=None)
    check_with_gdal(path, GREY & 1)


def test_nothing_but_size_and_place(tmp_path):
    packed = np.packbits(GREY[0] & 1, axis=1)
    tags = dict.fromkeys(("t258", "t259", "t277", "t278", "t279"))
    check_with_gdal(page(tmp_path / "a.tif", [packed.tobytes()], **tags), GREY & 1)


def test_no_compression_nor_planar_configuration(tmp_path):
    pixels = np.random.default_rng(2).integers(0, 250, (3, HEIGHT, WIDTH), "u1")
    rgb = {"t258": (3, [8, 8, 8]), "t262": (3, [2]), "t277": (3, [3])}
    path = page(tmp_path / "a.tif", [pixels.transpose(1, 2, 0).tobytes()], t259=None, **rgb)
    check_with_gdal(path, pixels)


@pytest.mark.parametrize("compression", [1, 8])
def test_a_byte_count_of_0_for_the_only_strip(tmp_path, compression):
    strip = zlib.compress(GREY.tobytes()) if compression == 8 else GREY.tobytes()
    path = page(tmp_path / "a.tif", [strip], t279=(4, [0]), t259=(3, [compression]))
    check(path, GREY)
    with tifffile.TiffFile(page(tmp_path / "b.tif", [strip], t259=(3, [compression]))) as file:
        np.testing.assert_array_equal(file.asarray(), GREY[0])


@pytest.mark.parametrize("rows", [1, 7, HEIGHT])
@pytest.mark.parametrize("excess", [1, 3, 4000])
@pytest.mark.parametrize("compression", [1, 8])
def test_padded_byte_counts(tmp_path, rows, excess, compression):
    """Counts that take in the bytes behind each strip: to fill a word or a sector, as writers for tapes had it."""
    strips = [zlib.compress(strip) if compression == 8 else strip for strip in cut(rows)]
    counts = (4, [len(strip) + excess for strip in strips])
    path = page(tmp_path / "a.tif", strips, rows=rows, behind=bytes(excess), t279=counts, t259=(3, [compression]))
    check_with_gdal(path, GREY)


@pytest.mark.parametrize("kind", [3, 4, 16])
@pytest.mark.parametrize("rows", [7, HEIGHT])
def test_field_types_of_the_strip_table(tmp_path, kind, rows):
    """Offsets as SHORT, which only small files have; LONG8 in a classic TIFF is a later writer's."""
    strips = cut(rows)
    path = page(tmp_path / "a.tif", strips, rows=rows)
    with tifffile.TiffFile(path) as file:
        offsets = file.pages.first.dataoffsets
    file = RawTiff()
    file.data += path.read_bytes()[8 : offsets[-1] + len(strips[-1]) + 1]
    file.data += bytes(len(file.data) % 2)
    counts = [len(strip) for strip in strips]
    file.ifd(grey(WIDTH, HEIGHT, t278=(kind, [rows]), t273=(kind, offsets), t279=(kind, counts)))
    path.write_bytes(file.bytes())
    (check if kind == 16 else check_with_gdal)(path, GREY)


@pytest.mark.parametrize("byte_order", "<>")
def test_big_tiffs_with_small_numbers(tmp_path, byte_order):
    file = RawTiff(byte_order, bigtiff=True)
    at = file.block(GREY.tobytes())
    file.ifd(grey(WIDTH, HEIGHT, t273=(3, [at]), t279=(3, [GREY.size]), t278=(16, [HEIGHT])))
    (tmp_path / "a.tif").write_bytes(file.bytes())
    check_with_gdal(tmp_path / "a.tif", GREY)


def test_tile_tables_in_the_tags_of_strips(tmp_path):
    """Some early writers of tiles put their offsets and counts there."""
    path = tmp_path / "a.tif"
    tile = np.random.default_rng(3).integers(0, 250, (2, 16, 16), "u1")
    file = RawTiff()
    offsets = [file.block(part.tobytes()) for part in tile]
    side = (3, [16])
    file.ifd(grey(32, 16, t322=side, t323=side, t273=(4, offsets), t279=(4, [256, 256]), t278=None))
    path.write_bytes(file.bytes())
    pixels = np.hstack([*tile])[np.newaxis]
    with rasterio.open(path) as opened:
        np.testing.assert_array_equal(opened.read(), pixels)
    np.testing.assert_array_equal(virtual_cog.read(path), pixels)


def test_an_older_subfile_type(tmp_path):
    """SubfileType 2 is a reduced image, which is no page."""
    file = RawTiff()
    for value, extra in ((1, {"t255": (3, [1])}), (2, {"t255": (3, [2])}), (3, {"t255": (3, [3])})):
        file.ifd(grey(4, 4, offset=file.block(bytes([value] * 16)), **extra))
    (tmp_path / "a.tif").write_bytes(file.bytes())
    assert virtual_cog.read(tmp_path / "a.tif", layout="stack")[:, 0, 0, 0].tolist() == [1, 3]


@pytest.mark.parametrize("tag", ["t256", "t257", "t273"])
def test_what_no_image_can_be_without(tmp_path, tag):
    path = page(tmp_path / "a.tif", cut(HEIGHT), **{tag: None})
    for read in (virtual_cog.read, virtual_cog.open_store):
        with pytest.raises(TiffFormatError):
            read(path)


def test_one_byte_count_for_many_strips_is_refused(tmp_path):
    """Nobody can tell what is meant; GDAL does not read it either, or gives zeros."""
    path = page(tmp_path / "a.tif", cut(7), rows=7, t279=(4, [7 * WIDTH]))
    with pytest.raises(TiffError):
        virtual_cog.read(path)
