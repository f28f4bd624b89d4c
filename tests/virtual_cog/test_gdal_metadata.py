from __future__ import annotations

import io
import pickle
import warnings

import numpy as np
import pytest
import rasterio
import tifffile
from hypothesis import given
from hypothesis import strategies as st
from rasterio.errors import NotGeoreferencedWarning
from rasterio.io import MemoryFile

from tiff_codecs.errors import TiffWarning
from virtual_cog._gdal_metadata import BandMetadata, GdalMetadata, parse_gdal_metadata

WRITER_TAGS = ("TIFFTAG_", "AREA_OR_POINT", "STATISTICS_")

ITEMS = [
    '<Item name="a">1</Item><Item name="a">2</Item>',
    '<Item name="a" sample="-1">1</Item>',
    '<Item name="a" sample="1">1</Item>',
    '<Item name="a" sample="-2">1</Item>',
    '<Item name="S" sample="0" role="SCALE">0.5</Item>',
    '<Item name="S" role="scale">0.5</Item>',
    '<Item name="S" sample="0" role="scale">0,5</Item>',
    '<Item name="O" sample="1" role="offset">-1e3</Item>',
    '<Item name="D" sample="0" role="description"></Item>',
    '<Item name="D" sample="0" role="description">x y</Item><Item name="U" sample="1" role="unittype">m</Item>',
    '<Item name="C" sample="0" role="colorinterp">Red</Item><Item name="C" sample="1" role="colorinterp">alpha</Item>',
    '<Item name="a" domain="D">1</Item><Item name="b" sample="0" domain="D">1</Item>',
    '<Item name="a"/>',
    "<Item>v</Item>",
    '<item name="lower">v</item>',
    '<Item name="n"> sp </Item>',
    '<Item name="n">a<b>c</b>d</Item>',
    '<Item name="n"><![CDATA[<x>&amp;]]></Item>',
    '<Item name="n">&amp;lt;&lt;&amp;#65;&#66;&amp;amp;lt;</Item>',
    '<Item name="n" role="other" sample="0">v</Item>',
    '<Group><Item name="n">v</Item></Group>',
    "<!-- a comment --><Item name='n'>é漢</Item>",
]


def document(items):
    return f"<GDALMetadata>{items}</GDALMetadata>"


def opened(xml):
    stream = io.BytesIO()
    tifffile.imwrite(
        stream,
        np.zeros((2, 8, 8), "i2"),
        extratags=[(42112, "s", 0, xml.encode(), True)],
        metadata=None,
        photometric="minisblack",
        planarconfig="separate",
    )
    return stream.getvalue()


def own(tags):
    return {name: value for name, value in tags.items() if not name.startswith(WRITER_TAGS)}


def assert_equals(found: GdalMetadata, dataset):
    assert own(found.items) == own(dataset.tags())
    for domain, items in found.domains.items():
        if domain != "IMAGE_STRUCTURE" and not domain.startswith("xml:"):
            assert items == dataset.tags(ns=domain)
    for index in range(dataset.count):
        band = found.band(index)
        assert own(band.items) == own(dataset.tags(index + 1))
        for domain, items in band.domains.items():
            assert items == dataset.tags(index + 1, ns=domain)
        assert (1.0 if band.scale is None else band.scale) == dataset.scales[index]
        assert (0.0 if band.offset is None else band.offset) == dataset.offsets[index]
        assert band.description == dataset.descriptions[index]
        assert band.unit == dataset.units[index]
        if band.colorinterp is not None:
            assert band.colorinterp.lower() == dataset.colorinterp[index].name


@pytest.mark.parametrize("items", ITEMS)
def test_the_same_as_gdal(items):
    xml = document(items)
    with warnings.catch_warnings(), MemoryFile(opened(xml)) as memory:
        warnings.simplefilter("ignore", NotGeoreferencedWarning)
        with memory.open() as dataset:
            assert_equals(parse_gdal_metadata(xml), dataset)


@pytest.mark.filterwarnings("ignore::rasterio.errors.NotGeoreferencedWarning")
def test_real_files(corpus_file):
    with tifffile.TiffFile(corpus_file.path) as tiff:
        tag = tiff.pages.first.tags.get(42112)
        if tag is None:
            pytest.skip("no GDAL_METADATA")
        xml = tag.value
    found = parse_gdal_metadata(xml)
    with rasterio.open(corpus_file.path) as dataset:
        assert_equals(found, dataset)
    listed = corpus_file.entry["dataset"]["scales_offsets"]
    if listed:
        bands = [found.band(index) for index in range(len(listed[0]))]
        assert [[band.scale for band in bands], [band.offset for band in bands]] == listed


def test_what_rasterio_writes(tmp_path):
    path = tmp_path / "written.tif"
    grid = rasterio.Affine(2.0, 0.0, 0.0, 0.0, -2.0, 0.0)
    with rasterio.open(path, "w", driver="GTiff", width=8, height=8, count=2, dtype="int16", transform=grid) as dataset:
        dataset.update_tags(plain="a & b < c > \"d\" 'e'", unicode="é漢字 &amp;lt;")
        dataset.update_tags(ns="SENSOR", bands="13")
        dataset.update_tags(2, wavelength="0.8")
        dataset.update_tags(1, ns="SENSOR", gain="2")
        dataset.scales, dataset.offsets = (0.1, 0.25), (0.0, -3.5)
        dataset.descriptions, dataset.units = ("red <1>", "nir"), ("K", "m & s")
    with tifffile.TiffFile(path) as tiff:
        found = parse_gdal_metadata(tiff.pages.first.tags[42112].value)
    assert found.items == {"plain": "a & b < c > \"d\" 'e'", "unicode": "é漢字 &amp;lt;"}
    assert found.domains == {"SENSOR": {"bands": "13"}}
    assert found.bands[1] == BandMetadata({"wavelength": "0.8"}, {}, 0.25, -3.5, "nir", "m & s")
    with rasterio.open(path) as dataset:
        assert_equals(found, dataset)


def test_an_xml_domain_is_kept_as_text():
    xml = document('<Item name="xml:XMP" domain="xml:XMP" format="xml">&lt;x:meta a=&quot;1&quot;/&gt;</Item>')
    assert parse_gdal_metadata(xml).domains == {"xml:XMP": {"xml:XMP": '<x:meta a="1"/>'}}


BOMB = (
    '<!DOCTYPE GDALMetadata [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;">'
    '<!ENTITY c "&b;&b;&b;&b;&b;&b;&b;&b;&b;&b;">]><GDALMetadata><Item name="n">&c;</Item></GDALMetadata>'
)


@pytest.mark.parametrize(
    "xml",
    [
        "<GDALMetadata><Item name='a'>x",
        document('<Item name="a">1 & 2</Item>'),
        document('<Item name="a">\x01</Item>'),
        document("") + "<more/>",
        "no XML at all",
        "<Other><Item name='a'>1</Item></Other>",
        BOMB,
        BOMB.replace("<!DOCTYPE", "<!doctype"),
        '<!ENTITY x SYSTEM "file:///etc/passwd">' + document("&x;"),
        "<a>" * 100_000,
    ],
)
def test_a_text_that_is_not_read_is_kept(xml):
    with pytest.warns(TiffWarning, match="GDAL_METADATA is left as text") as warned:
        found = parse_gdal_metadata(xml)
    assert found == GdalMetadata(raw=xml)
    assert len(warned) == 1


def test_a_scale_that_is_not_a_number():
    xml = document('<Item name="S" sample="1" role="scale">abc</Item><Item name="O" sample="1" role="offset">2</Item>')
    with pytest.warns(TiffWarning, match="the scale of band 1"):
        assert parse_gdal_metadata(xml).bands == {1: BandMetadata(offset=2.0)}


@pytest.mark.parametrize("xml", ["", " \0", "\ufeff"])
def test_an_empty_text_says_nothing(xml):
    assert parse_gdal_metadata(xml) == GdalMetadata()


@pytest.mark.parametrize("sample", ["x", "1.5", "65536", "99999999999999999999", ""])
def test_an_item_of_no_band_is_left_out(sample):
    assert parse_gdal_metadata(document(f'<Item name="n" sample="{sample}">v</Item>')) == GdalMetadata()


def test_a_band_that_is_not_mentioned():
    assert GdalMetadata().band(3) == BandMetadata()


def test_the_result_is_picklable_and_frozen():
    found = parse_gdal_metadata(document(ITEMS[9]))
    assert pickle.loads(pickle.dumps(found)) == found  # noqa: S301
    with pytest.raises(AttributeError):
        found.raw = ""


@given(st.text(max_size=60) | st.text(alphabet="<>&;/\"' =ax#1!", max_size=60))
def test_any_text_is_read_without_an_exception(text):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TiffWarning)
        parse_gdal_metadata(text)
        parse_gdal_metadata(document(text))


@given(st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1))
def test_values_survive_gdals_escaping(text):
    def escape(value):
        return value.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;")

    found = parse_gdal_metadata(document(f'<Item name="n">{escape(escape(text))}</Item>'))
    assert found.items == ({"n": text.lstrip()} if text.strip() else {})
