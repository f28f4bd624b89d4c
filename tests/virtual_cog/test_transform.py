from __future__ import annotations

import io
import pickle
import warnings

import affine
import numpy as np
import pytest
import rasterio
import rioxarray
import tifffile
from hypothesis import given
from hypothesis import strategies as st
from rasterio.errors import NotGeoreferencedWarning
from rasterio.io import MemoryFile

from virtual_cog._transform import GeoTransform, GroundControlPoint, gcps, transform_from_tags

UTM = {1024: 1, 3072: 32631}
SCALE, TIEPOINT = (2.0, 3.0, 0.0), (0.0, 0.0, 0.0, 100.0, 200.0, 0.0)
SECOND, THIRD = (4.0, 4.0, 0.0, 500.0, 100.0, 7.0), (0.0, 4.0, 0.0, 1.0, 2.0, 9.0)
MATRIX = (2.0, 0.5, 0.0, 100.0, 0.25, -3.0, 0.0, 200.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0)
SOUTH_UP = (2.0, 0.0, 0.0, 100.0, 0.0, 3.0, 0.0, 200.0, *MATRIX[8:])

CASES = {
    "scale and tiepoint": (SCALE, TIEPOINT, None),
    "a tiepoint elsewhere": (SCALE, (5.0, 7.5, 0.0, 100.0, 200.0, 0.0), None),
    "a scale of two numbers": (SCALE[:2], TIEPOINT, None),
    "a negative scale in y": ((2.0, -3.0, 0.0), TIEPOINT, None),
    "a negative scale in x": ((-2.0, 3.0, 0.0), TIEPOINT, None),
    "a scale without a tiepoint": (SCALE, None, None),
    "a scale and several tiepoints": (SCALE, (*TIEPOINT, *SECOND, *THIRD), None),
    "numbers left over": (SCALE, (*TIEPOINT, 9.0), None),
    "odd numbers": ((0.1, 1 / 3, 0.0), (1.5, 2.25, 0.0, 1e6 / 7, -2e6 / 3, 0.0), None),
    "a matrix": (None, None, MATRIX),
    "a matrix, rows to the north": (None, None, SOUTH_UP),
    "a matrix and a tiepoint": (None, TIEPOINT, MATRIX),
    "a matrix, a scale and a tiepoint": (SCALE, TIEPOINT, MATRIX),
    "a matrix with another last row": (None, None, (*MATRIX[:15], 2.0)),
    "one tiepoint alone": (None, TIEPOINT, None),
    "a scale of nothing": ((0.0, 3.0, 0.0), TIEPOINT, None),
    "tiepoints alone": (None, (*TIEPOINT, *SECOND, *THIRD), None),
    "tiepoints, and numbers left over": (None, (*TIEPOINT, *SECOND, 9.0), None),
    "nothing": (None, None, None),
}


def write(scale, tiepoints, matrix, *, pixel_is_point=False):
    keys = {**UTM, 1025: 2 if pixel_is_point else 1}
    words = [1, 1, 0, len(keys), *(word for code in sorted(keys) for word in (code, 0, 1, keys[code]))]
    tags = [(34735, "H", len(words), words, True)]
    for tag, values in ((33550, scale), (33922, tiepoints), (34264, matrix)):
        if values is not None:
            tags.append((tag, "d", len(values), values, True))
    stream = io.BytesIO()
    tifffile.imwrite(stream, np.zeros((4, 5), "u1"), extratags=tags, metadata=None, photometric="minisblack")
    return stream.getvalue()


def gdal(data):
    with warnings.catch_warnings(), MemoryFile(data) as memory:
        warnings.simplefilter("ignore", NotGeoreferencedWarning)
        with memory.open() as dataset:
            return dataset.transform, dataset.gcps[0]


@pytest.mark.parametrize("pixel_is_point", [False, True])
@pytest.mark.parametrize("tags", CASES)
def test_the_same_as_gdal(tags, pixel_is_point):
    scale, tiepoints, matrix = CASES[tags]
    expected, points = gdal(write(scale, tiepoints, matrix, pixel_is_point=pixel_is_point))
    found = transform_from_tags(scale, tiepoints, matrix, pixel_is_point=pixel_is_point)
    if found is None:
        assert expected == affine.identity
    else:
        assert found.to_gdal() == expected.to_gdal()
        assert found.to_affine() == tuple(expected)[:6]
    own = gcps(tiepoints, pixel_is_point=pixel_is_point) if found is None else ()
    assert [(p.row, p.column, p.x, p.y, p.z) for p in own] == [(p.row, p.col, p.x, p.y, p.z) for p in points]


@pytest.mark.parametrize(
    ("scale", "tiepoints", "matrix"),
    [
        ((np.nan, 1.0, 0.0), TIEPOINT, None),
        ((1.0, 1.0, 0.0), (0.0, 0.0, 0.0, np.inf, 0.0, 0.0), None),
        (None, None, (0.0,) * 16),
        (None, None, tuple(np.eye(4).ravel())),
        (None, None, MATRIX[:12]),
        (None, None, (1.0, 2.0, 0.0, 0.0, 2.0, 4.0, *MATRIX[6:])),
        ((), (), ()),
    ],
)
def test_nothing_comes_of_numbers_that_place_no_pixel(scale, tiepoints, matrix):
    assert transform_from_tags(scale, tiepoints, matrix, pixel_is_point=False) is None


def test_a_matrix_counts_where_a_scale_has_no_tiepoint():
    found = transform_from_tags(SCALE, None, MATRIX, pixel_is_point=False)
    assert found == GeoTransform(100.0, 2.0, 0.5, 200.0, 0.25, -3.0)


def test_arrays_are_taken_as_well():
    found = transform_from_tags(np.array(SCALE), np.array(TIEPOINT), None, pixel_is_point=False)
    assert found == GeoTransform(100.0, 2.0, 0.0, 200.0, 0.0, -3.0)
    assert all(type(number) is float for number in found.to_gdal())
    assert gcps(np.array(TIEPOINT)) == (GroundControlPoint(0.0, 0.0, 100.0, 200.0, 0.0),)
    assert gcps(None) == ()


@pytest.mark.filterwarnings("ignore::rasterio.errors.NotGeoreferencedWarning")
def test_real_files(corpus_file):
    with tifffile.TiffFile(corpus_file.path) as tiff:
        tags = tiff.pages.first.tags
        scale, tiepoints, matrix = (tags[code].value if code in tags else None for code in (33550, 33922, 34264))
        point = int(tiff.pages.first.geotiff_tags.get("GTRasterTypeGeoKey", 1)) == 2 if 34735 in tags else False
    with rasterio.open(corpus_file.path) as dataset:
        expected, points, width, height = dataset.transform, dataset.gcps[0], dataset.width, dataset.height
        bounds = dataset.bounds
    found = transform_from_tags(scale, tiepoints, matrix, pixel_is_point=point)
    listed = corpus_file.entry["dataset"]["transform"]
    if found is None:
        assert expected == affine.identity
        assert listed is None
        assert len(gcps(tiepoints)) == len(points) == corpus_file.entry["dataset"]["gcps"]
        return
    assert found.to_affine() == tuple(expected)[:6] == tuple(listed)
    if not found.is_rotated:
        assert found.bounds(width, height)[::2] == (bounds.left, bounds.right)
        assert found.bounds(width, height)[1::2] == (min(bounds[1::2]), max(bounds[1::2]))


@pytest.mark.parametrize("step", [30.0, -30.0, 0.1, 1 / 3, 0.008333333333333333])
def test_coordinates_are_those_of_rioxarray(tmp_path, step):
    path = tmp_path / "grid.tif"
    tags = write((abs(step), abs(step) / 7, 0.0), (0.0, 0.0, 0.0, 399960.1, 4e6 / 3, 0.0), None)
    path.write_bytes(tags)
    with rasterio.open(path) as dataset:
        found = GeoTransform(*dataset.transform.to_gdal())
    with rioxarray.open_rasterio(path) as opened:
        np.testing.assert_array_equal(found.x_coordinates(5), opened.x.values, strict=True)
        np.testing.assert_array_equal(found.y_coordinates(4), opened.y.values, strict=True)


numbers = st.floats(-1e9, 1e9, allow_nan=False)
steps = st.floats(1e-6, 1e5) | st.floats(-1e5, -1e-6)


@given(numbers, steps, numbers, steps, st.integers(1, 5000))
def test_coordinates_to_the_last_bit(c, a, f, e, size):
    found = GeoTransform(c, a, 0.0, f, 0.0, e)
    centres = affine.Affine(a, 0.0, c, 0.0, e, f) @ affine.Affine.translation(0.5, 0.5)
    xs, _ = centres @ (np.arange(size), np.zeros(size))
    _, ys = centres @ (np.zeros(size), np.arange(size))
    np.testing.assert_array_equal(found.x_coordinates(size), xs, strict=True)
    np.testing.assert_array_equal(found.y_coordinates(size), ys, strict=True)


@pytest.mark.parametrize("matrix", [MATRIX, SOUTH_UP])
def test_the_grid_of_an_overview(tmp_path, matrix):
    path = tmp_path / "overviews.tif"
    grid = affine.Affine(*matrix[:2], matrix[3], *matrix[4:6], matrix[7])
    profile = {"driver": "GTiff", "width": 70, "height": 51, "count": 1, "dtype": "uint8", "crs": "EPSG:32631"}
    with rasterio.open(path, "w", transform=grid, **profile) as dataset:
        dataset.write(np.ones((1, 51, 70), "u1"))
        dataset.build_overviews([2, 4])
    full = GeoTransform(*grid.to_gdal())
    for level in (0, 1):
        with rasterio.open(path, overview_level=level) as overview:
            found = full.scaled(70 / overview.width, 51 / overview.height)
            np.testing.assert_allclose(found.to_affine(), tuple(overview.transform)[:6], rtol=1e-15)
            assert found.bounds(overview.width, overview.height) == pytest.approx(full.bounds(70, 51))


def test_what_a_transform_is():
    rotated = GeoTransform(100.0, 2.0, 0.5, 200.0, 0.25, -3.0)
    assert rotated.is_rotated
    assert not GeoTransform(0.0, 1.0, 0.0, 0.0, 0.0, -1.0).is_rotated
    assert rotated.bounds(4, 2) == (100.0, 194.0, 109.0, 201.0)
    assert pickle.loads(pickle.dumps(rotated)) == rotated  # noqa: S301
    assert len({rotated, GeoTransform(*rotated.to_gdal())}) == 1
    with pytest.raises(AttributeError):
        rotated.a = 3.0
