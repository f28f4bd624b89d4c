"""Heights: the vertical keys of a GeoTIFF (OGC 19-008 section 7.5.4), joined to its horizontal CRS."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pyproj import CRS
from pyproj.crs import CompoundCRS, Datum

from virtual_cog._authorities import in_force, registered_crs, registered_part
from virtual_cog._units import METRE, unit

if TYPE_CHECKING:
    from virtual_cog._geokeys import GeoKeys

type Json = dict[str, Any]


def with_heights(horizontal: CRS, keys: GeoKeys, problems: list[str]) -> CRS:
    """Join the vertical CRS of ``keys`` to ``horizontal``.

    Returns:
        A compound CRS; a three-dimensional one when the heights are above its own ellipsoid; ``horizontal``
        itself when it has heights already, and when ``keys`` has none that are known.
    """
    code, datum, height_unit = keys.code(4096), keys.code(4098), keys.code(4099)
    described = keys.is_user_defined(4096) or keys.is_user_defined(4098)
    if len(horizontal.axis_info) > 2 or not (code or datum or height_unit or described):
        return horizontal
    if code is not None:
        code, datum = _modern(code, datum)
    if code is None:
        vertical = CRS.from_json_dict(_vertical_json(keys, datum, height_unit))
    elif (registered := registered_crs(code)) is not None:
        vertical = in_force(registered)
    else:
        vertical = None
    axes = 0 if vertical is None else len(vertical.axis_info)
    base = horizontal.geodetic_crs
    if vertical is not None and axes == 1:
        return CompoundCRS(f"{horizontal.name} + {vertical.name}", [horizontal, vertical])
    if vertical is not None and axes == 3 and vertical.is_geographic and base is not None:
        if base.equals(vertical.to_2d(), ignore_axis_order=True):
            return vertical if horizontal.is_geographic else horizontal.to_3d()
        problems.append("their heights are above the ellipsoid of another datum: they are left out")
        return horizontal
    problems.append(f"EPSG has no vertical CRS {code}: heights are left out")
    return horizontal


def _modern(code: int, datum: int | None) -> tuple[int | None, int | None]:
    """GeoTIFF 1.0 used codes of datums in VerticalCSTypeGeoKey: move them to where they belong."""
    if code == 5030:
        return 4979, datum  # heights above the ellipsoid of WGS 84
    if 5001 <= code <= 5033:
        return None, code + 1000 if datum is None else datum
    if 5101 <= code <= 5112:
        return code + 600, datum
    if code == 5171:
        return 5773, datum
    return code, datum


def _vertical_json(keys: GeoKeys, datum: int | None, height_unit: int | None) -> Json:
    frame: Json = {"type": "VerticalReferenceFrame", "name": "unknown"}
    found = registered_part(Datum, datum)
    if found is not None:
        frame |= {"name": found["name"], "id": {"authority": "EPSG", "code": datum}}
    size = (unit("linear", height_unit) if height_unit else None) or METRE
    axis = {"name": "Up", "abbreviation": "H", "direction": "up", "unit": size.json()}
    return {
        "type": "VerticalCRS",
        "name": keys.text(4097) or "unknown",
        "datum": frame,
        "coordinate_system": {"subtype": "vertical", "axis": [axis]},
    }
