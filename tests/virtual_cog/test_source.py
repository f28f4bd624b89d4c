"""How much is read, and how: requests and bytes are counted, not guessed."""

from __future__ import annotations

import shutil

import numpy as np
import pytest
import rasterio
import tifffile
import zarr

import virtual_cog
from httpserver import serve
from tiff_codecs.errors import TiffAccessError, TiffError, TiffNotFoundError
from virtual_cog._registry import resolve
from virtual_cog._scene import load_scene
from virtual_cog._source import PREFETCH, Source

PIXELS = np.random.default_rng(4).integers(0, 255, (1, 900, 1000), "u1")


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    folder = tmp_path_factory.mktemp("served")
    with rasterio.open(
        folder / "a cog.tif", "w", driver="COG", width=1000, height=900, count=1, dtype="uint8", compress="deflate",
        blocksize=128, crs="EPSG:32631", transform=rasterio.Affine(10, 0, 5e5, 0, -10, 4.6e6),
    ) as file:  # fmt: skip
        file.write(PIXELS)
    with rasterio.open(
        folder / "end.tif", "w", driver="GTiff", width=1000, height=900, count=1, dtype="uint8", tiled=True,
        blockxsize=64, blockysize=64,
    ) as file:  # fmt: skip
        file.write(PIXELS)
    with rasterio.open(folder / "end.tif", "r+") as file:
        file.build_overviews([2, 4, 8], rasterio.enums.Resampling.nearest)
    tiles = (np.zeros((16, 16), "u1") for _ in range(200 * 200))
    tifffile.imwrite(
        folder / "many.tif", tiles, shape=(3200, 3200), dtype="u1", tile=(16, 16), compression="zlib",
        bigtiff=True, metadata=None,
    )  # fmt: skip
    with serve(folder) as running:
        yield running


def own_bytes(path) -> int:
    """Bytes of the header, all IFDs and all values they point to."""
    total = 16
    with tifffile.TiffFile(path) as file:
        for page in file.pages:
            total += 20 * (len(page.tags) + 1)
            total += sum(tag.valuebytecount for tag in page.tags if tag.valuebytecount > 4)
    return total


@pytest.mark.parametrize(("name", "most"), [("a%20cog.tif", 1), ("end.tif", 2), ("many.tif", 3)])
def test_requests_for_one_image(server, name, most):
    server.requests.clear()
    source = resolve(f"{server.url}/{name}")
    directory = source.open()
    scene = source.drive(load_scene(directory, 0))
    assert scene.image.width in (1000, 3200)
    assert len(server.requests) <= most
    assert server.bytes_sent <= own_bytes(server.folder / name.replace("%20", " ")) + PREFETCH


@pytest.mark.parametrize(("name", "most"), [("a%20cog.tif", 1), ("end.tif", 4)])
def test_requests_for_all_ifds(server, name, most):
    server.requests.clear()
    source = resolve(f"{server.url}/{name}")
    directory = source.open()
    assert len(source.drive(directory.all())) == 4
    assert len(server.requests) <= most
    assert server.bytes_sent <= own_bytes(server.folder / name.replace("%20", " ")) + PREFETCH


def test_pixels_over_http(server):
    url = f"{server.url}/a%20cog.tif"
    np.testing.assert_array_equal(virtual_cog.read(url), PIXELS)
    np.testing.assert_array_equal(zarr.open_group(virtual_cog.open_store(url), mode="r")["band_data"][...], PIXELS)
    server.requests.clear()
    got = virtual_cog.read(url, window=(130, 130, 100, 100))
    np.testing.assert_array_equal(got, PIXELS[:, 130:230, 130:230])
    assert len(server.requests) == 2  # the IFDs, and the one tile


def test_neighbouring_tiles_are_fetched_together(server):
    """Small tiles that lie side by side in the file cost one request for many."""
    server.requests.clear()
    np.testing.assert_array_equal(virtual_cog.read(f"{server.url}/end.tif"), PIXELS)
    assert len(server.requests) < 2 + 15 * 16 / 4


def test_what_is_not_there(server):
    with pytest.raises(TiffNotFoundError, match="no such file") as caught:
        virtual_cog.read(f"{server.url}/none.tif")
    assert caught.value.url == f"{server.url}/none.tif"


def test_a_host_that_does_not_answer():
    with pytest.raises(TiffAccessError):
        virtual_cog.read("http://127.0.0.1:9/a.tif")


class Short:
    """A store that gives fewer bytes than asked for, as one does whose file was cut after it was opened."""

    def __init__(self, content):
        self.content = content

    def get_range(self, path, *, start, end):
        return self.content[start : end - 1]

    def get_ranges(self, path, *, starts, ends):
        return [self.get_range(path, start=s, end=e) for s, e in zip(starts, ends, strict=True)]


def test_a_short_answer_is_an_error():
    source = Source("x", Short(bytes(100)), "x")
    with pytest.raises(TiffAccessError, match="fewer bytes"):
        source.read(5, 10)


def test_a_file_cut_while_it_is_read(tmp_path, server):
    path = tmp_path / "a.tif"
    shutil.copy(server.folder / "end.tif", path)
    source = resolve(path)
    scene = source.drive(load_scene(source.open(), 0))
    path.write_bytes(path.read_bytes()[:100_000])
    with pytest.raises(TiffError):
        virtual_cog._read.read_scene(source, scene)
