"""Coordinate reference systems and their parts, by their codes and names in the registries that PROJ carries."""

from __future__ import annotations

import math
from functools import cache
from typing import TYPE_CHECKING, Any, cast

from pyproj import CRS
from pyproj.database import query_crs_info
from pyproj.enums import PJType
from pyproj.exceptions import CRSError

if TYPE_CHECKING:
    from pyproj.crs import CoordinateOperation, Datum, Ellipsoid, PrimeMeridian

type Json = dict[str, Any]


def as_projjson(described: CRS | CoordinateOperation | Datum | Ellipsoid | PrimeMeridian) -> Json:
    """Return the definition as PROJJSON."""
    return cast("Json", described.to_json_dict())


def registered_crs(code: int | None) -> CRS | None:
    """EPSG's CRS of that code; Esri's, for the codes that Esri's software writes in EPSG's place."""
    if code is None:
        return None
    for authority in ("EPSG", "ESRI"):
        try:
            return CRS.from_authority(authority, code)
        except CRSError:
            continue
    return None


def registered_part(
    kind: type[CoordinateOperation | Datum | Ellipsoid | PrimeMeridian], code: int | None
) -> Json | None:
    """EPSG's datum, ellipsoid, prime meridian or conversion of that code, as PROJJSON."""
    if code is None:
        return None
    try:
        return as_projjson(kind.from_epsg(code))
    except CRSError:
        return None


def in_force(crs: CRS) -> CRS:
    """Return the CRS for which ``crs`` was withdrawn: the same with a mistake corrected. GDAL takes it too."""
    replacements = crs.get_non_deprecated() if crs.is_deprecated else []
    if len(replacements) != 1:
        return crs
    # pyproj returns objects of the class below CRS
    return CRS.from_json(replacements[0].to_json())


def recognised(crs: CRS) -> CRS:
    """Return Esri's registered CRS when ``crs`` has its name and its definition; else ``crs`` itself.

    Esri's codes do not fit in a GeoKey, so files have the name and the parameters of such a system.
    """
    code = _esri_codes().get(crs.name)
    if code is None:
        return crs
    found = CRS.from_authority("ESRI", code)
    if not _same_but_axes(found, crs):
        return crs
    replacement = in_force(found)
    return replacement if _same_but_axes(replacement, crs) else found


@cache
def _esri_codes() -> dict[str, str]:
    kinds = [PJType.PROJECTED_CRS, PJType.GEOGRAPHIC_2D_CRS]
    return {found.name: found.code for found in query_crs_info("ESRI", kinds, allow_deprecated=True)}


def _same_but_axes(one: CRS, other: CRS) -> bool:
    """Whether two CRSs give the same numbers for a place, in whatever order and direction of axes."""
    if one.is_geographic or other.is_geographic:
        return one.equals(other, ignore_axis_order=True)
    unit, other_unit = (crs.axis_info[0].unit_conversion_factor for crs in (one, other))
    base = one.geodetic_crs
    return (
        math.isclose(unit, other_unit, rel_tol=1e-10)
        and base is not None
        and base.equals(other.geodetic_crs, ignore_axis_order=True)
        and one.coordinate_operation == other.coordinate_operation
    )
