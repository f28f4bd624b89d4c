from __future__ import annotations

import json
import re
import timeit

import numpy as np
import pytest
import rioxarray  # noqa: F401 - the accessor
import xarray as xr
from affine import Affine
from pyproj import CRS

from virtual_cog._crs import crs_from_geokeys
from virtual_cog._spatial import coordinate_attributes, geozarr_attributes, spatial_ref_attributes
from virtual_cog._transform import GeoTransform

TRANSFORM = GeoTransform(399960.0, 10.0, 0.0, 4000020.0, 0.0, -10.0)
ROTATED = GeoTransform(100.0, 2.0, 0.5, 200.0, 0.25, -3.0)
CODES = ["EPSG:4326", "EPSG:32631", "EPSG:3857", "EPSG:3031", "EPSG:2056", "EPSG:27700", "EPSG:5514", "ESRI:54009"]
BOUND = {1024: 1, 2048: 32767, 2056: 7004, 2062: (1.0, 2.0, 3.0), 3072: 32767, 3074: 16031}
SOUTH = {1024: 1, 2048: 4326, 3072: 32767, 3075: 27, 3081: 10.0}


def grid(attributes):
    data = xr.DataArray(np.zeros((2, 3)), dims=("y", "x"))
    return data.assign_coords(spatial_ref=((), 0, attributes))


@pytest.mark.parametrize("code", CODES)
def test_rioxarray_reads_the_grid_mapping(code):
    crs = CRS.from_user_input(code)
    data = grid(spatial_ref_attributes(crs, TRANSFORM))
    assert CRS.from_user_input(data.rio.crs) == crs
    assert data.rio.transform() == Affine(*TRANSFORM.to_affine())


@pytest.mark.parametrize("code", CODES)
def test_the_attributes_of_rioxarray(code):
    crs = CRS.from_user_input(code)
    own = spatial_ref_attributes(crs, TRANSFORM)
    theirs = xr.DataArray(np.zeros((2, 3)), dims=("y", "x")).rio.write_crs(code)
    theirs = theirs.rio.write_transform(Affine(*TRANSFORM.to_affine())).spatial_ref.attrs
    assert own["GeoTransform"] == theirs["GeoTransform"]
    assert own.keys() == theirs.keys()
    named = {"crs_wkt", "spatial_ref", "horizontal_datum_name", "prime_meridian_name", "reference_ellipsoid_name"}
    for name in own.keys() - named:
        assert own[name] == pytest.approx(theirs[name]), name


@pytest.mark.parametrize("transform", [TRANSFORM, ROTATED, GeoTransform(1 / 3, 1e-7, 0.0, -0.1, 0.0, 2.0)])
def test_the_transform_survives_its_text(transform):
    text = spatial_ref_attributes(None, transform)["GeoTransform"]
    assert tuple(map(float, text.split())) == transform.to_gdal()


def test_what_is_not_known_is_left_out():
    assert spatial_ref_attributes(None, None) == {}
    assert geozarr_attributes(None, None, (2, 3)) == {}
    assert "GeoTransform" not in spatial_ref_attributes(CRS.from_epsg(4326), None)
    assert coordinate_attributes(None, "y") == {"axis": "Y"}


@pytest.mark.parametrize("keys", [BOUND, SOUTH])
def test_systems_without_a_name_in_cf(keys):
    crs = crs_from_geokeys(keys)
    attributes = spatial_ref_attributes(crs, None)
    assert CRS.from_wkt(attributes["crs_wkt"]) == crs
    assert attributes["spatial_ref"] == attributes["crs_wkt"]
    assert coordinate_attributes(crs, "x")["standard_name"] == "projection_x_coordinate"


@pytest.mark.parametrize("transform", [TRANSFORM, ROTATED])
def test_the_zarr_conventions(transform):
    crs = CRS.from_epsg(32631)
    attributes = geozarr_attributes(crs, transform, (2, 3))
    declared = attributes["zarr_conventions"]
    assert [entry["name"] for entry in declared] == ["proj", "spatial"]
    assert [entry["uuid"] for entry in declared] == [
        "f17cb550-5864-4468-aeb7-f3180cfb622f",
        "689b58e2-cf7b-45e0-9fff-9cfc0883d6b4",
    ]
    assert all(entry.keys() == {"name", "uuid", "schema_url", "spec_url", "description"} for entry in declared)
    assert attributes["proj:code"] == "EPSG:32631"
    assert CRS.from_wkt(attributes["proj:wkt2"]) == crs
    assert attributes["spatial:dimensions"] == ["y", "x"]
    assert attributes["spatial:shape"] == [2, 3]
    assert attributes["spatial:registration"] == "pixel"
    affine = Affine(*attributes["spatial:transform"])
    assert affine.to_gdal() == transform.to_gdal()
    corners = [affine @ corner for corner in ((0, 0), (3, 0), (0, 2), (3, 2))]
    xs, ys = zip(*corners, strict=True)
    assert attributes["spatial:bbox"] == [min(xs), min(ys), max(xs), max(ys)]
    assert json.loads(json.dumps(attributes)) == attributes


def test_a_part_of_the_conventions():
    crs = CRS.from_epsg(4326)
    only_crs = geozarr_attributes(crs, None, (2, 3))
    assert [entry["name"] for entry in only_crs["zarr_conventions"]] == ["proj"]
    assert not any(name.startswith("spatial:") for name in only_crs)
    only_grid = geozarr_attributes(None, TRANSFORM, (2, 3), dimensions=("row", "column"))
    assert [entry["name"] for entry in only_grid["zarr_conventions"]] == ["spatial"]
    assert only_grid["spatial:dimensions"] == ["row", "column"]
    assert not any(name.startswith("proj:") for name in only_grid)
    assert geozarr_attributes(crs, None, (2, 3), projjson=True)["proj:projjson"] == crs.to_json_dict()


def test_the_code_is_the_definitions_own():
    assert geozarr_attributes(CRS.from_user_input("ESRI:54009"), None, (1, 1))["proj:code"] == "ESRI:54009"
    assert re.fullmatch(r"[^:]+:[^:]+", geozarr_attributes(CRS.from_epsg(7405), None, (1, 1))["proj:code"])
    assert "proj:code" not in geozarr_attributes(CRS.from_proj4("+proj=utm +zone=31 +ellps=GRS80"), None, (1, 1))


@pytest.mark.parametrize(
    ("code", "x", "y"),
    [
        (4326, ("longitude", "degrees_east"), ("latitude", "degrees_north")),
        (4979, ("longitude", "degrees_east"), ("latitude", "degrees_north")),
        (32631, ("projection_x_coordinate", "metre"), ("projection_y_coordinate", "metre")),
        (2263, ("projection_x_coordinate", "US survey foot"), ("projection_y_coordinate", "US survey foot")),
        (31467, ("projection_x_coordinate", "metre"), ("projection_y_coordinate", "metre")),
        (3031, ("projection_x_coordinate", "metre"), ("projection_y_coordinate", "metre")),
        (5555, ("projection_x_coordinate", "metre"), ("projection_y_coordinate", "metre")),
    ],
)
def test_coordinates_are_named_as_cf_does(code, x, y):
    for axis, (name, unit) in (("x", x), ("y", y)):
        attributes = coordinate_attributes(CRS.from_epsg(code), axis)
        assert attributes["axis"] == axis.upper()
        assert attributes["standard_name"] == name
        assert unit in attributes["units"] or attributes["units"].startswith("0.3048")


def test_what_is_remembered_is_not_what_is_given():
    crs = CRS.from_epsg(32632)
    first = spatial_ref_attributes(crs, TRANSFORM)
    first["grid_mapping_name"] = "changed"
    geozarr_attributes(crs, TRANSFORM, (2, 3))["zarr_conventions"][0]["name"] = "changed"
    coordinate_attributes(crs, "x")["axis"] = "changed"
    assert spatial_ref_attributes(crs, TRANSFORM)["grid_mapping_name"] == "transverse_mercator"
    assert geozarr_attributes(crs, TRANSFORM, (2, 3))["zarr_conventions"][0]["name"] == "proj"
    assert coordinate_attributes(crs, "x")["axis"] == "X"
    lists = spatial_ref_attributes(CRS.from_epsg(2154), None)
    lists["standard_parallel"].append(0)
    assert len(spatial_ref_attributes(CRS.from_epsg(2154), None)["standard_parallel"]) == 2


def test_a_crs_that_replaces_another_in_memory():
    for code in (*range(32601, 32661), *range(32701, 32761)) * 6:
        assert geozarr_attributes(CRS.from_epsg(code), None, (1, 1))["proj:code"] == f"EPSG:{code}"


def test_a_known_crs_costs_next_to_nothing():
    crs = CRS.from_epsg(32633)
    spatial_ref_attributes(crs, TRANSFORM)
    seconds = min(timeit.repeat(lambda: spatial_ref_attributes(crs, TRANSFORM), number=200, repeat=5)) / 200
    assert seconds < 100e-6  # about 5 microseconds; more than a millisecond when it is made anew
