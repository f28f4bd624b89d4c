"""The IFD walk on files built by hand, and on real ones."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import numpy as np
import pytest
import tifffile
from obstore.store import LocalStore, MemoryStore

from rawtiff import RawTiff, grey
from tiff_codecs.errors import TiffFormatError, TiffSelectionError
from virtual_cog._scene import load_image, load_scene
from virtual_cog._source import Source
from virtual_cog._tags import Tag

if TYPE_CHECKING:
    from virtual_cog._directory import Directory


def open_bytes(content: bytes) -> tuple[Source, Directory]:
    store = MemoryStore()
    store.put("a.tif", content)
    source = Source("memory://a.tif", store, "a.tif")
    return source, source.open()


VARIANTS = [("<", False), (">", False), ("<", True), (">", True)]


@pytest.mark.parametrize(("order", "big"), VARIANTS)
def test_every_field_type_in_both_byte_orders_and_sizes(order, big):
    file = RawTiff(order, big)
    values = {
        1: [1, 255, 3, 4, 5, 6, 7, 8, 9],
        3: [1, 65535, 3, 4, 5],
        4: [1, 2**32 - 1, 7],
        6: [-1, -128, 127],
        8: [-32768, 32767, 1, 2, 3],
        9: [-(2**31), 2**31 - 1, 5],
        11: [0.5, -2.25, 3e30],
        12: [0.1, -1e300],
        13: [8, 9, 10],
        16: [2**64 - 1, 5],
        17: [-(2**63), 5],
        18: [2**63, 5],
    }
    tags = [(60000 + kind, kind, v) for kind, v in values.items()]
    rational = file.pack("IIII", 1, 3, 5, 4)
    tags += [(60005, 5, rational, 2), (60002, 2, b"caf\xe9\0x"), (60100, 99, b"\1\2\3\4", 4)]
    file.ifd(sorted(tags))
    source, directory = open_bytes(file.bytes())
    (ifd,) = source.drive(directory.all())
    assert list(ifd) == sorted(t[0] for t in tags)
    for kind, expected in values.items():
        got = ifd.values(60000 + kind)
        assert got.tolist() == np.array(expected, got.dtype).tolist()
        assert got.dtype.isnative
    assert ifd.values(60005).tolist() == [1 / 3, 1.25]
    assert ifd.text(60002) == "caf\xe9"  # not UTF-8: Latin-1
    assert ifd.values(60100) is None  # a type that TIFF does not define is kept and skipped
    assert 60100 in ifd
    assert ifd.values(1) is None


@pytest.mark.parametrize(("order", "big"), VARIANTS)
def test_the_chain_and_sub_ifds_in_order(order, big):
    file = RawTiff(order, big)
    subs = [file.ifd(grey(2, 2, count=4), chained=False) for _ in range(2)]
    nested = file.ifd(grey(3, 3, count=9, t330=(13, subs[1:])), chained=False)
    file.ifd(grey(10, 10, t330=(13, [subs[0], nested])))
    file.ifd(grey(20, 20))
    source, directory = open_bytes(file.bytes())
    ifds = source.drive(directory.all())
    assert [(i.integer(Tag.ImageWidth, 0), i.parent) for i in ifds] == [
        (10, None),
        (20, None),
        (2, 0),
        (3, 0),
        (2, 3),
    ]
    assert [i.index for i in ifds] == [0, 1, 2, 3, 4]


def test_the_walk_goes_no_further_than_asked():
    file = RawTiff()
    file.ifd(grey())
    file.ifd(grey())
    file.link(2**31)  # a broken third IFD
    source, directory = open_bytes(file.bytes())
    assert source.drive(directory.ifd(1)).index == 1
    with pytest.raises(TiffFormatError, match="outside the file"):
        source.drive(directory.ifd(2))


@pytest.mark.parametrize("back", [0, 1])
def test_a_chain_that_turns_back_is_refused(back):
    file = RawTiff()
    places = [file.ifd(grey()), file.ifd(grey())]
    file.link(places[back])
    source, directory = open_bytes(file.bytes())
    assert source.drive(directory.ifd(1)).index == 1
    with pytest.raises(TiffFormatError, match="turns back"):
        source.drive(directory.all())


def test_a_sub_ifd_that_is_its_parent_is_refused():
    file = RawTiff()
    file.ifd(grey(t330=(13, [8])))
    source, directory = open_bytes(file.bytes())
    with pytest.raises(TiffFormatError, match="turns back"):
        source.drive(directory.all())


@pytest.mark.parametrize("index", [-1, 1, 10**9])
def test_an_ifd_that_is_not_there(index):
    file = RawTiff()
    file.ifd(grey())
    source, directory = open_bytes(file.bytes())
    with pytest.raises(TiffSelectionError) as caught:
        source.drive(directory.ifd(index))
    assert caught.value.url == "memory://a.tif"


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (b"", "not a TIFF"),
        (b"II", "not a TIFF"),
        (b"II*\0", "ends inside its header"),
        (b"\x89PNG\r\n\x1a\n" + bytes(20), "PNG"),
        (b"II\x2c\0" + bytes(20), "version number 44"),
        (b"II\x2b\0\x04\0\0\0" + bytes(20), "offset size"),
        (b"II*\0\xff\xff\xff\xff" + bytes(20), "outside the file"),
        (b"II*\0\x08\0\0\0\0\0\0\0\0\0", "without a tag"),
        (b"II*\0\x08\0\0\0\xff\xff\0\0\0\0", "damaged IFD"),
        (b"II+\0\x08\0\0\0\x10\0\0\0\0\0\0\0" + b"\xff" * 8 + bytes(20), "damaged IFD"),
    ],
)
def test_damaged_headers(content, what):
    with pytest.raises(TiffFormatError, match=what) as caught:
        source, directory = open_bytes(content)
        source.drive(load_scene(directory, 0))
    assert caught.value.url == "memory://a.tif"


def test_a_file_with_no_ifd_says_so():
    source, directory = open_bytes(b"II*\0" + bytes(20))
    with pytest.raises(TiffSelectionError, match="without an IFD"):
        source.drive(load_scene(directory, 0))


@pytest.mark.parametrize(
    "tags",
    [
        grey(t256=None),
        grey(t257=(3, [0])),
        grey(t257=(4, [2**32 - 1])),
        grey(t273=None),
        grey(t273=(4, [2**31])),
        grey(t273=(4, [2])),
        grey(t273=(12, [8.0])),
        grey(t279=(4, [2**31])),
        grey(t279=(4, [15])),
        grey(t278=(3, [1])),  # four strips, one entry
        grey(t277=(3, [0])),
        grey(t258=(3, [0])),
        grey(t284=(3, [7])),
        grey(t322=(3, [0]), t323=(3, [16])),
        grey(t256=(4, [2**31 - 1]), t257=(4, [2**31 - 1]), t278=(4, [2**31 - 1])),
        grey(t256=(4, [2**20]), t257=(4, [2**20]), t278=(4, [2**20]), t259=(3, [8])),
        grey(t273=(4, b"\xff\xff\xff\x7f", 2**30)),
        grey(t273=(16, b"\xff\xff\xff\x7f", 2**31)),
    ],
)
def test_damaged_images(tags):
    file = RawTiff()
    file.block(bytes(64))
    file.ifd(tags)
    source, directory = open_bytes(file.bytes())
    with pytest.raises(TiffFormatError) as caught:
        source.drive(load_scene(directory, 0))
    assert caught.value.ifd == 0
    assert caught.value.url == "memory://a.tif"


def test_a_damaged_metadata_tag_does_not_refuse_the_image():
    file = RawTiff()
    file.block(bytes(64))
    file.ifd(grey(t42112=(2, b"\xff\xff\xff\x7f", 500)))
    source, directory = open_bytes(file.bytes())
    scene = source.drive(load_scene(directory, 0))
    with pytest.warns(UserWarning, match="42112"):
        assert scene.text(Tag.GDALMetadata) is None


def test_corpus_ifds(corpus_file):
    source = Source("file:///x", LocalStore(), str(corpus_file.path)[1:])
    directory = source.open()
    ifds = source.drive(directory.all())
    expected = {entry["offset"]: entry for entry in corpus_file.entry["ifds"]}
    assert {ifd.offset for ifd in ifds} == expected.keys()
    for ifd in ifds:
        entry = expected[ifd.offset]
        image, _, _ = source.drive(load_image(directory, ifd.index))
        tile = [image.tile_height, image.tile_width] if image.tiled else None
        assert (image.width, image.height, image.bands) == (entry["width"], entry["height"], entry["samples"])
        assert (image.compression, image.subfile_type) == (entry["compression"], entry["subfiletype"])
        assert tile == entry["tile"]
        assert image.planar == (entry["planar"] == 2 and entry["samples"] > 1)
        scene = source.drive(load_scene(directory, ifd.index))
        assert int((scene.tiles.counts == 0).sum()) == entry["sparse_segments"]
    assert directory.header.bigtiff == corpus_file.entry["bigtiff"]
    assert bool(directory.header.structure) == corpus_file.entry["gdal_ghost"]


def test_tags_equal_tifffile(corpus_file):
    source = Source("file:///x", LocalStore(), str(corpus_file.path)[1:])
    directory = source.open()
    ifd = source.drive(directory.ifd(0))
    source.drive(directory.segments.ensure(ifd.load(ifd)))
    with tifffile.TiffFile(corpus_file.path) as file:
        tags = file.pages.first.tags
        assert set(ifd) == {tag.code for tag in tags}
        for tag in tags:
            if tag.dtype in (3, 4, 8, 9, 12, 16) and isinstance(tag.value, int | float | tuple):
                expected = np.atleast_1d(np.array(tag.value)).ravel()
                assert ifd.values(tag.code).tolist() == expected.tolist(), tag.name


def test_asynchronous_reading_gives_the_same(corpus):
    path = corpus["data__hag.tif"].path
    source = Source("file:///x", LocalStore(), str(path)[1:])

    async def load():
        directory = await source.open_async()
        return await source.drive_async(load_scene(directory, 1))

    scene = asyncio.run(load())
    again = source.drive(load_scene(source.open(), 1))
    assert scene.image == again.image
    np.testing.assert_array_equal(scene.tiles.offsets, again.tiles.offsets)
