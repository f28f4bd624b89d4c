from __future__ import annotations

import warnings

import numpy as np
import pytest
import tifffile
from hypothesis import given
from hypothesis import strategies as st

from tiff_codecs.errors import TiffWarning
from virtual_cog._geokeys import GEO_KEYS, GeoKeys, parse_geokeys

HEADER = [1, 1, 0]


def directory(*entries):
    return np.array([*HEADER, len(entries), *(word for entry in entries for word in entry)], "u2")


def test_values_of_each_kind():
    keys = parse_geokeys(
        directory(
            (1024, 0, 1, 1),
            (1026, 34737, 5, 0),
            (2049, 34737, 6, 5),
            (2057, 34736, 1, 1),
            (2062, 34736, 3, 2),
            (5555, 34735, 2, 0),
        ),
        np.array([0.5, 6378137.0, 1.0, 2.0, 3.0]),
        "name|WGS84|",
    )
    assert keys == {
        1024: 1, 1026: "name", 2049: "WGS84", 2057: 6378137.0, 2062: (1.0, 2.0, 3.0), 5555: (1, 1)
    }  # fmt: skip
    assert keys.revision == (1, 0)
    assert isinstance(keys[1024], int)
    assert isinstance(keys[2057], float)


def test_names_are_those_of_the_standard():
    assert GEO_KEYS[1024] == "GTModelTypeGeoKey"
    assert GEO_KEYS[2048] == "GeodeticCRSGeoKey"
    assert GEO_KEYS[3072] == "ProjectedCRSGeoKey"
    assert GEO_KEYS[4096] == "VerticalGeoKey"


def test_an_inner_bar_belongs_to_the_text():
    text = "GCS Name = foo|Primem = Greenwich||"
    assert parse_geokeys(directory((2049, 34737, len(text), 0)), None, text)[2049] == text[:-1]


@pytest.mark.parametrize("text", ["a|b", "a|b|", "a|b|\0"])
def test_a_last_text_without_its_end(text):
    keys = parse_geokeys(directory((1026, 34737, 2, 0), (2049, 34737, 2, 2)), None, text)
    assert keys == {1026: "a", 2049: "b"}


@pytest.mark.parametrize("encoding", ["utf-8", "latin-1"])
def test_offsets_of_texts_that_are_not_ascii(encoding):
    raw = ["Réunion|".encode(encoding), "Côte d'Or|".encode(encoding), b"end|"]
    starts = np.cumsum([0, *map(len, raw)]).tolist()
    entries = [(code, 34737, len(part), at) for code, part, at in zip((1026, 2049, 3073), raw, starts, strict=False)]
    keys = parse_geokeys(directory(*entries), None, b"".join(raw).decode(encoding))
    assert keys == {1026: "Réunion", 2049: "Côte d'Or", 3073: "end"}


@pytest.mark.parametrize(
    ("entry", "doubles", "text"),
    [
        ((2057, 34736, 1, 0), None, None),
        ((2057, 34736, 1, 2), np.zeros(2), None),
        ((2057, 34736, 3, 0), np.zeros(2), None),
        ((2057, 34736, 0, 0), np.zeros(2), None),
        ((1026, 34737, 4, 9), None, "short|"),
        ((1026, 34737, 0, 0), None, "short|"),
        ((1026, 34737, 4, 0), None, None),
        ((1026, 34735, 99, 0), None, None),
        ((1026, 256, 1, 0), None, None),
    ],
)
def test_a_key_that_points_nowhere_is_left_out(entry, doubles, text):
    with pytest.warns(TiffWarning, match=GEO_KEYS[entry[0]]) as warned:
        keys = parse_geokeys(directory((1024, 0, 1, 2), entry), doubles, text)
    assert keys == {1024: 2}
    assert len(warned) == 1


def test_more_keys_announced_than_there_are():
    words = directory((1024, 0, 1, 2), (2048, 0, 1, 4326))
    words[3] = 9
    with pytest.warns(TiffWarning, match="9 keys are announced, 2 are there"):
        assert parse_geokeys(words) == {1024: 2, 2048: 4326}


@pytest.mark.parametrize("words", [None, np.array([], "u2")])
def test_no_directory(words):
    assert parse_geokeys(words) == {}


def test_a_directory_without_its_header():
    with pytest.warns(TiffWarning, match="3 numbers"):
        assert parse_geokeys(np.array(HEADER, "u2")) == {}


def test_the_last_of_a_repeated_key_counts():
    assert parse_geokeys(directory((2048, 0, 1, 4258), (2048, 0, 1, 4326))) == {2048: 4326}


@given(
    st.lists(st.integers(0, 65535), max_size=60),
    st.none() | st.lists(st.floats(), max_size=6),
    st.none() | st.text(max_size=40),
)
def test_any_numbers_and_texts_are_read_without_an_exception(words, doubles, text):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        keys = parse_geokeys(np.array(words, "u2"), None if doubles is None else np.array(doubles, "f8"), text)
    assert all(issubclass(warning.category, TiffWarning) for warning in caught)
    assert len(caught) <= 1
    hash(frozenset(keys.items()))


def test_the_same_keys_as_tifffile(corpus_file):
    with tifffile.TiffFile(corpus_file.path) as tiff:
        tags = tiff.pages.first.tags
        if 34735 not in tags:
            pytest.skip("no GeoKeys")
        numbers = tags.get(34736)
        keys = parse_geokeys(
            np.array(tags[34735].value),
            None if numbers is None else np.atleast_1d(np.array(numbers.value)),
            tags[34737].value if 34737 in tags else None,
        )
        expected = tiff.pages.first.geotiff_tags
    older = {"GeographicTypeGeoKey": 2048, "ProjectedCSTypeGeoKey": 3072, "GeogCitationGeoKey": 2049}
    codes = {name: code for code, name in GEO_KEYS.items()} | older
    compared = 0
    for name, value in expected.items():
        if (code := codes.get(name)) is None:
            continue
        compared += 1
        if isinstance(value, str):
            assert keys[code].rstrip("|") == value.rstrip("|")
        else:
            assert keys[code] == value
    assert compared


def test_the_view_by_use():
    keys = GeoKeys({2048: 4326, 3072: 32767, 2050: 0, 2057: 6.0, 2062: (1.0, 2.0), 1026: "a\0b"})
    assert keys.code(2048) == 4326
    assert keys.code(3072) is None
    assert keys.code(2050) is None
    assert keys.code(1026) is None
    assert keys.is_user_defined(3072)
    assert not keys.is_user_defined(2048)
    assert keys.number(9, 1026, 2057) == 6.0
    assert keys.number(2062) == 1.0
    assert keys.number(9) is None
    assert keys.text(1026) == "a"
    assert keys.text(2048) == ""
