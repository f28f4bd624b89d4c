"""Geographic and geocentric coordinate reference systems of the GeoKeys (OGC 19-008 section 7.5.2)."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from pyproj import CRS
from pyproj.crs import BoundCRS, Datum, Ellipsoid, PrimeMeridian
from pyproj.crs.coordinate_operation import ToWGS84Transformation
from pyproj.exceptions import CRSError

from virtual_cog._authorities import as_projjson, recognised, registered_crs, registered_part
from virtual_cog._citations import citation_fields, citation_wkt
from virtual_cog._units import DEGREE, Unit, unit

if TYPE_CHECKING:
    from virtual_cog._geokeys import GeoKeys

type Json = dict[str, Any]

WGS84_ELLIPSOID: Json = {"name": "WGS 84", "semi_major_axis": 6378137.0, "inverse_flattening": 298.257223563}


def geographic_crs(keys: GeoKeys, problems: list[str]) -> CRS:
    """Return the geographic CRS of ``keys``: by code, else by WKT in its citation, else from its parts.

    Where there are no parts it is one on the ellipsoid of WGS 84, as in GDAL, and ``problems`` says so.
    """
    code = keys.code(2048)
    found = registered_crs(code)
    if found is not None and found.is_geographic:
        return found
    if code is not None:
        problems.append(f"EPSG has no geographic CRS {code}")
    elif (projected := registered_crs(keys.code(3072))) is not None and projected.geodetic_crs is not None:
        return projected.geodetic_crs
    if (wkt := citation_wkt(keys.text(2049))) is not None:
        return CRS.from_wkt(wkt)
    return recognised(CRS.from_json_dict(_json(keys, problems)))


def geocentric_crs(keys: GeoKeys, unit_json: Json, problems: list[str]) -> CRS:
    """Return the geocentric CRS of ``keys``: by code, else that of the datum of its geographic CRS.

    Args:
        keys: the keys of the file.
        unit_json: the unit of the axes.
        problems: takes what had to be assumed.
    """
    found = registered_crs(keys.code(2048))
    if found is not None and found.is_geocentric:
        return found
    geographic = as_projjson(geographic_crs(keys, problems))
    axes = [
        {"name": f"Geocentric {axis}", "abbreviation": axis, "direction": f"geocentric{axis}", "unit": unit_json}
        for axis in "XYZ"
    ]
    datum = {key: geographic[key] for key in ("datum", "datum_ensemble") if key in geographic}
    system = {"subtype": "Cartesian", "axis": axes}
    return CRS.from_json_dict({"type": "GeodeticCRS", "name": geographic["name"], **datum, "coordinate_system": system})


def angular_unit(keys: GeoKeys, default: Unit = DEGREE) -> Unit:
    """Return the unit of GeogAngularUnitsGeoKey (2054); a size of its own (2055) is in radians."""
    code = keys.code(2054)
    if code is not None:
        return unit("angular", code) or default
    size = keys.number(2055)
    if keys.is_user_defined(2054) and size is not None and size > 0:
        return Unit("angular", citation_fields(keys.text(2049)).get("angular_unit", "unknown"), size)
    return default


def with_shift(crs: CRS, keys: GeoKeys) -> CRS:
    """Add the shift to WGS 84 (GeogTOWGS84GeoKey) where the datum is not one of EPSG's, as GDAL does."""
    shift = keys.get(2062)
    if keys.code(2048) or keys.code(2050) or not isinstance(shift, tuple) or len(shift) not in (3, 7):
        return crs
    return BoundCRS(crs, CRS.from_epsg(4326), ToWGS84Transformation(crs.geodetic_crs or crs, *shift))


def _json(keys: GeoKeys, problems: list[str]) -> Json:
    names = citation_fields(keys.text(2049))
    datum = _datum(keys, names, problems)
    named = names.get("geographic") or ("" if names else keys.text(2049))
    unit_json = angular_unit(keys).json()
    return {
        "type": "GeographicCRS",
        "name": named or ("unknown" if datum["name"] == "unnamed" else datum["name"].removesuffix(" ensemble")),
        "datum_ensemble" if datum["type"] == "DatumEnsemble" else "datum": datum,
        "coordinate_system": {
            "subtype": "ellipsoidal",
            "axis": [
                {"name": "Geodetic latitude", "abbreviation": "Lat", "direction": "north", "unit": unit_json},
                {"name": "Geodetic longitude", "abbreviation": "Lon", "direction": "east", "unit": unit_json},
            ],
        },
    }


def _datum(keys: GeoKeys, names: dict[str, str], problems: list[str]) -> Json:
    code = keys.code(2050)
    datum = registered_part(Datum, code)
    if datum is None and code is not None:
        problems.append(f"EPSG has no geodetic datum {code}")
    own = None if datum is None else datum["ellipsoid"]
    ellipsoid = _ellipsoid(keys, names, own)
    if ellipsoid is None:
        problems.append("they give no datum: the ellipsoid of WGS 84 is assumed")
        ellipsoid = WGS84_ELLIPSOID
    meridian = _prime_meridian(keys, names)
    if datum is not None and meridian is None and ellipsoid is own:
        return datum
    # an ensemble is of datums with one ellipsoid, and with the meridian of Greenwich
    name = names.get("datum", "unnamed") if datum is None else datum["name"].removesuffix(" ensemble")
    datum = {"type": "GeodeticReferenceFrame", "name": name, "ellipsoid": ellipsoid}
    return datum if meridian is None else {**datum, "prime_meridian": meridian}


def _ellipsoid(keys: GeoKeys, names: dict[str, str], own: Json | None) -> Json | None:
    """The ellipsoid by its axes, else by its code, else the datum's own; None when there is none.

    The axes are in metres, whatever GeogLinearUnitsGeoKey (2052) says: files set that key to the
    unit of the projection.
    """
    found = registered_part(Ellipsoid, keys.code(2056)) or own
    major, minor, inverse = keys.number(2057), keys.number(2058), keys.number(2059)
    if major is None or major <= 0:
        if found is None:
            return None
        major = float(found.get("semi_major_axis") or found["radius"])
    if inverse is None and minor is not None and minor > 0:
        inverse = major / (major - minor) if minor != major else 0.0
    if found is not None:
        flattening = found.get("inverse_flattening", 0.0)
        if inverse is None:
            inverse = flattening
        same = math.isclose(found.get("semi_major_axis", found.get("radius", 0.0)), major, rel_tol=1e-10)
        if same and math.isclose(flattening, inverse, rel_tol=1e-7):
            return found
    name = names.get("ellipsoid") or (found or {"name": "unnamed"})["name"]
    if not inverse:
        return {"name": name, "radius": major}
    return {"name": name, "semi_major_axis": major, "inverse_flattening": inverse}


def _prime_meridian(keys: GeoKeys, names: dict[str, str]) -> Json | None:
    """The prime meridian, or None for Greenwich."""
    found = registered_part(PrimeMeridian, keys.code(2051))
    if found is not None:
        return found if found["longitude"] else None
    longitude, name, size = keys.number(2061) or 0.0, names.get("prime_meridian", ""), angular_unit(keys)
    if not longitude and name in ("", "Greenwich"):
        return None
    if size is not DEGREE and name:
        # GDAL writes the longitude of Paris wrongly when angles are in grads: its name is to be trusted more
        try:
            return as_projjson(PrimeMeridian.from_name(name))
        except CRSError:
            pass
    return {"name": name or "unnamed", "longitude": {"value": longitude, "unit": size.json()}}
