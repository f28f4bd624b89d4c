"""The tour: it proves what it says, on its own scene and on files of any kind."""

from __future__ import annotations

import re
import warnings
from types import SimpleNamespace

import numpy as np
import pytest
import rasterio
import tifffile
from matplotlib.image import imread

from rawtiff import jbig
from tiff_codecs.errors import TiffError
from virtual_cog._cli import _demo_check, _demo_picture, main
from virtual_cog._cli._demo_scene import landscape, write_cog
from virtual_cog._info import describe

UTM = rasterio.Affine(10, 0, 5e5, 0, -10, 4.6e6)


@pytest.fixture
def run(capsys):
    """Run the demo in this process; returns its exit code, stdout and the lines of stderr."""

    def run(*argv):
        code = main(["demo", *(str(word) for word in argv)])
        out, err = capsys.readouterr()
        return code, out, err.splitlines()

    return run


def write(path, pixels, driver="GTiff", **options):
    bands, height, width = pixels.shape
    with rasterio.open(
        path, "w", driver=driver, width=width, height=height, count=bands, dtype=pixels.dtype, **options
    ) as file:
        file.write(pixels)
    return path


def shown(path):
    """The colours of a picture's middle, where the image is."""
    picture = imread(path)
    assert picture.shape == (960, 960, 4)
    return picture[200:760, 200:700, :3]


# --- from end to end


def test_the_first_command(run, tmp_path):
    folder = tmp_path / "tour"
    code, out, err = run("--output", folder)
    assert (code, err) == (0, [])
    assert "0 of 3,145,728 values differ (GDAL " in out
    assert re.search(r"read it in a fresh process +\d.*all pixels in .*tiff_codecs.tile, tiff_codecs.deflate", out)
    assert "GPU" in out
    assert {path.name for path in folder.iterdir()} == {"scene.tif", "references.icechunk", "scene.png"}
    for path in folder.iterdir():
        assert str(path) in out
    names = {}
    with warnings.catch_warnings(action="ignore"):
        exec(out[out.index("import icechunk") :], names)  # noqa: S102 - as a user would
    assert names["dataset"]["band_data"].shape == (3, 1024, 1024)
    assert names["dataset"]["x"][0] == 600_005
    colours = shown(folder / "scene.png")
    assert colours.std() > 0.1


def test_the_scene_is_what_it_says(tmp_path):
    write_cog(tmp_path / "scene.tif")
    found = describe(tmp_path / "scene.tif")
    image = found.ifds[0]
    assert found.cog.is_cog
    assert not found.cog.hints
    assert found.crs.epsg == 32632
    assert (image.width, image.height, image.bands, image.dtype) == (1024, 1024, 3, "uint8")
    assert (image.tile_width, image.tile_height, image.compression, image.predictor) == (256, 256, 8, 2)
    assert [ifd.width for ifd in found.ifds] == [1024, 512, 256]
    np.testing.assert_array_equal(landscape(), rasterio.open(tmp_path / "scene.tif").read())
    assert not np.array_equal(landscape(64), landscape(64, seed=8))


def test_a_file_of_the_user(run, tmp_path):
    pixels = np.random.default_rng(5).normal(0, 1e4, (5, 90, 120)).astype("f4")
    pixels[:, :30] = -9999
    path = write(tmp_path / "a b%20.tif", pixels, nodata=-9999, crs="EPSG:4326", transform=UTM, compress="lzw")
    code, out, err = run(path, "-o", tmp_path / "tour")
    assert (code, err) == (0, [])
    assert "0 of 54,000 values differ" in out
    assert "make a COG" not in out
    assert "scene.png" in out


def test_a_large_image_is_compared_in_part_and_drawn_from_an_overview(run, tmp_path, monkeypatch):
    pixels = np.random.default_rng(6).integers(0, 200, (1, 1000, 1200), "u1")
    path = write(tmp_path / "a.tif", pixels, "COG", blocksize=128, crs="EPSG:32631", transform=UTM)
    monkeypatch.setattr(_demo_check, "CHECKED_BYTES", 256 * 256)
    code, out, err = run(path, "-o", tmp_path / "tour")
    assert (code, err) == (0, [])
    assert "a window of 256 x 256 pixels of 1200 x 1000" in out
    assert "0 of 65,536 values differ" in out
    assert "its overview of 600 x 500 pixels" in out


def test_wrong_pixels_are_found(run, tmp_path, monkeypatch):
    path = write(tmp_path / "a.tif", np.zeros((1, 16, 16), "u1"))
    read = _demo_check.read_with_rasterio

    def wrong(url, window):
        pixels = read(url, window)
        pixels[0, 3, 4:6] ^= 1
        return pixels

    monkeypatch.setattr(_demo_check, "read_with_rasterio", wrong)
    code, out, err = run(path, "-o", tmp_path / "tour")
    assert (code, err) == (1, [])
    assert "2 of 256 values differ" in out


def test_where_gdal_cannot_read_nothing_is_claimed(run, tmp_path, monkeypatch):
    path = write(tmp_path / "a.tif", np.zeros((1, 16, 16), "u1"))

    def refuse(url, window):
        message = "no such driver"
        raise rasterio.errors.RasterioIOError(message)

    monkeypatch.setattr(_demo_check, "read_with_rasterio", refuse)
    code, out, _ = run(path, "-o", tmp_path / "tour")
    assert code == 0
    assert "not compared: rasterio does not read it (no such driver)" in out
    assert "differ" not in out


def test_a_file_that_is_not_read_ends_the_tour_where_it_fails(run, tmp_path):
    code, out, err = run(jbig(tmp_path / "a.tif"), "-o", tmp_path / "tour")
    assert (code, len(err)) == (1, 1)
    assert "ISO JBIG" in err[0]
    assert re.search(r"make a virtual dataset +failed", out)
    assert run("none.tif", "-o", tmp_path / "other")[0] == 1


def test_a_folder_with_something_in_it_is_left_alone(run, tmp_path):
    (tmp_path / "precious.txt").touch()
    code, out, err = run("-o", tmp_path)
    assert (code, out) == (1, "")
    assert "not empty" in err[0]
    assert len(list(tmp_path.iterdir())) == 1


# --- its parts


def image(width, height, tile=(256, 256), pixel=1):
    return SimpleNamespace(
        width=width, height=height, tile_width=tile[0], tile_height=tile[1], pixel_bytes=width * height * pixel
    )


@pytest.mark.parametrize(
    "size",
    [
        image(1000, 900),
        image(100_000, 90_000, pixel=3),
        image(1_000_000, 700, pixel=4),
        image(40_000, 40_000, tile=(40_000, 1)),
        image(40_000, 40_000, tile=(40_000, 40_000)),
        image(20_000, 20_000, pixel=2000),
    ],
)
def test_the_window_is_inside_and_of_whole_tiles(size):
    col, row, width, height = _demo_check.window_to_check(size)
    assert col >= 0
    assert row >= 0
    assert 0 < width <= size.width - col
    assert 0 < height <= size.height - row
    assert col % size.tile_width == row % size.tile_height == 0
    pixel = size.pixel_bytes / size.width / size.height
    least = size.tile_width * size.tile_height * pixel  # no reader can take less than a tile
    assert width * height * pixel <= max(_demo_check.CHECKED_BYTES, least)


def test_differences_are_counted_to_the_bit():
    ours = np.array([[1.0, np.nan, 0.0, 5.0]], "f4")
    assert _demo_check.count_differences(ours, ours.copy()) == 0
    assert _demo_check.count_differences(ours, np.array([[1.0, np.nan, -0.0, 6.0]], "f4")) == 2
    assert _demo_check.count_differences(ours, ours.astype("f8")) == 4
    assert _demo_check.count_differences(ours, ours[:, :2]) == 4


def test_a_fresh_process_that_fails_says_why(tmp_path):
    with pytest.raises(TiffError, match="ValueError: no luck") as caught:
        _demo_check.read_in_fresh_process("raise ValueError('no luck')", (0, 0, 1, 1), tmp_path)
    assert "\n" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("bands", "photometric", "names", "expected"),
    [
        (1, 1, [], (0,)),
        (2, 1, [], (0,)),
        (3, 2, [], (0, 1, 2)),
        (4, 1, ["blue", "green", "red", "nir"], (2, 1, 0)),
        (5, 1, ["B02", "B03", "B04", "B08", "SCL"], (2, 1, 0)),
        (4, 1, ["a", "b"], (0, 1, 2)),
        (1, 3, [], (0,)),
    ],
)
def test_bands_that_make_a_picture(bands, photometric, names, expected):
    assert _demo_picture.choose_bands(bands, photometric, names) == expected


def test_colours():
    rgb = np.arange(3 * 4 * 4, dtype="u1").reshape(3, 4, 4)
    colours, limits = _demo_picture.to_colours(rgb, 2, None, None)
    assert limits is None
    np.testing.assert_allclose(colours[..., :3], np.moveaxis(rgb, 0, 2) / 255)
    deep = np.random.default_rng(0).integers(0, 65535, (3, 50, 50), "u2")
    colours, _ = _demo_picture.to_colours(deep, 2, 0, None)
    assert colours.min() == 0
    assert colours.max() == 1
    shades, limits = _demo_picture.to_colours(np.array([[[np.nan, 1, 2, -9999, 3]]], "f4"), 1, -9999, None)
    assert shades.mask.tolist() == [[True, False, False, True, False]]
    assert 1 <= limits[0] < limits[1] <= 3
    palette = np.array([[0, 0, 0], [1, 0.5, 0]])
    colours, _ = _demo_picture.to_colours(np.array([[[0, 1, 9]]], "u1"), 3, None, palette)
    assert colours[0].tolist() == [[0, 0, 0, 1], [1, 0.5, 0, 1], [1, 0.5, 0, 1]]


@pytest.mark.parametrize("kind", ["constant", "nan", "complex", "bool", "line", "tall"])
def test_pictures_of_odd_images(tmp_path, kind):
    pixels = {
        "constant": np.full((1, 9, 9), 7, "i4"),
        "nan": np.full((1, 9, 9), np.nan, "f4"),
        "complex": np.full((1, 9, 9), 3 + 4j, "c8"),
        "bool": np.eye(9, dtype="u1")[None],
        "line": np.arange(500, dtype="u2").reshape(1, 1, 500),
        "tall": np.arange(9000, dtype="u2").reshape(3, 3000, 1),
    }[kind]
    path = write(tmp_path / "a.tif", pixels, crs="EPSG:32631", transform=UTM)
    thin = _demo_picture.thin_out(pixels)
    assert max(thin.shape[1:]) <= _demo_picture.LARGE_SIDE
    window = (0, 0, pixels.shape[2], pixels.shape[1])
    picture = _demo_picture.Picture(pixels=thin, window=window, title="a $x_1$ [b]")
    with warnings.catch_warnings(action="ignore"):  # as on the command line
        _demo_picture.draw(picture, describe(path), tmp_path / "a.png")
    assert imread(tmp_path / "a.png").shape == (960, 960, 4)


@pytest.mark.parametrize("south_up", [False, True])
def test_north_is_up_and_east_is_right(tmp_path, south_up):
    """The north-east quarter is bright; the rows of the file may run either way."""
    pixels = np.zeros((3, 64, 64), "u1")
    pixels[:, 32:, 32:] = 255
    grid = rasterio.Affine(10, 0, 5e5, 0, 10, 4.5e6)
    if not south_up:
        pixels, grid = pixels[:, ::-1], rasterio.Affine(10, 0, 5e5, 0, -10, 4.5e6 + 640)
    path = write(tmp_path / "a.tif", pixels, crs="EPSG:32631", transform=grid, photometric="RGB")
    picture = _demo_picture.Picture(pixels=pixels, window=(0, 0, 64, 64), title="a")
    _demo_picture.draw(picture, describe(path), tmp_path / "a.png")
    colours = shown(tmp_path / "a.png").mean(axis=2)
    assert colours[:100, -100:].mean() > 0.9
    assert colours[:100, :100].mean() < 0.1
    assert colours[-100:, -100:].mean() < 0.1


def test_edges_in_coordinates(tmp_path):
    path = write(tmp_path / "a.tif", np.zeros((1, 20, 30), "u1"), crs="EPSG:32631", transform=UTM)
    found = describe(path)
    assert _demo_picture.extent_of(found, (10, 5, 4, 3)) == (500_100, 500_140, 4_599_920, 4_599_950)
    rotated = write(tmp_path / "b.tif", np.zeros((1, 20, 30), "u1"), transform=UTM @ rasterio.Affine.rotation(10))
    assert _demo_picture.extent_of(describe(rotated), (0, 0, 30, 20)) is None
    tifffile.imwrite(tmp_path / "c.tif", np.zeros((8, 8), "u1"))
    assert _demo_picture.extent_of(describe(tmp_path / "c.tif"), (0, 0, 8, 8)) is None


def test_overviews_for_a_picture(tmp_path):
    path = write(tmp_path / "a.tif", np.zeros((1, 3000, 5000), "u1"), "COG", blocksize=512)
    assert _demo_picture.overview_for(describe(path)).width == 1250
    bare = write(tmp_path / "b.tif", np.zeros((1, 300, 500), "u1"))
    assert _demo_picture.overview_for(describe(bare)) is None


def test_palette(corpus):
    path = corpus["gdal__test_color_table.tif"].path
    palette = _demo_picture.palette_of(str(path))
    with rasterio.open(path) as file:
        table = file.colormap(1)
    np.testing.assert_allclose(palette * 255, [table[entry][:3] for entry in range(256)], atol=0.5)
