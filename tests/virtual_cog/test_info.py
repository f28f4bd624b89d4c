"""`describe`: its facts are those that GDAL and tifffile found, and damage does not stop it."""

from __future__ import annotations

import dataclasses
import json
import math

import numpy as np
import pytest
import rasterio
import tifffile
from obspec_utils.registry import ObjectStoreRegistry
from obstore.store import MemoryStore

from httpserver import serve
from rawtiff import RawTiff, grey
from tiff_codecs.errors import TiffError, TiffFormatError, TiffNotFoundError
from virtual_cog._file_info import SCHEMA, SCHEMA_VERSION, FileInfo, IfdInfo
from virtual_cog._info import describe

FILE_KEYS = [
    "schema", "schema_version", "url", "size", "bigtiff", "byte_order", "cog", "crs", "transform", "bounds",
    "resolution", "gcp_count", "ifds", "damage",
]  # fmt: skip
IFD_KEYS = [
    "index", "offset", "role", "parent", "main", "width", "height", "bands", "depth", "dtype", "bits_per_sample",
    "tiled", "tile_width", "tile_height", "tile_count", "missing_tiles", "compression", "compression_name", "predictor",
    "planar", "photometric", "photometric_name", "nodata", "nodata_text", "pixel_bytes", "stored_bytes", "decoder",
    "reason", "damage", "ratio",
]  # fmt: skip

READ = {1, 5, 8, 32773, 32946, 34925, 50000}
"""Compressions that must have a decoder; others may get one."""


def describe_bytes(content: bytes) -> FileInfo:
    store = MemoryStore()
    store.put("a.tif", content)
    return describe("memory:///a.tif", registry=ObjectStoreRegistry({"memory:///": store}))


@pytest.mark.filterwarnings("ignore::tiff_codecs.errors.TiffWarning")
def test_facts_of_real_files(corpus_file):
    entry, dataset = corpus_file.entry, corpus_file.entry["dataset"]
    found = describe(corpus_file.path)
    assert (found.size, found.bigtiff, found.byte_order) == (entry["size"], entry["bigtiff"], entry["byteorder"])
    assert found.cog.is_cog == entry["cog_valid"]
    assert bool(found.cog.structure) == entry["gdal_ghost"]
    assert found.gcp_count == dataset["gcps"]
    if dataset["epsg"]:
        assert found.crs.epsg == dataset["epsg"]
    if dataset["transform"]:
        a, b, c, d, e, f = dataset["transform"]
        assert found.transform == (c, a, b, f, d, e)
    assert not found.damage
    assert [ifd.index for ifd in found.ifds] == list(range(len(entry["ifds"])))
    by_offset = {ifd.offset: ifd for ifd in found.ifds}
    for expected in entry["ifds"]:
        ifd = by_offset[expected["offset"]]
        assert (ifd.width, ifd.height, ifd.bands) == (expected["width"], expected["height"], expected["samples"])
        assert (ifd.compression, ifd.predictor) == (expected["compression"], expected["predictor"])
        assert ifd.photometric == expected["photometric"]
        assert ifd.planar == (expected["planar"] == 2 and expected["samples"] > 1)
        assert ifd.tiled == (expected["tile"] is not None)
        assert ifd.missing_tiles == expected["sparse_segments"]
        kind = expected["subfiletype"]
        assert ifd.role == ("mask" if kind & 4 else "overview" if kind & 1 else "image")
        assert (ifd.parent is None) == (expected["level"] == 0)
        assert ifd.decoder == "cpu" if ifd.compression in READ else ifd.decoder or ifd.reason
        if ifd.decoder and expected["dtype"] != "?":
            assert ifd.dtype == np.dtype(expected["dtype"]).name
    json.dumps(found.to_dict(), allow_nan=False)


def test_document_has_all_keys_always(corpus):
    sound = describe(corpus["rio-tiler__cog_uint8_rgb_mask.tif"].path).to_dict()
    cut = RawTiff()
    cut.ifd([(256, 3, [4])])
    damaged = describe_bytes(cut.bytes()).to_dict()
    for document in (sound, damaged):
        assert list(document) == FILE_KEYS
        assert document["schema"] == SCHEMA == "virtual-cog info"
        assert document["schema_version"] == SCHEMA_VERSION == 1
        assert list(document["cog"]) == ["is_cog", "problems", "hints", "structure"]
        assert all(list(ifd) == IFD_KEYS for ifd in document["ifds"])
    assert list(sound["crs"]) == ["name", "epsg", "wkt"]
    assert damaged["crs"] is None
    assert [field.name for field in dataclasses.fields(IfdInfo)] + ["ratio"] == IFD_KEYS


@pytest.mark.parametrize(
    ("dtype", "text", "expected"),
    [
        ("f4", "nan", "nan"),
        ("f8", "-inf", "-inf"),
        ("f4", "-3.40282346600000016e+38", -3.4028234663852886e38),
        ("u8", "18446744073709551615", 2**64 - 1),
        ("i2", "-9999", -9999),
        ("u1", "", None),
    ],
)
def test_nodata_is_a_number_that_json_has_or_a_word(tmp_path, dtype, text, expected):
    path = tmp_path / "a.tif"
    tags = [(42113, "s", 0, text, False)] if text else []
    tifffile.imwrite(path, np.zeros((8, 8), dtype), extratags=tags, metadata=None)
    (ifd,) = json.loads(json.dumps(describe(path).to_dict(), allow_nan=False))["ifds"]
    assert ifd["nodata"] == expected
    assert ifd["nodata_text"] == (text or None)


def test_nodata_that_no_pixel_has_is_kept_as_text(tmp_path):
    path = tmp_path / "a.tif"
    tifffile.imwrite(path, np.zeros((8, 8), "u1"), extratags=[(42113, "s", 0, "-9999", False)], metadata=None)
    with pytest.warns(UserWarning, match="-9999"):
        (ifd,) = describe(path).ifds
    assert (ifd.nodata, ifd.nodata_text) == (None, "-9999")


def test_sizes_and_ratio(tmp_path):
    path = tmp_path / "a.tif"
    pixels = np.zeros((3, 100, 90), "u2")
    tifffile.imwrite(path, pixels, tile=(32, 48), compression="zlib", photometric="rgb", planarconfig="separate")
    (ifd,) = describe(path).ifds
    with tifffile.TiffFile(path) as file:
        stored = sum(file.pages[0].databytecounts)
    assert (ifd.tile_width, ifd.tile_height, ifd.tile_count, ifd.planar) == (48, 32, 3 * 4 * 2, True)
    assert (ifd.pixel_bytes, ifd.stored_bytes) == (pixels.nbytes, stored)
    assert ifd.ratio == pixels.nbytes / stored


def test_sub_ifds_and_their_parents():
    file = RawTiff()
    overview = file.ifd(grey(2, 2, count=4, t254=(4, [1])), chained=False)
    other = file.ifd(grey(2, 2, count=4), chained=False)
    file.ifd(grey(4, 4, t330=(13, [overview, other])))
    found = describe_bytes(file.bytes()).ifds
    assert [(ifd.role, ifd.parent, ifd.main) for ifd in found] == [
        ("image", None, 0),
        ("overview", 0, 0),
        ("sub-ifd", 0, 2),
    ]


def test_bounds_and_resolution(tmp_path):
    path = tmp_path / "a.tif"
    grid = rasterio.Affine.translation(100, 50) * rasterio.Affine.rotation(30) * rasterio.Affine.scale(3, -2)
    with rasterio.open(
        path, "w", driver="GTiff", width=4, height=5, count=1, dtype="uint8", crs="EPSG:32631", transform=grid
    ) as file:
        file.write(np.zeros((1, 5, 4), "u1"))
    found = describe(path)
    corners = [grid @ corner for corner in [(0, 0), (4, 0), (0, 5), (4, 5)]]
    xs, ys = zip(*corners, strict=True)
    assert found.bounds == pytest.approx((min(xs), min(ys), max(xs), max(ys)))
    assert found.resolution == pytest.approx((3, 2))
    assert (found.crs.name, found.crs.epsg) == ("WGS 84 / UTM zone 31N", 32631)


def test_a_table_that_is_cut_off_is_reported_with_all_that_is_known(corpus):
    path = corpus["rasterio__goes.tif"].path
    found = describe_bytes(path.read_bytes()[:3000])
    assert len(found.damage) == len(found.ifds) == 4
    assert all("outside the file" in ifd.damage for ifd in found.ifds)
    assert all(ifd.stored_bytes is ifd.missing_tiles is ifd.ratio is None for ifd in found.ifds)
    assert found.ifds[0].width == 542
    assert not found.cog.is_cog


def test_ifds_before_a_damaged_one_are_described():
    file = RawTiff()
    file.ifd(grey())
    file.ifd([(256, 3, [4])])
    file.ifd(grey())
    file.link(2**31)
    found = describe_bytes(file.bytes())
    assert [ifd.damage is None for ifd in found.ifds] == [True, False, True]
    assert "does not describe an image" in found.ifds[1].damage
    assert len(found.damage) == 2
    assert "outside the file" in found.damage[1]


def test_a_chain_that_turns_back_ends():
    file = RawTiff()
    first = file.ifd(grey())
    file.ifd(grey())
    file.link(first)
    found = describe_bytes(file.bytes())
    assert len(found.ifds) == 2
    assert "turns back" in found.damage[0]


def test_a_file_without_an_ifd():
    found = describe_bytes(RawTiff().bytes())
    assert (found.ifds, found.damage, found.cog.is_cog) == ((), ("the file has no IFD",), False)


@pytest.mark.filterwarnings("ignore::tiff_codecs.errors.TiffWarning")
def test_no_cut_and_no_flipped_byte_makes_it_fall(corpus):
    """Either the file is described, or it is no TIFF; nothing else is raised."""
    random = np.random.default_rng(11)
    for name in ("rio-tiler__cog_uint8_rgb_mask.tif", "gdal__tiff_with_subifds.tif", "image-tiff__BigTIFFMotorola.tif"):
        content = corpus[name].path.read_bytes()
        for trial in range(60):
            damaged = bytearray(content[: random.integers(len(content))] if trial % 2 else content)
            for at in random.integers(0, max(1, min(len(damaged), 1500)), 6):
                if at < len(damaged):
                    damaged[at] = random.integers(256)
            try:
                json.dumps(describe_bytes(bytes(damaged)).to_dict(), allow_nan=False)
            except TiffError as error:
                assert isinstance(error, TiffFormatError)  # noqa: PT017 - most trials raise nothing


def test_what_is_no_tiff_is_refused(tmp_path):
    with pytest.raises(TiffNotFoundError):
        describe(tmp_path / "none.tif")
    (tmp_path / "a.png").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(100))
    with pytest.raises(TiffFormatError, match="PNG"):
        describe(tmp_path / "a.png")


def test_cog_rules(tmp_path):
    pixels = np.random.default_rng(1).integers(0, 255, (1, 700, 800), "u1")

    def write(name, driver, **options):
        with rasterio.open(
            tmp_path / name, "w", driver=driver, width=800, height=700, count=1, dtype="uint8", **options
        ) as file:
            file.write(pixels)
        return tmp_path / name

    good = describe(write("good.tif", "COG", blocksize=256)).cog
    assert good == dataclasses.replace(good, is_cog=True, problems=(), hints=())
    assert good.structure["LAYOUT"] == "IFDS_BEFORE_DATA"
    assert describe(write("bare.tif", "COG", overviews="NONE")).cog.hints
    assert "the image is not tiled" in describe(write("strips.tif", "GTiff")).cog.problems
    late = write("late.tif", "GTiff", tiled=True)
    with rasterio.open(late, "r+") as file:
        file.build_overviews([2])
    problems = " ".join(describe(late).cog.problems)
    assert "come before those of overview 1" in problems
    edited = write("edited.tif", "COG", blocksize=256)
    with rasterio.open(edited, "r+", IGNORE_COG_LAYOUT_BREAK="YES") as file:
        file.write(pixels + 1)
    assert any("edited" in problem for problem in describe(edited).cog.problems)


def test_few_requests_over_http(tmp_path):
    with rasterio.open(
        tmp_path / "a b.tif", "w", driver="COG", width=700, height=800, count=1, dtype="uint8", blocksize=128
    ) as file:
        file.write(np.ones((1, 800, 700), "u1"))
    with serve(tmp_path) as server:
        found = describe(f"{server.url}/a%20b.tif")
    assert found == dataclasses.replace(describe(tmp_path / "a b.tif"), url=f"{server.url}/a b.tif")
    assert len(server.requests) == 1


def test_numbers_are_not_rounded(tmp_path):
    path = tmp_path / "a.tif"
    grid = rasterio.Affine(math.pi, 0, 1e6 / 3, 0, -math.e, 2e6 / 7)
    with rasterio.open(
        path, "w", driver="GTiff", width=4, height=4, count=1, dtype="uint8", crs="EPSG:32631", transform=grid
    ) as file:
        file.write(np.zeros((1, 4, 4), "u1"))
    document = json.loads(json.dumps(describe(path).to_dict()))
    assert tuple(document["transform"]) == grid.to_gdal()
