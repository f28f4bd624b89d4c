"""What reading headers asks of a store, to the request and the byte; times are only printed."""

from __future__ import annotations

import time

import numpy as np
import pytest
import tifffile
from obspec_utils.registry import ObjectStoreRegistry

import header_files
from counting import CountingStore
from virtual_cog import COGParser
from virtual_cog._bench.header_readers import every_ifd
from virtual_cog._source import Source

URL = "counted://files"
MOST = 32 * 1024
"""Bytes beyond the IFDs' own that may be read at most."""

# name: requests for the main image, requests for all IFDs
FILES = {
    "cog": (header_files.write_cog, 1, 1),
    "overviews_behind": (header_files.write_overviews_behind, 1, 2),
    "ifds_at_the_end": (header_files.write_ifds_at_the_end, 2, 3),
    "many_tiles": (header_files.write_many_tiles, 2, 2),
}


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    folder = tmp_path_factory.mktemp("counted")
    for name, (write, _, _) in FILES.items():
        write(folder / f"{name}.tif")
    return CountingStore(folder)


@pytest.fixture(params=FILES)
def name(request, store):
    store.clear()
    return request.param


def report(what, name, store, own, seconds):
    beyond = store.bytes_read - own
    counted = f"{store.requests} requests, {store.bytes_read} bytes, {beyond:+} beyond the {own} of the IFDs"
    print(f"\n{name}, {what}: {counted}, {1000 * seconds:.2f} ms")  # noqa: T201 - for people, with -s


def test_all_ifds(store, name):
    _, _, expected = FILES[name]
    path = store.folder / f"{name}.tif"
    started = time.perf_counter()
    source = Source(name, store, path.name)
    ifds = source.drive(every_ifd(source.open()))
    own = header_files.own_bytes(path)
    report("all IFDs", name, store, own, time.perf_counter() - started)
    assert store.requests == expected
    assert store.bytes_read <= own + MOST
    with tifffile.TiffFile(path) as file:
        assert len(ifds) == len(file.pages)
        for ifd, page in zip(ifds, file.pages, strict=True):
            assert ifd.offset == page.offset
            np.testing.assert_array_equal(ifd.values(324), page.dataoffsets)
            np.testing.assert_array_equal(ifd.values(325), page.databytecounts)


def test_main_image_to_manifest_store(store, name):
    _, expected, _ = FILES[name]
    path = store.folder / f"{name}.tif"
    registry = ObjectStoreRegistry({URL: store})
    started = time.perf_counter()
    manifests = COGParser()(f"{URL}/{path.name}", registry)
    own = header_files.own_bytes(path, 1)
    report("main image to references", name, store, own, time.perf_counter() - started)
    assert store.requests == expected
    assert store.bytes_read <= own + MOST
    references = manifests._group.arrays["band_data"].manifest
    with tifffile.TiffFile(path) as file:
        np.testing.assert_array_equal(references._offsets.ravel(), file.pages[0].dataoffsets)
        np.testing.assert_array_equal(references._lengths.ravel(), file.pages[0].databytecounts)


@pytest.mark.parametrize(("pages", "tiles"), [(200, 1), (40, 16)])
def test_many_pages_far_apart(tmp_path, pages, tiles):
    # each has little of its own, and its pixels behind it: what is read ahead in vain must not add up
    image = np.random.default_rng(2).integers(0, 255, (64 * tiles, 64), "u1")
    with tifffile.TiffWriter(tmp_path / "pages.tif") as file:
        for _ in range(pages):
            file.write(image, tile=(64, 64), metadata=None, contiguous=False)
    store = CountingStore(tmp_path)
    source = Source("pages", store, "pages.tif")
    ifds = source.drive(every_ifd(source.open()))
    own = header_files.own_bytes(tmp_path / "pages.tif")
    report(f"{len(ifds)} pages of {tiles} tiles", "pages", store, own, 0)
    assert store.bytes_read <= own + MOST
    assert store.requests <= len(ifds)
