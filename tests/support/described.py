"""What this package says of an image, compared kind by kind with what rasterio reads."""

from __future__ import annotations

import base64
import json
import struct
import warnings

import numpy as np
import zarr
from pyproj import CRS
from rasterio.rpc import RPC

import virtual_cog
from tiff_codecs.errors import TiffWarning

NOT_COMPARED = {
    "IMAGE_STRUCTURE": {
        # GDAL decodes a tile to find them (or the file says so by itself)
        "JPEG_QUALITY", "JPEGTABLESMODE", "LERC_VERSION", "WEBP_LEVEL", "COMPRESSION_REVERSIBILITY",
        # of the file, not of its image
        "LAYOUT",
        # GDAL does not repeat it for an overview
        "OVERVIEW_RESAMPLING",
    },
}  # fmt: skip

OTHER_NAMES = {"DERIVED_SUBDATASETS", "SUBDATASETS", "RPC", "COLOR_PROFILE"}
"""Domains that are not the image's own, or have attributes of their own here."""


class Described:
    """The attributes of a store."""

    def __init__(self, path, **options):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", TiffWarning)
            group = zarr.open_group(virtual_cog.open_store(path, **options), mode="r")
        self.group = dict(group.attrs)
        self.band = dict(group["band_data"].attrs)
        self.bands, self.dtype = group["band_data"].shape[0], group["band_data"].dtype
        self.place = dict(group["spatial_ref"].attrs) if "spatial_ref" in group else {}
        json.dumps([self.group, self.band, self.place], allow_nan=False)

    def each(self, one, many=None):
        """A value for each band; None where there is none."""
        value = self.band.get(many or one, self.band.get(one))
        values = value if isinstance(value, list) else [value] * self.bands
        return [None if value == "" else value for value in values]

    def item(self, name):
        """An item of metadata, which has another name where an attribute has that one."""
        return self.band.get(f"GDAL_{name}", self.band.get(name))

    @property
    def crs(self):
        return CRS.from_wkt(self.place["crs_wkt"]) if "crs_wkt" in self.place else None

    @property
    def nodata(self):
        value = self.band.get("_FillValue")
        value = value[0] if isinstance(value, list) else value
        return struct.unpack("<d", base64.standard_b64decode(value))[0] if isinstance(value, str) else value

    @property
    def colormap(self):
        colors = self.band.get("colormap")
        return colors and {value: tuple(bytes.fromhex(color[1:])) for value, color in enumerate(colors)}


def differences(described, dataset):
    """The kinds of metadata that differ, with what both say."""
    pairs = {**_place(described, dataset), **_values(described, dataset), **_items(described, dataset)}
    return {kind: pair for kind, pair in pairs.items() if not _same(*pair)}


def same_crs(one, other):
    """Whether two CRSs give the same numbers for a place, or have the same code in a registry."""
    if one is None or other is None:
        return one is other
    identity = one.to_json_dict().get("id")
    same_code = identity is not None and identity == other.to_json_dict().get("id")
    return same_code or one.equals(other, ignore_axis_order=True)


def _same(one, other):
    if isinstance(one, CRS) or isinstance(other, CRS):
        return same_crs(one, other)
    if isinstance(one, tuple) and isinstance(other, tuple):
        return len(one) == len(other) and np.allclose(one, other, rtol=1e-12, atol=0)
    return one == other or (one != one and other != other)  # noqa: PLR0124 - NaN


def _place(described, dataset):
    transform = described.place.get("GeoTransform")
    crs = dataset.crs or dataset.gcps[1]
    rpcs = described.place.get("rpcs")
    return {
        "crs": (described.crs, CRS.from_wkt(crs.to_wkt(version="WKT2_2019")) if crs else None),
        "transform": (
            None if transform is None else tuple(map(float, transform.split())),
            None if dataset.transform.is_identity else dataset.transform.to_gdal(),
        ),
        "gcps": (described.group.get("gcps", []), [[p.col, p.row, p.x, p.y, p.z] for p in dataset.gcps[0]]),
        "rpcs": (None if rpcs is None else _flat(RPC(**json.loads(rpcs))), dataset.rpcs and _flat(dataset.rpcs)),
    }


def _flat(rpcs):
    return tuple(number for _, value in sorted(rpcs.to_dict().items()) for number in np.atleast_1d(value).tolist())


def _values(described, dataset):
    nodata = dataset.nodata
    if nodata is not None and described.dtype.kind == "c":
        nodata = float(described.dtype.type(nodata).real)
    try:
        colormap = dataset.colormap(1)
    except ValueError:
        colormap = None
    return {
        "nodata": (described.nodata, nodata),
        "scales": ([v or 1.0 for v in described.each("scale_factor", "scales")], list(dataset.scales)),
        "offsets": ([v or 0.0 for v in described.each("add_offset", "offsets")], list(dataset.offsets)),
        "descriptions": (described.each("long_name"), list(dataset.descriptions)),
        "units": (described.each("units", "band_units"), [unit or None for unit in dataset.units]),
        "colorinterp": (described.band["colorinterp"], [color.name for color in dataset.colorinterp]),
        "colormap": (described.colormap, colormap),
    }


def _items(described, dataset):
    bands = [dataset.tags(index) for index in dataset.indexes]
    of_bands = {name: [items.get(name, "") for items in bands] for items in bands for name in items}
    of_file = {name: value for name, value in dataset.tags().items() if name not in of_bands}
    profile = dataset.tags(ns="COLOR_PROFILE").get("SOURCE_ICC_PROFILE")
    ours = {domain: items for domain, items in described.group["gdal_domains"].items() if domain not in OTHER_NAMES}
    # of an overview GDAL does not list them, but gives them
    theirs = {domain: dataset.tags(ns=domain) for domain in {*ours, *dataset.tag_namespaces()} - OTHER_NAMES}
    found = {
        "tags": ({name: described.item(name) for name in of_file}, of_file),
        "more tags": ({name for name in described.band if name.startswith("TIFFTAG_")} - {*of_file}, set()),
        "profile": (described.band.get("icc_profile_size"), profile and len(base64.b64decode(profile))),
    }
    for name, values in of_bands.items():
        own = described.item(name)
        found[f"item {name}"] = (own if isinstance(own, list) else [own] * described.bands, values)
    for index in dataset.indexes:
        own = described.group.get("gdal_band_domains", {}).get(str(index), {})
        names = {*own, *dataset.tag_namespaces(index)} - {"IMAGE_STRUCTURE"}
        found[f"domains of band {index}"] = (own, {domain: dataset.tags(index, ns=domain) for domain in names})
        theirs["IMAGE_STRUCTURE"] |= dataset.tags(index, ns="IMAGE_STRUCTURE")
    for domain in {*ours, *theirs}:
        ignored = NOT_COMPARED.get(domain, ())
        found[f"domain {domain}"] = tuple(
            {name: value for name, value in both.get(domain, {}).items() if name not in ignored}
            for both in (ours, theirs)
        )
    return found
