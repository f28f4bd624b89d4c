"""Projected coordinate reference systems of the GeoKeys (OGC 19-008 section 7.5.3): named, changed, or described."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from pyproj import CRS
from pyproj.crs import CoordinateOperation

from virtual_cog._authorities import as_projjson, in_force, recognised, registered_crs, registered_part
from virtual_cog._citations import LINEAR_UNITS, citation_fields, citation_wkt
from virtual_cog._geographic import angular_unit, geographic_crs, with_shift
from virtual_cog._projections import MERCATOR, axis_directions, conversion
from virtual_cog._units import METRE, Unit, unit

if TYPE_CHECKING:
    from virtual_cog._geokeys import GeoKeys

type Json = dict[str, Any]

WEB_MERCATOR: Final = 3857
_WEB_MERCATORS: Final = {3857, 3785}
_PSEUDO_MERCATOR: Final = {1024, 9841}
"""EPSG's codes of the method of web maps; ProjectionGeoKey has them, which is for conversions."""
_WEB_NAME: Final = re.compile(
    r"web[ _]mercator|pseudo-?mercator|google maps global mercator|popular visualisation", re.IGNORECASE
)


def projected_crs(keys: GeoKeys, problems: list[str]) -> CRS | None:
    """Return the projected CRS of ``keys``; None, and a problem unless there is only a name, when it has none."""
    code, method = keys.code(3072), keys.code(3075)
    named_web = code is None and method == MERCATOR and _WEB_NAME.search(_name(keys))
    if code in _WEB_MERCATORS or keys.code(3074) in _PSEUDO_MERCATOR or named_web:
        # files add spheres, other datums, other parameters: the code, or the name, alone says what is meant
        return CRS.from_epsg(WEB_MERCATOR)
    if code is not None and (coded := _coded(code, keys, problems)) is not None:
        return coded
    wkt = citation_wkt(keys.text(3073)) or citation_wkt(keys.text(1026))
    operation = registered_part(CoordinateOperation, keys.code(3074))
    if wkt is not None and (keys.is_user_defined(1024) or (operation is None and method is None)):
        return recognised(CRS.from_wkt(wkt))
    if operation is None and method is None:
        if keys.code(1024) is not None and code is None:
            problems.append("they name no projection")
        return None
    return _described(keys, operation, problems)


def _coded(code: int, keys: GeoKeys, problems: list[str]) -> CRS | None:
    """The CRS of ProjectedCRSGeoKey; None, and a problem, when the code is not one of a horizontal CRS."""
    official = registered_crs(code)
    if official is None or len(official.axis_info) == 1:  # of heights
        zone = _state_plane(code, keys)
        if zone is None:
            problems.append(f"EPSG has no projected CRS {code}")
        return zone
    # another kind of CRS has only strayed into the wrong key
    return _checked(in_force(official), keys, problems) if official.is_projected else official


def _state_plane(code: int, keys: GeoKeys) -> CRS | None:
    """A zone of the State Plane system by the code of its conversion, which GeoTIFF 1.0 had no other key for."""
    operation = registered_part(CoordinateOperation, code)
    if operation is None or not (named := re.search(r"CS(27|83) ", operation["name"])):
        return None
    base = registered_crs(keys.code(2048)) or CRS.from_epsg(4267 if named[1] == "27" else 4269)
    return CRS.from_json_dict(_json(_name(keys), base, operation, linear_unit(keys)))


def linear_unit(keys: GeoKeys) -> Unit:
    """The unit of projected coordinates: by code, by size, by its name in a citation; metres otherwise."""
    named = _fields(keys, 3073).get("linear_unit") or _fields(keys, 1026).get("linear_unit")
    code = keys.code(3076)
    if code is not None:
        return unit("linear", code) or METRE
    size = keys.number(3077)
    if keys.is_user_defined(3076) and size is not None and size > 0:
        return Unit("linear", named or "unknown", size)
    size = LINEAR_UNITS.get((named or "metre").lower(), 1.0)
    return METRE if named is None or size == 1 else Unit("linear", named, size)


def _fields(keys: GeoKeys, key: int) -> dict[str, str]:
    return citation_fields(keys.text(key))


def _name(keys: GeoKeys) -> str:
    for key in (3073, 1026):
        fields = _fields(keys, key)
        if name := fields.get("projected") or ("" if fields else keys.text(key)):
            return name
    return "unnamed"


def _described(keys: GeoKeys, operation: Json | None, problems: list[str]) -> CRS | None:
    base, length, method = geographic_crs(keys, problems), linear_unit(keys), keys.code(3075)
    if operation is None and method is not None:
        # a unit that only a citation has is not that of the parameters
        own = length if 3076 in keys else METRE
        operation = conversion(keys, method, angular_unit(keys, unit_of(base)), own)
    if operation is None:
        problems.append(f"projection method {method} is not one that PROJ has")
        return None
    crs = CRS.from_json_dict(_json(_name(keys), base, operation, length))
    return with_shift(recognised(crs), keys)


def _checked(official: CRS, keys: GeoKeys, problems: list[str]) -> CRS:
    """A registered CRS, with the datum, unit or projection that other keys give it when they differ, as in GDAL."""
    base, own_unit = official.geodetic_crs, unit_of(official)
    gcs, method = registered_crs(keys.code(2048)), keys.code(3075)
    length = linear_unit(keys) if 3076 in keys else own_unit
    differs = method is not None or length.size != own_unit.size
    if gcs is not None and gcs.is_geographic and len(gcs.axis_info) == 2 and gcs != base:
        base, differs = gcs, True
    if len(official.axis_info) != 2 or base is None or not differs:
        return official
    described = as_projjson(official)
    operation: Json = described["conversion"]
    if method is not None:
        operation = conversion(keys, method, angular_unit(keys, unit_of(base)), length) or operation
    changed = _json(official.name, base, operation, length)
    axes = described["coordinate_system"]["axis"]
    changed["coordinate_system"]["axis"] = [{**axis, "unit": length.json()} for axis in axes]
    crs = CRS.from_json_dict(changed)
    if crs == official:
        return official
    problems.append(f"they name EPSG:{keys.code(3072)} ({official.name}) and describe another: the description counts")
    return crs


def _json(name: str, base: CRS, operation: Json, length: Unit) -> Json:
    size, (east, north) = length.json(), axis_directions(operation)
    return {
        "type": "ProjectedCRS",
        "name": name,
        "base_crs": _base_json(base.to_2d()),
        "conversion": operation,
        "coordinate_system": {
            "subtype": "Cartesian",
            "axis": [
                {"name": "Easting", "abbreviation": "E", "direction": east, "unit": size},
                {"name": "Northing", "abbreviation": "N", "direction": north, "unit": size},
            ],
        },
    }


def _base_json(base: CRS) -> Json:
    """A base CRS in PROJJSON; taken from the registry anew where it can be.

    Inside a projected CRS the members of a datum ensemble lose their codes, and PROJ looks each up by name (50 ms).
    """
    described = as_projjson(base)
    identity = described.get("id")
    if identity is None or "datum_ensemble" not in described:
        return described
    return as_projjson(CRS.from_authority(identity["authority"], identity["code"]))


def unit_of(crs: CRS) -> Unit:
    """The unit of the first axis."""
    axis = crs.axis_info[0]
    return Unit("angular" if crs.is_geographic else "linear", axis.unit_name, axis.unit_conversion_factor)
