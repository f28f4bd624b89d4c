from __future__ import annotations

import pickle

import numpy as np
import pytest

from tiff_codecs import TiffOptionError, TiffUnsupportedError, TileLayout


@pytest.mark.parametrize(
    ("sample_format", "bits", "dtype"),
    [
        *[("uint", bits, "u1") for bits in (1, 2, 7, 8)],
        *[("int", bits, "i1") for bits in (1, 5, 8)],
        *[("uint", bits, "u2") for bits in (9, 12, 16)],
        *[("int", bits, "i4") for bits in (17, 24, 32)],
        *[("uint", bits, "u8") for bits in (33, 48, 64)],
        ("float", 16, "f2"),
        ("float", 24, "f4"),
        ("float", 32, "f4"),
        ("float", 64, "f8"),
        ("complex_int", 32, "c8"),
        ("complex_int", 64, "c8"),
        ("complex_float", 64, "c8"),
        ("complex_float", 128, "c16"),
    ],
)
def test_dtype_holds_the_samples(sample_format, bits, dtype):
    decoded = TileLayout("big", bits, sample_format).dtype
    assert decoded == np.dtype(dtype)
    assert decoded.isnative


@pytest.mark.parametrize(
    ("sample_format", "bits", "predictor"),
    [
        *[("uint", bits, 3) for bits in (8, 16, 32, 64)],
        ("int", 32, 3),
        ("complex_float", 64, 3),
        ("complex_int", 32, 3),
        *[("uint", bits, 2) for bits in (1, 4, 12, 24, 48)],
        ("float", 24, 2),
        ("complex_float", 128, 2),
        ("uint", 65, 1),
        ("float", 8, 1),
        ("float", 128, 1),
        ("complex_int", 16, 1),
        ("complex_float", 32, 1),
    ],
)
def test_combinations_without_a_meaning_are_refused(sample_format, bits, predictor):
    with pytest.raises(TiffUnsupportedError) as caught:
        TileLayout("little", bits, sample_format, predictor)
    assert str(bits) in str(caught.value.found)
    assert caught.value.supported


@pytest.mark.parametrize(
    "values",
    [
        {"byte_order": "middle"},
        {"byte_order": None},
        {"byte_order": ["little"]},
        {"bits_per_sample": 0},
        {"bits_per_sample": 8.0},
        {"bits_per_sample": "8"},
        {"bits_per_sample": True},
        {"sample_format": "void"},
        {"sample_format": 1},
        {"predictor": 0},
        {"predictor": 4},
        {"predictor": 1.0},
        {"predictor": True},
        {"predictor": None},
        {"last_strip_rows": 0},
        {"last_strip_rows": -1},
        {"last_strip_rows": 1.5},
        {"last_strip_rows": False},
    ],
)
def test_values_without_a_meaning_are_refused(values):
    with pytest.raises(TiffOptionError):
        TileLayout(**{"byte_order": "little", "bits_per_sample": 8, "sample_format": "uint"} | values)


@pytest.mark.parametrize(
    ("bits", "cols", "bands", "expected"),
    [(8, 5, 3, 15), (1, 5, 1, 1), (1, 8, 1, 1), (1, 9, 1, 2), (12, 3, 1, 5), (12, 2, 3, 9), (3, 1, 3, 2)],
)
def test_rows_are_padded_to_bytes(bits, cols, bands, expected):
    layout = TileLayout("little", bits, "uint")
    assert layout.row_bytes(cols, bands) == expected
    assert layout.tile_bytes(7, cols, bands) == 7 * expected


@pytest.mark.parametrize("bits", range(1, 65))
@pytest.mark.parametrize("cols", [1, 2, 3, 17])
def test_samples_in_the_file_are_never_wider_than_in_memory(bits, cols):
    layout = TileLayout("little", bits, "int")
    assert layout.row_bytes(cols, 3) <= cols * 3 * layout.dtype.itemsize


def test_canonical_layouts_are_equal_where_tiles_decode_alike():
    def pair(*values):
        return [TileLayout(order, *values).canonical() for order in ("little", "big")]

    for alike in (pair(8, "uint"), pair(8, "int", 2), pair(12, "uint"), pair(24, "int"), pair(32, "float", 3)):
        assert alike[0] == alike[1]
    for different in (pair(16, "uint"), pair(24, "float"), pair(32, "float", 2), pair(64, "complex_float")):
        assert different[0] != different[1]


def test_layouts_are_values():
    layout = TileLayout("big", 16, "uint", 2, 5)
    assert layout == TileLayout("big", 16, "uint", 2, 5)
    assert len({layout, TileLayout("big", 16, "uint", 2, 5)}) == 1
    assert pickle.loads(pickle.dumps(layout)) == layout  # noqa: S301
