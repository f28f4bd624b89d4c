from __future__ import annotations

import io
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
from virtual_cog._nodata import parse_nodata

DTYPES = ("u1", "i1", "u2", "i2", "u4", "i4", "f2", "f4", "f8", "c8", "c16")
TEXTS = (
    "0", "7", " 7 ", "\t7\n", "-0", "+7", "0.0", "1e3", "255", "256", "-1", "-128", "-32768", "65504", "65520",
    "4294967295", "-9999", "-9999.0", "9007199254740993", "1e19", "1e39", "-1e39", "0 0", "255 255",
    "-3.40282346600000016e+38", "3.4028235e+38", "-3.402823466e+38", "-3.40282e+38", "-3.4028234663852886e+38",
    "1.7976931348623157e+308", "inf", "-inf", "+inf", "Infinity", "nan", "NaN", "1.#QNAN", "-1.#IND", "1.#INF",
)  # fmt: skip


def gdal(text, dtype):
    stream = io.BytesIO()
    tags = [(42113, "s", 0, text, True)]
    tifffile.imwrite(stream, np.zeros((4, 4), dtype), extratags=tags, metadata=None, photometric="minisblack")
    with warnings.catch_warnings(), MemoryFile(stream.getvalue()) as memory:
        warnings.simplefilter("ignore", NotGeoreferencedWarning)
        warnings.simplefilter("ignore", RuntimeWarning)  # rasterio compares with the limits of float16
        with memory.open() as dataset:
            return dataset.nodata


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("text", TEXTS)
def test_the_same_as_gdal(text, dtype):
    expected = gdal(text, dtype)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = parse_nodata(text, dtype)
    if expected is None:
        assert found is None
        assert [warning.category for warning in caught] == [TiffWarning]
        return
    assert not caught
    assert type(found) is np.dtype(dtype).type
    # GDAL leaves the nodata of complex pixels as it was written
    np.testing.assert_equal(found, np.dtype(dtype).type(expected))


@pytest.mark.filterwarnings("ignore::tiff_codecs.errors.TiffWarning")
def test_real_files(corpus_file):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotGeoreferencedWarning)
        with rasterio.open(corpus_file.path) as dataset:
            dtype, expected = dataset.dtypes[0], dataset.nodata
    with tifffile.TiffFile(corpus_file.path) as tiff:
        text = tiff.pages.first.tags.valueof(42113)
    if text is None:
        assert expected is None
    else:
        np.testing.assert_equal(parse_nodata(text, dtype), expected)


@pytest.mark.parametrize(
    ("text", "dtype", "value"),
    [
        ("9007199254740993", "i8", 2**53 + 1),
        ("9007199254740993.0", "i8", 2**53 + 1),
        ("-9223372036854775808", "i8", -(2**63)),
        ("18446744073709551615", "u8", 2**64 - 1),
        ("1.8446744073709551615e19", "u8", 2**64 - 1),
        ("1e3", "i8", 1000),
        ("-0.0", "u8", 0),
    ],
)
def test_integers_of_64_bits_are_exact(text, dtype, value):
    found = parse_nodata(text, dtype)
    assert found.dtype == dtype
    assert int(found) == value


@pytest.mark.parametrize("dtype", ["f8", "c16"])
@pytest.mark.parametrize("sign", ["", "-"])
def test_the_largest_double_rounded_up(sign, dtype):
    found = parse_nodata(sign + "1.79769313486232e+308", dtype)
    assert found == float(sign + "1.7976931348623157e308")


@pytest.mark.parametrize(
    ("text", "dtype"),
    [
        ("abc", "f4"),
        ("12abc", "u1"),
        ("--", "u1"),
        ("none", "f8"),
        ("1_0", "u1"),
        ("0x10", "u1"),
        ("\u0661", "u1"),
        ("1 2", "u1"),
        ("1,234.5", "f8"),
        ("1,2,3", "f8"),
        ("0.5", "u1"),
        ("1e999999999", "i8"),
        ("1e-999999999", "i8"),
        ("1e99999999999999999999", "f8"),
        ("18446744073709551616", "u8"),
        ("9223372036854775808", "i8"),
        ("-1", "u8"),
        ("nan", "i8"),
        ("inf", "u8"),
        ("1e39", "c8"),
        ("x" * 1000, "u1"),
    ],
)
def test_what_no_pixel_can_be(text, dtype):
    with pytest.warns(TiffWarning, match="GDAL_NODATA") as warned:
        assert parse_nodata(text, dtype) is None
    assert len(str(warned[0].message)) < 150


@pytest.mark.parametrize("text", ["", " ", "\0", " \0\n"])
def test_an_empty_text_says_nothing(text):
    assert parse_nodata(text, "f4") is None


def test_a_decimal_comma():
    assert parse_nodata("0,5", "f4") == 0.5


def test_a_number_far_beyond_doubles_is_infinite():
    assert parse_nodata("-1e999999999", "f8") == -np.inf
    assert parse_nodata("1e-999999999", "f8") == 0


def test_a_trailing_nul():
    assert parse_nodata("-9999\0", "i2") == -9999


@given(
    st.text(max_size=30) | st.from_regex(r"[+-]?[0-9.]{0,30}(e[+-]?[0-9]{0,9})?"),
    st.sampled_from([*DTYPES, "i8", "u8"]),
)
def test_any_text_is_read_without_an_exception(text, dtype):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TiffWarning)
        found = parse_nodata(text, dtype)
    assert found is None or found.dtype == dtype


@given(st.integers(-(2**63), 2**64 - 1))
def test_integers_round_trip(value):
    dtype = "i8" if value < 2**63 else "u8"
    assert int(parse_nodata(str(value), dtype)) == value
