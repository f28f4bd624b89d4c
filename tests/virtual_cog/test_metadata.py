"""All metadata of a file, kind by kind, against what rasterio reads from it.

What may differ, and why, stands in the tables at the top.
"""

from __future__ import annotations

import json
import math
import sqlite3
import warnings
from contextlib import closing
from pathlib import Path

import numpy as np
import pyproj
import pytest
import rasterio
import rioxarray
import tifffile
import xarray as xr
from pyproj import CRS
from rasterio.control import GroundControlPoint
from rasterio.enums import ColorInterp
from rasterio.rpc import RPC

import virtual_cog
from described import Described, differences, same_crs
from tiff_codecs.errors import TiffUnsupportedError, TiffWarning

pytestmark = pytest.mark.filterwarnings(
    "ignore::rasterio.errors.NotGeoreferencedWarning",
    "ignore::tiff_codecs.errors.TiffWarning",
    "ignore:.*lost in conversion to CF:UserWarning",  # of pyproj; the WKT beside it has all
)

NOT_UTF_8 = "rasterio leaves out texts that are not UTF-8"
OWN_TAGS = "GDAL gives an overview the tags of its full image, whose resolution it has not"
OVERVIEW = "GDAL forgets an overview's scale and offset"
RESAMPLED = "the resampling of a COG's overviews is in the file's IMAGE_STRUCTURE, and in `multiscales`"
OLD_DEFLATE = "GDAL tells no predictor of DEFLATE by its old number"
KNOWN = {
    ("B24_non_utf8_ascii_tag.tif", "more tags"): NOT_UTF_8,
    ("Pillow__hopper_lzma.tif", "more tags"): NOT_UTF_8,
    ("image-tiff__usda_naip_256_webp_z3.tif overview", "tags"): OWN_TAGS,
    ("rio-tiler__cog_scale.tif overview", "scales"): OVERVIEW,
    ("rio-tiler__cog_scale.tif overview", "offsets"): OVERVIEW,
    ("rio-tiler__cog_uint8_rgb_mask.tif overview", "item RESAMPLING"): RESAMPLED,
    ("image-tiff__seq-1c-64f-deflate-fpredict-afa8560e.tiff", "domain IMAGE_STRUCTURE"): OLD_DEFLATE,
}
"""Justified differences of files at hand."""

GRID = rasterio.Affine(10.0, 0.0, 500000.0, 0.0, -10.0, 4000000.0)
POINTS = [GroundControlPoint(r, c, 10.0 * c + 0.5, 45 - r / 7, 7.0) for r in (0, 5.5, 60) for c in (0, 4, 8)]
RPCS = RPC(
    10.0, 20.0, 1.0, 2.0, [1.0, *range(2, 21)], [i / 3 for i in range(20)], 33.25, 66.0, 3.0, 4.0, [1.0, *range(3, 22)],
    [i / 7 for i in range(20)], 31.75, 68.0, 1.5, 2.5,
)  # fmt: skip


def compared(path, dataset, **options):
    """The differences that nothing justifies."""
    role = " overview" if "overview_level" in options else ""
    found = differences(Described(path, **options), dataset)
    return {kind: pair for kind, pair in found.items() if (path.name + role, kind) not in KNOWN}


def assert_all_images_match(path):
    overviews = 0
    for ifd in virtual_cog.describe(path).ifds:
        if ifd.parent is not None or (ifd.role != "image" and (ifd.role, ifd.main) != ("overview", 0)):
            continue
        try:
            if ifd.role == "image":
                with rasterio.open(f"GTIFF_DIR:{ifd.index + 1}:{path}" if ifd.index else path) as dataset:
                    assert compared(path, dataset, ifd=ifd.index) == {}
            else:
                with rasterio.open(path, overview_level=overviews) as dataset:
                    assert compared(path, dataset, overview_level=overviews) == {}
                overviews += 1
        except TiffUnsupportedError:
            assert ifd.reason


def test_real_files(corpus_file):
    assert_all_images_match(corpus_file.path)


def test_recreated_bug_reports(case):
    if case.is_error:
        pytest.skip("no store is made of it")
    assert_all_images_match(case.path)


def write(path, edit=None, *, count=1, dtype="uint8", **profile):
    profile = {"crs": "EPSG:32632", "transform": GRID, **profile}
    profile = {name: value for name, value in profile.items() if value is not None}
    with rasterio.open(path, "w", driver="GTiff", width=64, height=48, count=count, dtype=dtype, **profile) as dataset:
        if edit:
            edit(dataset)
    return path


def palette(dataset):
    size = min(256, 1 << int(dataset.tags(1, ns="IMAGE_STRUCTURE").get("NBITS", 8)))
    dataset.write_colormap(1, {i: (i, 255 - i, i * 7 % 256, 255) for i in range(size)})


def colors(*names):
    def edit(dataset):
        dataset.colorinterp = [ColorInterp[name] for name in names]

    return edit


def items(dataset):
    dataset.update_tags(
        a="1", units="x", scale_factor="9", colorinterp="none", AREA_OR_POINT="Point", TIFFTAG_SOFTWARE="s",
        TIFFTAG_DATETIME="2020:01:02 03:04:05", TIFFTAG_XRESOLUTION="72.1", TIFFTAG_YRESOLUTION="0.00001",
        TIFFTAG_RESOLUTIONUNIT="2", TIFFTAG_ARTIST="é", TIFFTAG_MINSAMPLEVALUE="3", TIFFTAG_MAXSAMPLEVALUE="200",
        TIFFTAG_IMAGEDESCRIPTION="<OME>\n</OME>", TIFFTAG_COPYRIGHT="c", TIFFTAG_HOSTCOMPUTER="h",
    )  # fmt: skip
    dataset.update_tags(ns="MINE", q="2 <&>")
    dataset.update_tags(ns="xml:FOO", **{"xml:FOO": "<a>1</a>"})
    dataset.update_tags(2, w="5")
    dataset.update_tags(1, ns="BANDS", z="1")
    dataset.scales, dataset.offsets = (1.0, 2.5), (0.0, -5.0)
    dataset.units, dataset.descriptions = ("m", ""), ("a", None)


def alike(dataset):
    dataset.scales, dataset.offsets, dataset.units = (0.1,) * 3, (3.0,) * 3, ("K",) * 3
    for band in (1, 2, 3):
        dataset.update_tags(band, wavelength="5")


def as_points(dataset):
    dataset.update_tags(AREA_OR_POINT="Point")


WRITTEN = {
    **{
        f"{photometric}, {count} bands, alpha {alpha}": {"photometric": photometric, "count": count, "alpha": alpha}
        for photometric in ("MINISBLACK", "MINISWHITE", "RGB")
        for count in (1, 2, 3, 4, 5)
        for alpha in (None, "YES", "PREMULTIPLIED")
    },
    **{
        f"{bits} bits, {count} bands, {photometric}": {
            "nbits": bits, "count": count, "photometric": photometric, "dtype": "uint8" if bits < 9 else "uint16",
        }
        for bits in (1, 2, 4, 7, 12, 15)
        for count in (1, 3)
        for photometric in ("MINISBLACK", "MINISWHITE")
        if (bits < 9) or photometric == "MINISBLACK"
    },
    **{
        f"{dtype}, nodata {nodata}": {"dtype": dtype, "nodata": nodata}
        for dtype in ("int8", "uint16", "int16", "int32", "uint64", "float32", "float64", "complex64")
        for nodata in (0.0, 7.0, -5.0, math.nan, 1e30)
        if dtype[0] in "fc" or nodata in (0.0, 7.0) or (nodata == -5 and dtype[0] == "i")
    },
    **{
        f"{compression}, {interleave}, predictor {predictor}": {
            "compress": compression, "interleave": interleave, "predictor": predictor, "count": 3,
            "dtype": "float32" if predictor == 3 else "uint8", "tiled": True, "blockxsize": 16, "blockysize": 16,
        }
        for compression in ("lzw", "deflate", "zstd", "packbits", "lzma", "lerc", "lerc_zstd", "webp", "jpeg")
        for interleave in ("pixel", "band")
        for predictor in ((1, 2, 3) if compression in ("lzw", "deflate", "zstd") else (None,))
    },
    "half floats": {"dtype": "float32", "nbits": 16},
    "YCbCr": {"count": 3, "photometric": "YCBCR", "compress": "jpeg"},
    "a palette": {"edit": palette},
    "a palette with nodata": {"edit": palette, "nodata": 3},
    "a palette of 16 bits": {"edit": palette, "dtype": "uint16"},
    "a palette of 4 bits": {"edit": palette, "nbits": 4},
    "colours in another order": {"edit": colors("blue", "green", "red"), "count": 3},
    "colours of satellites": {"edit": colors("coastal", "rededge", "nir", "swir", "tir", "other_ir"), "count": 6},
    "colours of other spaces": {"edit": colors("Y", "Cb", "Cr", "hue", "pan", "sar_ka"), "count": 6},
    "alpha alone": {"edit": colors("alpha")},
    "gray in the middle": {"edit": colors("undefined", "gray", "undefined"), "count": 3},
    "items": {"edit": items, "count": 2},
    "items that all bands share": {"edit": alike, "count": 3},
    "points": {"edit": as_points},
    "points, rotated": {"edit": as_points, "transform": rasterio.Affine(1, 0.5, 100, 0.3, -2, 50)},
    "rotated": {"transform": rasterio.Affine(1, 0.5, 100, 0.3, -2, 50)},
    "rows to the north": {"transform": rasterio.Affine(1, 0, 100, 0, 2, 50)},
    "GCPs": {"gcps": POINTS, "crs": "EPSG:4326", "transform": None},
    "GCPs of pixel centres": {"gcps": POINTS, "crs": "EPSG:4326", "transform": None, "edit": as_points},
    "RPCs": {"rpcs": RPCS, "crs": "EPSG:4326"},
    "RPCs alone": {"rpcs": RPCS, "crs": None, "transform": None},
}  # fmt: skip


@pytest.mark.parametrize("profile", WRITTEN.values(), ids=WRITTEN)
def test_what_rasterio_writes(tmp_path, profile):
    path = write(tmp_path / "written.tif", **profile)
    with rasterio.open(path) as dataset:
        assert compared(path, dataset) == {}


@pytest.mark.parametrize("name", ["GCPs", "RPCs"])
def test_overviews(tmp_path, name):
    path = write(tmp_path / "written.tif", **WRITTEN[name])
    with rasterio.open(path, "r+") as dataset:
        dataset.build_overviews([2, 4])
    for level in (0, 1):
        with rasterio.open(path, overview_level=level) as dataset:
            assert compared(path, dataset, overview_level=level) == {}


@pytest.mark.parametrize(
    ("profile", "kind"),
    [
        # GDAL converts CMYK of 8 bits; here pixels, and what is said of them, are the file's
        ({"photometric": "CMYK", "count": 4}, "colorinterp"),
        # 65,536 greys say no more than MINISWHITE does
        ({"photometric": "MINISWHITE", "dtype": "uint16"}, "colormap"),
    ],
)
def test_what_gdal_reads_otherwise(tmp_path, profile, kind):
    path = write(tmp_path / "written.tif", **profile)
    with rasterio.open(path) as dataset:
        assert {*compared(path, dataset)} - {"domain IMAGE_STRUCTURE"} == {kind}


@pytest.mark.parametrize("factor", [1, 256, 257, 100])
def test_palettes_of_other_scales(tmp_path, factor):
    values = (np.arange(768).reshape(3, 256) % 256 * factor).astype("u2")
    tifffile.imwrite(tmp_path / "p.tif", np.zeros((8, 8), "u1"), photometric="palette", colormap=values, metadata=None)
    with rasterio.open(tmp_path / "p.tif") as dataset:
        assert compared(tmp_path / "p.tif", dataset) == {}


@pytest.mark.parametrize("extra", [(0,), (1,), (2,), (0, 1), (2, 0)])
@pytest.mark.parametrize(("photometric", "base"), [("rgb", 3), ("minisblack", 1)])
def test_extra_samples(tmp_path, photometric, base, extra):
    pixels = np.zeros((8, 8, base + len(extra)), "u1")
    options = {"photometric": photometric, "extrasamples": extra, "planarconfig": "contig", "metadata": None}
    tifffile.imwrite(tmp_path / "e.tif", pixels, **options)
    with rasterio.open(tmp_path / "e.tif") as dataset:
        assert compared(tmp_path / "e.tif", dataset) == {}


def registered():
    """Codes of projected and geographic systems: two for each method and coordinate system (axes, units)."""
    database = Path(pyproj.datadir.get_data_dir(), "proj.db").as_uri() + "?mode=ro"
    with closing(sqlite3.connect(database, uri=True)) as connection:
        rows = connection.execute(
            """
            select p.auth_name, min(p.code), max(p.code) from projected_crs p
            join conversion_table c on (p.conversion_auth_name, p.conversion_code) = (c.auth_name, c.code)
            where p.auth_name in ('EPSG', 'ESRI')
            group by p.auth_name, c.method_auth_name, c.method_code,
            p.coordinate_system_auth_name, p.coordinate_system_code
            union select auth_name, min(code), max(code) from geodetic_crs where auth_name in ('EPSG', 'ESRI')
            group by auth_name, type, coordinate_system_auth_name, coordinate_system_code
            """
        ).fetchall()
    return sorted({f"{authority}:{code}" for authority, *codes in rows for code in codes})


HEIGHTS = [
    f"{horizontal}+{vertical}"
    for horizontal in ("EPSG:4326", "EPSG:32631", "EPSG:2154", "EPSG:2263", "EPSG:3857")
    for vertical in (5703, 5773, 3855, 5720, 6360, 8228, 5711)
]


def crs_of(path):
    with rasterio.open(path) as dataset:
        crs = CRS.from_wkt(dataset.crs.to_wkt(version="WKT2_2019")) if dataset.crs else None
    return None if crs is None or (crs.type_name == "Engineering CRS" and crs.name == "unnamed") else crs


def wrong_systems(codes, path, **options):
    wrong = []
    for code in codes:
        write(path, crs=code, **options)
        path.with_name(f"{path.name}.aux.xml").unlink(missing_ok=True)  # what GDAL cannot write into a TIFF
        if not same_crs(Described(path).crs, crs_of(path)):
            wrong.append(code)
    return wrong


@pytest.mark.parametrize("part", range(8))
def test_registered_systems_of_each_method_and_unit(tmp_path, part):
    codes = registered()
    assert len(codes) > 200
    # GDAL writes the longitude of Paris in degrees where the file's unit is the grad: it is known by its name
    paris_in_grads = {"ESRI:4812"}
    assert {*wrong_systems(codes[part::8], tmp_path / "crs.tif")} <= paris_in_grads


@pytest.mark.parametrize("version", ["1.0", "1.1"])
def test_heights(tmp_path, version):
    assert wrong_systems(HEIGHTS, tmp_path / "crs.tif", geotiff_version=version) == []


def test_rioxarray_finds_points_and_polynomials(tmp_path):
    for profile in (WRITTEN["GCPs"], WRITTEN["RPCs"]):
        path = write(tmp_path / "written.tif", **profile)
        opened = xr.open_zarr(virtual_cog.open_store(path), consolidated=False).band_data
        with rioxarray.open_rasterio(path) as theirs:
            points = [[p.asdict() for p in data.rio.get_gcps() or ()] for data in (opened, theirs)]
            assert points[0] == points[1]
            found, expected = opened.rio.get_rpcs(), theirs.rio.get_rpcs()
        if expected is not None:
            assert found.line_num_coeff == pytest.approx(expected.line_num_coeff, rel=1e-14)
            assert found.err_rand == expected.err_rand


def tagged(path, *tags, pixels=None, **options):
    options = {"photometric": "minisblack", "metadata": None, **options}
    tifffile.imwrite(path, np.zeros((4, 4), "u1") if pixels is None else pixels, extratags=tags, **options)
    return path


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2009:11:11 16:48:28", "2009-11-11T16:48:28"),
        ("2009-11-11 16:48:28", "2009-11-11T16:48:28"),
        (" 2024:02:29 00:00:00 ", "2024-02-29T00:00:00"),
        ("2023:02:29 00:00:00", None),
        ("0000:00:00 00:00:00", None),
        ("Wed Nov 11 2009", None),
        ("2009:11:11 16:48:28" * 1000, None),
    ],
)
def test_the_date(tmp_path, text, expected):
    found = Described(tagged(tmp_path / "date.tif", (306, "s", 0, text, True)))
    assert found.group.get("date_created") == expected
    assert found.band["TIFFTAG_DATETIME"] == text


def test_documents_are_kept_whole(tmp_path):
    ome = '<?xml version="1.0"?><OME>' + "é" * 100_000 + "</OME>"
    xmp = b"<x:xmpmeta/>" + b" " * 1000 + b"<?xpacket end='w'?>"
    icc = bytes(range(256)) * 10
    tags = [(270, "s", 0, ome.encode(), True), (700, "B", len(xmp), xmp, True), (34675, "B", len(icc), icc, True)]
    found = Described(tagged(tmp_path / "documents.tif", *tags))
    assert found.band["TIFFTAG_IMAGEDESCRIPTION"] == ome
    assert found.group["gdal_domains"]["xml:XMP"] == {"xml:XMP": xmp.decode()}
    assert found.band["icc_profile_size"] == len(icc)


def test_metadata_that_is_no_xml_is_kept(tmp_path):
    found = Described(tagged(tmp_path / "raw.tif", (42112, "s", 0, "<GDALMetadata>", True)))
    assert found.band["GDAL_METADATA"] == "<GDALMetadata>"


NUMBERS = [1.0] * 92


@pytest.mark.parametrize(
    "tag",
    [
        (50844, "d", 91, NUMBERS[:91], True),
        (50844, "d", 92, [math.nan, *NUMBERS[1:]], True),
        (50844, "d", 92, [*NUMBERS[:91], math.inf], True),
        (50844, "d", 92, [0.0] * 92, True),
        (50844, "s", 0, "text", True),
        (320, "H", 48, [257] * 48, True),
        (320, "d", 768, [math.nan] * 768, True),
        (282, "2I", 1, (1, 0), True),
        (296, "d", 1, [math.inf], True),
        (296, "s", 0, "", True),
        (280, "s", 0, "x", True),
    ],
)
def test_damaged_tags_leave_the_image_alone(tmp_path, tag):
    found = Described(tagged(tmp_path / "damaged.tif", tag))
    assert "rpcs" not in found.place
    assert "colormap" not in found.band


def test_what_would_grow_out_of_bounds_is_left_out(tmp_path):
    names = "".join(f'<Item name="n{i}" sample="0">v</Item>' for i in range(500))
    xml = (42112, "s", 0, f"<GDALMetadata>{names}</GDALMetadata>", True)
    pixels = np.zeros((4000, 1, 1), "u1")
    path = tagged(tmp_path / "bands.tif", xml, pixels=pixels, planarconfig="separate")
    with pytest.warns(TiffWarning, match="500 items of metadata for each of 4000 bands"):
        virtual_cog.open_store(path)
    points = np.arange(6 * 20_000, dtype="f8")
    path = tagged(tmp_path / "points.tif", (33922, "d", len(points), points.tolist(), True))
    with pytest.warns(TiffWarning, match="20000 ground control points"):
        virtual_cog.open_store(path)


def test_the_attributes_are_json(tmp_path):
    path = write(tmp_path / "items.tif", **WRITTEN["items"])
    with warnings.catch_warnings():
        warnings.simplefilter("error", TiffWarning)
        found = Described(path)
    assert json.loads(json.dumps(found.group, allow_nan=False)) == found.group
