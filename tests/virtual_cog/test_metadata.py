"""All metadata of a file, kind by kind, against what rasterio reads from it."""

from __future__ import annotations

import base64
import json
import math
import struct
import warnings

import numpy as np
import pytest
import rasterio
import tifffile
import zarr
from pyproj import CRS
from rasterio.errors import NotGeoreferencedWarning, RasterioIOError
from rasterio.rpc import RPC

import virtual_cog
from tiff_codecs.errors import TiffError, TiffWarning

GDAL_ONLY = {
    "IMAGE_STRUCTURE": {
        # of the pixels' own bytes, which are not read
        "JPEG_QUALITY", "JPEGTABLESMODE", "LERC_VERSION", "WEBP_LEVEL", "COMPRESSION_REVERSIBILITY",
    },
}  # fmt: skip


class Found:
    """What this package says of an image."""

    def __init__(self, path, **options):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", TiffWarning)
            group = zarr.open_group(virtual_cog.open_store(path, **options), mode="r")
        self.group = dict(group.attrs)
        self.band = dict(group["band_data"].attrs)
        self.bands = group["band_data"].shape[0]
        self.dtype = group["band_data"].dtype
        self.place = dict(group["spatial_ref"].attrs) if "spatial_ref" in group else {}

    def each(self, one, many, neutral):
        """A value for each band."""
        value = self.band.get(many, self.band.get(one, neutral))
        return value if isinstance(value, list) else [value] * self.bands


def nodata(value):
    """The number of an attribute ``_FillValue``."""
    if value is None or isinstance(value, int):
        return value
    value = value[0] if isinstance(value, list) else value
    return struct.unpack("<d", base64.standard_b64decode(value))[0]


def same(one, other):
    if isinstance(one, float) and isinstance(other, float) and math.isnan(one):
        return math.isnan(other)
    return one == other


def crs_of(dataset):
    crs = dataset.crs or dataset.gcps[1]
    return CRS.from_wkt(crs.to_wkt(version="WKT2_2019")) if crs else None


def differences(found, dataset):
    """The kinds of metadata that differ, with both values."""
    kinds = {}

    def compare(kind, ours, theirs, equal=same):
        if not equal(ours, theirs):
            kinds[kind] = (ours, theirs)

    def close(one, other):
        return one == other or (one is not None and other is not None and np.allclose(one, other, rtol=1e-12, atol=0))

    def same_crs(one, other):
        return one == other or (one is not None and one.equals(other, ignore_axis_order=True))

    wkt = found.place.get("crs_wkt")
    compare("crs", CRS.from_wkt(wkt) if wkt else None, crs_of(dataset), same_crs)
    text = found.place.get("GeoTransform")
    transform = None if dataset.transform.is_identity else dataset.transform.to_gdal()
    compare("transform", None if text is None else tuple(map(float, text.split())), transform, close)
    compare("nodata", nodata(found.band.get("_FillValue")), dataset.nodata)
    compare("scales", found.each("scale_factor", "scales", 1.0), list(dataset.scales))
    compare("offsets", found.each("add_offset", "offsets", 0.0), list(dataset.offsets))
    compare("descriptions", [d or None for d in found.each("long_name", "long_name", None)], list(dataset.descriptions))
    compare("units", [u or None for u in found.each("units", "band_units", None)], [u or None for u in dataset.units])
    compare("colorinterp", found.band["colorinterp"], [c.name for c in dataset.colorinterp])
    colors = found.band.get("colormap")
    try:
        theirs = dataset.colormap(1)
    except ValueError:
        theirs = None
    ours = None if colors is None else {i: tuple(bytes.fromhex(color[1:])) for i, color in enumerate(colors)}
    compare("colormap", ours, theirs)

    def item(name):
        return found.band.get(f"GDAL_{name}", found.band.get(name))

    in_bands = {name for index in dataset.indexes for name in dataset.tags(index)}
    tags = {name: value for name, value in dataset.tags().items() if name not in in_bands}
    compare("tags", {name: item(name) for name in tags}, tags)
    known = {*tags, *in_bands}
    compare("tags of no file", {n for n in found.band if n.startswith(("TIFFTAG_", "AREA_"))} - known, set())
    for name in in_bands:
        values = item(name)
        values = values if isinstance(values, list) else [values] * found.bands
        compare(f"band {name}", values, [dataset.tags(index).get(name, "") for index in dataset.indexes])
    ours = dict(found.group["gdal_domains"])
    profile = dataset.tags(ns="COLOR_PROFILE").get("SOURCE_ICC_PROFILE")
    compare("profile", found.band.get("icc_profile_size"), None if profile is None else len(base64.b64decode(profile)))
    in_tags = {"DERIVED_SUBDATASETS", "RPC", "COLOR_PROFILE"}  # the first is not the file's, the others have names
    for domain in {*ours, *dataset.tag_namespaces()} - in_tags:
        theirs = {n: v for n, v in dataset.tags(ns=domain).items() if n not in GDAL_ONLY.get(domain, ())}
        if domain == "IMAGE_STRUCTURE":
            theirs |= {n: v for index in dataset.indexes for n, v in dataset.tags(index, ns=domain).items()}
        compare(f"domain {domain}", ours.get(domain, {}), theirs)
    for index in dataset.indexes:
        theirs = {n: dataset.tags(index, ns=n) for n in dataset.tag_namespaces(index) if n != "IMAGE_STRUCTURE"}
        compare(f"band domains", found.group.get("gdal_band_domains", {}).get(str(index), {}), theirs)
    points = [[p.col, p.row, p.x, p.y, p.z] for p in dataset.gcps[0]]
    compare("gcps", found.group.get("gcps", []), points)
    rpcs = found.place.get("rpcs")
    compare("rpcs", None if rpcs is None else RPC(**json.loads(rpcs)), dataset.rpcs, same_rpcs)
    return kinds


def same_rpcs(one, other):
    if one is None or other is None:
        return one is other
    one, other = one.to_dict(), other.to_dict()
    return one.keys() == other.keys() and all(
        np.allclose(one[name], other[name], rtol=1e-13, atol=0) for name in one
    )
