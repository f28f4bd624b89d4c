from __future__ import annotations

import io
import timeit
import warnings

import numpy as np
import pytest
import rasterio
import tifffile
from affine import Affine
from hypothesis import given, settings
from hypothesis import strategies as st
from pyproj import CRS
from rasterio.errors import NotGeoreferencedWarning
from rasterio.io import MemoryFile

from tiff_codecs.errors import TiffWarning
from virtual_cog._crs import crs_from_geokeys
from virtual_cog._geokeys import GEO_KEYS, parse_geokeys

GRID = Affine(1.0, 0.0, 500000.0, 0.0, -1.0, 4000000.0)

WRITTEN = """
+proj=tmerc +lat_0=1 +lon_0=2 +k=0.9 +x_0=3 +y_0=4 +ellps=GRS80
+proj=tmerc +axis=wsu +lat_0=1 +lon_0=2 +k=0.9 +x_0=3 +y_0=4 +ellps=GRS80
+proj=tmerc +lat_0=0 +lon_0=9 +units=ft +datum=NAD83
+proj=tmerc +lat_0=0 +lon_0=9 +units=km +x_0=100000 +datum=NAD83
+proj=tmerc +lat_0=0 +lon_0=9 +units=link +x_0=100000 +datum=NAD83
+proj=tmerc +lat_0=0 +lon_0=9 +to_meter=0.5 +x_0=100 +datum=NAD83
+proj=tmerc +lat_0=0 +lon_0=9 +x_0=3500000 +ellps=bessel +towgs84=598.1,73.7,418.2,0.202,0.045,-2.455,6.7
+proj=utm +zone=33 +ellps=intl
+proj=utm +zone=33 +south +ellps=bessel +units=us-ft
+proj=utm +zone=12 +datum=NAD27
+proj=utm +zone=33 +ellps=intl +towgs84=-87,-98,-121
+proj=lcc +lat_1=40 +lat_2=50 +lat_0=45 +lon_0=10 +x_0=1 +y_0=2 +datum=WGS84
+proj=lcc +lat_1=40 +lat_0=40 +lon_0=10 +k_0=0.99 +x_0=1 +y_0=2 +datum=WGS84
+proj=aea +lat_1=29.5 +lat_2=45.5 +lat_0=23 +lon_0=-96 +datum=NAD83
+proj=laea +lat_0=52 +lon_0=10 +x_0=4321000 +y_0=3210000 +ellps=GRS80
+proj=laea +lat_0=90 +lon_0=10 +R=6371228
+proj=aeqd +lat_0=53 +lon_0=24 +x_0=5837287.81977 +y_0=2121415.69617 +datum=WGS84
+proj=merc +lon_0=10 +k=0.9 +datum=WGS84
+proj=merc +lat_ts=42 +lon_0=10 +datum=WGS84
+proj=merc +a=6378137 +b=6378137 +lat_ts=0 +lon_0=0 +x_0=0 +y_0=0 +k=1 +units=m +nadgrids=@null +wktext
+proj=sterea +lat_0=52.15 +lon_0=5.38 +k=0.9999079 +x_0=155000 +y_0=463000 +ellps=bessel
+proj=stere +lat_0=90 +lat_ts=70 +lon_0=-45 +datum=WGS84
+proj=stere +lat_0=90 +k=0.994 +lon_0=-45 +x_0=2000000 +y_0=2000000 +datum=WGS84
+proj=stere +lat_0=-90 +lat_ts=-71 +lon_0=0 +datum=WGS84
+proj=stere +lat_0=-90 +k=1 +lon_0=0 +datum=WGS84
+proj=stere +lat_0=10 +lon_0=20 +k=0.9 +datum=WGS84
+proj=sinu +lon_0=0 +R=6371007.181
+proj=eqc +lat_ts=30 +lon_0=10 +datum=WGS84
+proj=eqc +lat_ts=30 +lat_0=5 +lon_0=10 +datum=WGS84
+proj=eqc +lat_ts=0 +lon_0=0 +R=3396190
+proj=cea +lat_ts=30 +lon_0=10 +datum=WGS84
+proj=cass +lat_0=10 +lon_0=-61 +x_0=5 +y_0=6 +ellps=clrk66
+proj=omerc +lat_0=4 +lonc=115 +alpha=53 +gamma=53.13 +k=0.99984 +x_0=0 +y_0=0 +ellps=evrstSS +no_uoff
+proj=omerc +lat_0=4 +lonc=115 +alpha=53 +gamma=53.13 +k=0.99984 +x_0=590476 +y_0=442857 +ellps=evrstSS
+proj=omerc +lat_0=-36 +lat_1=-30 +lon_1=140 +lat_2=-42 +lon_2=150 +k=1 +datum=WGS84
+proj=labrd +lat_0=-18.9 +lon_0=46.43 +azi=18.9 +k=0.9995 +x_0=400000 +y_0=800000 +ellps=intl +pm=paris
+proj=robin +lon_0=10 +datum=WGS84
+proj=moll +lon_0=10 +datum=WGS84
+proj=vandg +lon_0=10 +datum=WGS84
+proj=nzmg +lat_0=-41 +lon_0=173 +x_0=2510000 +y_0=6023150 +ellps=intl
+proj=ortho +lat_0=40 +lon_0=-100 +datum=WGS84
+proj=gnom +lat_0=40 +lon_0=-100 +datum=WGS84
+proj=mill +lon_0=10 +datum=WGS84
+proj=poly +lat_0=0 +lon_0=-54 +x_0=5000000 +y_0=10000000 +ellps=aust_SA
+proj=eqdc +lat_1=20 +lat_2=60 +lat_0=40 +lon_0=-96 +datum=NAD83
+proj=eck4 +lon_0=10 +datum=WGS84
+proj=igh +lon_0=0 +datum=WGS84
+proj=geos +h=35785831 +lon_0=0 +datum=WGS84
+proj=geos +h=35786023 +lon_0=-75 +sweep=x +ellps=GRS80
+proj=tpeqd +lat_1=60 +lat_2=65 +lon_1=10 +lon_2=50 +datum=WGS84
+proj=somerc +lat_0=46.95 +lon_0=7.43 +k_0=1 +x_0=600000 +y_0=200000 +ellps=bessel
+proj=longlat +datum=WGS84
+proj=longlat +ellps=bessel
+proj=longlat +ellps=bessel +towgs84=598.1,73.7,418.2,0.202,0.045,-2.455,6.7
+proj=longlat +R=1737400
+proj=longlat +a=6378000 +rf=300
+proj=longlat +datum=WGS84 +pm=180
+proj=longlat +ellps=clrk80ign +pm=paris
EPSG:4326
EPSG:4979
EPSG:4978
EPSG:4807
EPSG:4326+5773
EPSG:32631
EPSG:32633+5773
EPSG:2154+5720
EPSG:2263+6360
EPSG:7405
EPSG:5555
EPSG:3857
EPSG:27572
EPSG:27700
EPSG:3031
EPSG:3413
EPSG:6933
EPSG:5070
EPSG:3035
EPSG:2056
EPSG:5514
EPSG:3375
EPSG:29873
EPSG:2193
EPSG:2155
OGC:CRS84
IAU_2015:30100
IGNF:LAMB93
ESRI:54009
ESRI:54030
ESRI:102001
ESRI:102017
ESRI:102039
ESRI:102068
ESRI:102100
ESRI:102610
ESRI:104903
""".strip().split("\n")

TM = {1024: 1, 2048: 4326, 3072: 32767, 3074: 32767, 3075: 1, 3080: 9.0, 3081: 0.0, 3082: 5e5, 3083: 0.0, 3092: 0.9996}
OWN_DATUM = {1024: 2, 2048: 32767, 2050: 32767}
ESRI = (
    'ESRI PE String = PROJCS["World_Mollweide",GEOGCS["GCS_WGS_1984",DATUM["D_WGS_1984",SPHEROID["WGS_1984",6378137,'
    '298.257223563]],PRIMEM["Greenwich",0],UNIT["Degree",0.017453292519943295]],PROJECTION["Mollweide"],'
    'PARAMETER["False_Easting",0],PARAMETER["False_Northing",0],PARAMETER["Central_Meridian",10],UNIT["Meter",1]]'
)
IMAGINE = "IMAGINE GeoTIFF Support\nERDAS, Inc.\n@(#)$RCSfile: egtf.c $ $Revision: 1.9 $\n"

KEYED = {
    "units: none": TM,
    "units: feet": {**TM, 3076: 9002},
    "units: US survey feet": {**TM, 3076: 9003},
    "units: a size": {**TM, 3076: 32767, 3077: 0.5},
    "units: no size": {**TM, 3076: 32767},
    "units: not a unit": {**TM, 3076: 1234},
    "units: named in a citation": {**TM, 3073: "PCS Name = foo|LUnits = km", 3076: 32767, 3077: 1000.0},
    "units: named only": {**TM, 3073: "PCS Name = foo|LUnits = feet"},
    "units: grads": {**TM, 2048: 4807, 3075: 9, 3080: 0.0, 3081: 52.0, 3076: 9001},
    "name": {**TM, 1026: "a", 2049: "b", 3073: "c", 3076: 9001},
    "conversion": {1024: 1, 2048: 4230, 3072: 32767, 3074: 16031, 3076: 9001},
    "conversion, in feet": {1024: 1, 2048: 4230, 3072: 32767, 3074: 16131, 3076: 9002},
    "conversion of a State Plane zone": {1024: 1, 2048: 4267, 3072: 32767, 3074: 10101, 3076: 9003},
    "code": {1024: 1, 3072: 32631},
    "code without a model": {3072: 32631},
    "code of another datum": {1024: 1, 3072: 32631, 2048: 4267},
    "code, in feet": {1024: 1, 3072: 32631, 3076: 9002},
    "code, other parameters": {**TM, 3072: 32631, 3076: 9001},
    "code with its own parameters": {**TM, 3072: 32632, 3076: 9001},
    "code of web maps": {1024: 1, 3072: 3857},
    "code of web maps, other datum": {1024: 1, 3072: 3857, 2048: 4267},
    "code of web maps, withdrawn": {1024: 1, 3072: 3785},
    "code that EPSG lacks": {1024: 1, 3072: 32799},
    "code of a State Plane zone of 1927": {1024: 1, 3072: 13901},
    "code of a State Plane zone of 1983": {1024: 1, 3072: 10131, 3076: 9003},
    "code of a geographic system": {1024: 1, 3072: 4258},
    "code of a compound system": {1024: 1, 3072: 7405},
    "datum": {**OWN_DATUM, 2050: 6326},
    "datum and meridian": {**OWN_DATUM, 2050: 6326, 2051: 8903},
    "datum and another ellipsoid": {**OWN_DATUM, 2050: 6326, 2056: 7004},
    "ellipsoid": {**OWN_DATUM, 2056: 7004},
    "ellipsoid by two axes": {**OWN_DATUM, 2049: "Foo", 2056: 32767, 2057: 6378000.0, 2058: 6356000.0},
    "ellipsoid by flattening": {**OWN_DATUM, 2049: "Foo", 2056: 32767, 2057: 6378000.0, 2059: 298.0},
    "ellipsoid: a sphere": {**OWN_DATUM, 2056: 32767, 2057: 6370997.0, 2058: 6370997.0},
    "meridian": {**OWN_DATUM, 2056: 7030, 2051: 32767, 2061: -17.5},
    "names in a citation": {**OWN_DATUM, 2049: "GCS Name = A|Datum = B|Ellipsoid = C|Primem = Greenwich|", 2056: 7030},
    "shift of three": {**OWN_DATUM, 2056: 7004, 2062: (1.0, 2.0, 3.0)},
    "shift of seven": {**OWN_DATUM, 2056: 7004, 2062: (1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0)},
    "shift of a projection": {**OWN_DATUM, 1024: 1, 2056: 7004, 2062: (1.0, 2.0, 3.0), 3072: 32767, 3074: 16031},
    "shift that EPSG knows better": {1024: 2, 2048: 4314, 2062: (1.0, 2.0, 3.0)},
    "geographic": {1024: 2, 2048: 4326, 2057: 6378000.0, 2059: 300.0},
    "geographic, of a projected code": {1024: 2, 3072: 3857},
    "heights": {1024: 1, 3072: 32631, 4096: 5703},
    "heights, named": {1024: 1, 3072: 32631, 1026: "abc", 4096: 5703, 4097: "NAVD88 height", 4098: 5103, 4099: 9001},
    "heights of a datum": {1024: 1, 3072: 32631, 4096: 32767, 4097: "mine", 4098: 5103, 4099: 9002},
    "heights of a unit": {1024: 2, 2048: 4326, 4099: 9001},
    "heights above the ellipsoid": {1024: 2, 2048: 4326, 4096: 5030},
    "heights above the ellipsoid, projected": {1024: 1, 3072: 32631, 4096: 4979},
    "heights that EPSG lacks": {1024: 2, 2048: 4326, 4096: 9999},
    "Esri's text": {1024: 32767, 3073: ESRI, 3072: 32767},
    "web maps by name": {**TM, 3075: 7, 3080: 0.0, 3082: 0.0, 1026: "WGS_1984_Web_Mercator_Auxiliary_Sphere"},
    "Imagine's text": {
        1024: 1, 1026: f"{IMAGINE}Projection Name = UTM\nUnits = meters\nGeoTIFF Units = meters", 2048: 32767,
        2050: 32767, 2049: f"{IMAGINE}Unable to match Ellipsoid (Datum)\nEllipsoid = WGS 84\nDatum = WGS 84",
        2054: 9102, 2056: 7030, 3072: 32767, 3074: 16033, 3073: f"{IMAGINE}Projection = UTM", 3076: 9001,
    },
    "only a name": {1024: 32767, 1025: 1, 1026: "Foo", 3076: 9002},
    "only a raster type": {1025: 1},
    "a projection of no method": {1024: 1, 3072: 32767, 3074: 32767},
    "a method that PROJ lacks": {**TM, 3075: 2},
}  # fmt: skip

METHODS = [1, 3, 4, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 9815]
PARAMETERS = {
    3078: 31.0, 3079: 32.0, 3080: -11.0, 3081: 12.0, 3082: 1000.0, 3083: 2000.0, 3084: -13.0, 3085: 14.0, 3086: 3000.0,
    3087: 4000.0, 3088: -15.0, 3089: 16.0, 3090: 5000.0, 3091: 6000.0, 3092: 0.91, 3093: 0.92, 3094: 40.0, 3095: -17.0,
    3096: 41.0,
}  # fmt: skip
ORIGINS = ((3080, 3081, 3082, 3083, 3092), (3084, 3085, 3086, 3087, 3093), (3088, 3089, 3090, 3091, 3092))


def tagged(keys, revision=1):
    """A GeoTIFF with these GeoKeys, and nothing else that matters; revision 0 is GeoTIFF 1.0."""
    doubles, texts, entries = [], "", []
    for code in sorted(keys):
        value = keys[code]
        if isinstance(value, str):
            entries += [code, 34737, len(value) + 1, len(texts)]
            texts += value + "|"
        elif isinstance(value, float | tuple):
            numbers = value if isinstance(value, tuple) else (value,)
            entries += [code, 34736, len(numbers), len(doubles)]
            doubles += numbers
        else:
            entries += [code, 0, 1, value]
    words = [1, 1, revision, len(keys), *entries]
    tags = [(34735, "H", len(words), words, True), (33550, "d", 3, (1.0, 1.0, 0.0), True)]
    tags.append((33922, "d", 6, (0.0, 0.0, 0.0, 5e5, 4e6, 0.0), True))
    if doubles:
        tags.append((34736, "d", len(doubles), doubles, True))
    if texts:
        tags.append((34737, "s", 0, texts, True))
    stream = io.BytesIO()
    tifffile.imwrite(stream, np.zeros((4, 4), "u1"), extratags=tags, metadata=None, photometric="minisblack")
    return stream.getvalue()


def gdal(data):
    with warnings.catch_warnings(), MemoryFile(data) as memory:
        warnings.simplefilter("ignore", NotGeoreferencedWarning)
        with memory.open() as dataset:
            return converted(dataset.crs or dataset.gcps[1])


NOTHING = 'ENGCRS["unnamed"'


def converted(crs):
    """GDAL's CRS as pyproj's; an engineering CRS without a name, GDAL's answer to having nothing, as None."""
    wkt = crs.to_wkt(version="WKT2_2019") if crs else NOTHING
    return None if wkt.startswith(NOTHING) else CRS.from_wkt(wkt)


def keys_of(tags):
    numbers, text = tags.get(34736), tags.get(34737)
    return parse_geokeys(
        np.array(tags[34735].value) if 34735 in tags else None,
        None if numbers is None else np.atleast_1d(np.array(numbers.value)),
        None if text is None else text.value,
    )


def own(data):
    with tifffile.TiffFile(io.BytesIO(data)) as tiff:
        return crs_from_geokeys(keys_of(tiff.pages.first.tags))


def test_real_files(corpus_file):
    with tifffile.TiffFile(corpus_file.path) as tiff:
        found = crs_from_geokeys(keys_of(tiff.pages.first.tags))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotGeoreferencedWarning)
        with rasterio.open(corpus_file.path) as dataset:
            assert found == converted(dataset.crs or dataset.gcps[1])
    listed = corpus_file.entry["dataset"]["epsg"]
    if listed is not None:
        assert found.to_epsg() == listed


@pytest.mark.parametrize("definition", WRITTEN)
def test_what_rasterio_writes(definition):
    with MemoryFile() as memory:
        profile = {"driver": "GTiff", "width": 2, "height": 2, "count": 1, "dtype": "uint8", "transform": GRID}
        with memory.open(crs=definition, **profile):
            pass
        data = bytes(memory.getbuffer())
    expected, found = gdal(data), own(data)
    assert expected is not None
    assert found == expected
    expected_id = expected.to_json_dict().get("id")
    if expected_id and not found.is_bound:
        assert found.to_json_dict().get("id", expected_id) == expected_id


@pytest.mark.filterwarnings("ignore::tiff_codecs.errors.TiffWarning")
@pytest.mark.parametrize("start", range(2000, 32700, 1000))
def test_codes_of_the_registry(start):
    for code in range(start, start + 1000, 53):
        keys = {1024: 1, 3072: code}
        found, expected = crs_from_geokeys(keys), gdal(tagged(keys))
        if 10000 < code < 16000:
            continue  # GDAL takes new codes of conversions for old ones of State Plane zones
        if found is None:
            assert expected is None or expected.is_vertical, code
        elif not found.is_compound:  # of these GDAL loses the unit
            assert found == expected, code


@pytest.mark.filterwarnings("ignore::tiff_codecs.errors.TiffWarning")
@pytest.mark.parametrize("keys", KEYED.values(), ids=KEYED)
def test_keys_as_gdal_reads_them(keys):
    assert crs_from_geokeys(keys) == gdal(tagged(keys))


@pytest.mark.filterwarnings("ignore::tiff_codecs.errors.TiffWarning")
@pytest.mark.parametrize("keys", KEYED.values(), ids=KEYED)
def test_keys_of_geotiff_1_0_as_gdal_reads_them(keys):
    data = tagged(keys, revision=0)
    assert own(data) == gdal(data)


def test_heights_on_demand():
    keys = {1024: 1, 3072: 32631, 4096: 5703}
    with tifffile.TiffFile(io.BytesIO(tagged(keys, revision=0))) as tiff:
        read = keys_of(tiff.pages.first.tags)
    assert crs_from_geokeys(read) == CRS.from_epsg(32631)
    assert crs_from_geokeys(read, heights=True).is_compound
    assert crs_from_geokeys(keys).is_compound
    assert crs_from_geokeys(keys, heights=False) == CRS.from_epsg(32631)


@pytest.mark.parametrize("origin", ORIGINS, ids=["natural", "false", "centre"])
@pytest.mark.parametrize("method", METHODS)
def test_every_method(method, origin):
    keys = {1024: 1, 2048: 4326, 3072: 32767, 3074: 32767, 3075: method, 3076: 9001}
    keys |= {code: PARAMETERS[code] for code in (*origin, 3078, 3079, 3094, 3095, 3096)}
    if method == 7:  # an origin off the equator goes with a standard parallel alone
        keys.pop(3092, None)
    if method == 15:
        keys |= {3081: 90.0, 3085: 90.0, 3089: 90.0}
        keys.pop(3078)
    expected = gdal(tagged(keys))
    assert expected is not None
    assert crs_from_geokeys(keys) == expected


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        ({2048: 4326}, "EPSG:4326"),  # no model: GDAL takes none
        ({1024: 1, 3072: 54009}, "ESRI:54009"),  # Esri's code in EPSG's place
        ({1024: 2, 2048: 37001}, "ESRI:37001"),
        ({1024: 1, 2048: 4326, 3072: 32767, 3074: 1024, 3075: 7}, "EPSG:3857"),  # a method's code, of web maps
        ({1024: 3, 2048: 4978}, "EPSG:4978"),
        ({1024: 1, 3072: 32631, 4096: 5103}, "EPSG:32631+5703"),  # GeoTIFF 1.0 has datums here
        ({1024: 1, 3072: 32631, 4096: 5171}, "EPSG:32631+5773"),
        ({1024: 1, 1026: ESRI.partition(" = ")[2].replace("10]", "0]"), 3072: 32767}, "ESRI:54009"),
        ({**TM, 2054: 32767, 2055: 0.017453292519943295, 3076: 9001}, "EPSG:32632"),  # a size in radians
    ],
)
def test_more_than_gdal_reads(keys, expected):
    assert crs_from_geokeys(keys) == CRS.from_user_input(expected)


def test_the_registry_code_of_a_system_that_has_only_a_name():
    keys = {1024: 32767, 3072: 32767, 3073: ESRI.replace("10]", "0]")}
    assert crs_from_geokeys(keys).to_json_dict()["id"] == {"authority": "ESRI", "code": 54009}
    other = {1024: 32767, 3072: 32767, 3073: ESRI}
    assert "id" not in crs_from_geokeys(other).to_json_dict()


@pytest.mark.parametrize("keys", [{}, {1025: 1}, {1024: 32767, 3073: "a name"}, {1026: "", 3076: 9001}])
def test_no_crs_comes_of_nothing(keys):
    assert crs_from_geokeys(keys) is None


@pytest.mark.parametrize(
    "keys",
    [
        {1026: "a name"},
        {1024: 32767, 1026: "a name", 3073: "another", 3076: 9003},
        {2049: "a name", 3076: 32767, 3077: 0.5},
        {1026: IMAGINE + "Geocoding information not available\nUnits = other", 4096: 5703},
        {1026: "x" * 400},
    ],
)
def test_a_name_is_a_local_system(keys):
    found = crs_from_geokeys(keys)
    assert found.type_name == "Engineering CRS"
    assert found == gdal(tagged(keys))


@pytest.mark.parametrize(
    "keys",
    [
        {1024: 1},
        {1024: 1, 3072: 32799},
        {1024: 1, 2048: 4326, 3072: 5703},
        {**TM, 3075: 2},
        {**TM, 3075: 9999},
        {**TM, 3080: float("nan")},
        {**TM, 3075: 7, 3081: 5.0},
        {**TM, 3075: 15, 3081: 60.0},
        {1024: 32767, 3073: 'PROJCS["cut'},
        {1024: 32767, 3073: 'PROJCS["wrong"]'},
        {**OWN_DATUM, 2057: float("inf")},
    ],
)
def test_what_cannot_be_made_gives_one_warning(keys):
    if keys.get(3073, "").endswith("cut"):
        assert crs_from_geokeys(keys) is None  # no definition, so no mistake in one
        return
    for _ in range(2):  # remembered or not
        with pytest.warns(TiffWarning, match="GeoKeys") as warned:
            assert crs_from_geokeys(keys) is None
        assert len(warned) == 1


@pytest.mark.parametrize(
    ("keys", "says"),
    [
        ({1024: 2}, "WGS 84 is assumed"),
        ({1024: 2, 2048: 9999}, "no geographic CRS 9999"),
        ({**TM, 2048: 0}, "WGS 84 is assumed"),
        ({**TM, 3072: 32631}, "EPSG:32631"),
        ({1024: 2, 2048: 4326, 4096: 9999}, "heights are left out"),
        ({1024: 2, 2048: 4326, 4096: 32631}, "heights are left out"),
        ({1024: 2, 2048: 4326, 4096: 7405}, "heights are left out"),
        ({1024: 2, 2048: 4267, 4096: 4979}, "another datum"),
    ],
)
def test_what_is_assumed_is_said(keys, says):
    with pytest.warns(TiffWarning, match=says) as warned:
        assert crs_from_geokeys(keys) is not None
    assert len(warned) == 1


def test_the_same_keys_give_the_same_object():
    keys = {1024: 1, 3072: 32635, 1026: "x"}
    assert crs_from_geokeys(keys) is crs_from_geokeys(dict(reversed(keys.items())))
    seconds = min(timeit.repeat(lambda: crs_from_geokeys(keys), number=200, repeat=5)) / 200
    assert seconds < 50e-6  # about 1 microsecond


values = (
    st.sampled_from([0, 1, 2, 3, 7, 15, 4326, 32631, 9001, 7030, 6326, 8901, 5703, 4979, 32767, 65535])
    | st.integers(0, 65535)
    | st.floats()
    | st.lists(st.floats(), min_size=1, max_size=7).map(tuple)
    | st.text(max_size=20)
    | st.sampled_from([ESRI, ESRI[:200], "GCS Name = |Datum = \0", "LUnits = feet", 'GEOGCS["' + "[" * 500])
)


@settings(max_examples=300)
@given(st.dictionaries(st.sampled_from([*GEO_KEYS, 1, 5555]), values, max_size=12))
def test_any_keys_are_read_without_an_exception(keys):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = crs_from_geokeys(keys)
    assert [warning.category for warning in caught] in ([], [TiffWarning])
    if found is not None:
        assert CRS.from_wkt(found.to_wkt()) is not None
