"""Georeferencing as attributes: CF's grid mapping, GDAL's, and the Zarr conventions ``proj:`` and ``spatial:``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Literal, cast

from pyproj.exceptions import ProjError

from virtual_cog._authorities import as_projjson

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pyproj import CRS

    from virtual_cog._transform import GeoTransform, GroundControlPoint

type Attributes = dict[str, Any]

PROJ_CONVENTION: Final[dict[str, str]] = {
    "schema_url": "https://raw.githubusercontent.com/zarr-conventions/proj/refs/tags/v0.1/schema.json",
    "spec_url": "https://github.com/zarr-conventions/proj/blob/v0.1/README.md",
    "uuid": "f17cb550-5864-4468-aeb7-f3180cfb622f",
    "name": "proj",
    "description": "Coordinate reference system information for geospatial data",
}
SPATIAL_CONVENTION: Final[dict[str, str]] = {
    "schema_url": "https://raw.githubusercontent.com/zarr-conventions/spatial/refs/tags/v0.1/schema.json",
    "spec_url": "https://github.com/zarr-conventions/spatial/blob/v0.1/README.md",
    "uuid": "689b58e2-cf7b-45e0-9fff-9cfc0883d6b4",
    "name": "spatial",
    "description": "Spatial coordinate information",
}
"""Entries of ``zarr_conventions``, as version 0.1 of each convention has them."""

REMEMBERED: Final = 512
"""How many CRSs the attributes are kept for."""


def spatial_ref_attributes(crs: CRS | None, transform: GeoTransform | None) -> Attributes:
    """Attributes of the scalar variable ``spatial_ref``, as rioxarray writes it.

    CF's grid mapping attributes (CF 1.11, appendix F), the CRS in WKT 2 as ``crs_wkt`` (CF) and
    ``spatial_ref`` (GDAL), and GDAL's ``GeoTransform``: six numbers in its order, of the pixels' corners. What is None
    is left out. Costs a few microseconds for a CRS seen before.
    """
    attributes = _of_crs(crs, "grid_mapping", _grid_mapping) if crs is not None else {}
    if transform is not None:
        attributes["GeoTransform"] = " ".join(map(str, transform.to_gdal()))
    return attributes


def geozarr_attributes(
    crs: CRS | None,
    transform: GeoTransform | None,
    shape: Sequence[int],
    *,
    dimensions: Sequence[str] = ("y", "x"),
    projjson: bool = False,
) -> Attributes:
    """Attributes of a group or array by the Zarr conventions ``proj`` and ``spatial``, with their registration.

    Args:
        crs: gives ``proj:wkt2``, and ``proj:code`` when a registry has it; without one there is no ``proj``.
        transform: gives ``spatial:transform`` (its numbers in the order of ``affine.Affine``) and ``spatial:bbox``, the
            smallest and largest coordinates of the corners; without one there is no ``spatial``, which requires it.
        shape: rows and columns.
        dimensions: the names of the dimensions that rows and columns are.
        projjson: whether to write ``proj:projjson`` too, which repeats ``proj:wkt2`` in about four times the length.
    """
    conventions: list[dict[str, str]] = []
    attributes: Attributes = {"zarr_conventions": conventions}
    if crs is not None:
        conventions.append(dict(PROJ_CONVENTION))
        attributes |= _of_crs(crs, "proj", _proj)
        if projjson:
            attributes["proj:projjson"] = as_projjson(crs)
    if transform is not None:
        height, width = shape
        conventions.append(dict(SPATIAL_CONVENTION))
        attributes["spatial:dimensions"] = list(dimensions)
        attributes["spatial:transform_type"] = "affine"
        attributes["spatial:transform"] = list(transform.to_affine())
        attributes["spatial:bbox"] = list(transform.bounds(width, height))
        attributes["spatial:shape"] = [height, width]
        # the transform is one of corners, whatever GTRasterTypeGeoKey says of the coordinates in the file
        attributes["spatial:registration"] = "pixel"
    return attributes if conventions else {}


def gcps_as_geojson(points: Sequence[GroundControlPoint]) -> Attributes:
    """Ground control points as rioxarray writes them: GeoJSON, with their places in the image as properties."""
    return {
        "type": "FeatureCollection",
        "features": [
            {
                "type": "Feature",
                "properties": {"id": str(number), "info": "", "row": point.row, "col": point.column},
                "geometry": {"type": "Point", "coordinates": [point.x, point.y, point.z]},
            }
            for number, point in enumerate(points, 1)
        ],
    }


def coordinate_attributes(crs: CRS | None, axis: Literal["x", "y"]) -> Attributes:
    """CF attributes of a coordinate variable: ``axis``, and with a CRS its standard and long name and its units."""
    name = axis.upper()
    if crs is None:
        return {"axis": name}
    return _of_crs(crs, name, _axes[name])


_remembered: dict[int, tuple[CRS, dict[str, Attributes]]] = {}


def _of_crs(crs: CRS, kind: str, build: Callable[[CRS], Attributes]) -> Attributes:
    """Return a copy of the attributes that ``build`` makes of a CRS, made once for each object.

    By the object's identity, not its equality: pyproj hashes a CRS by writing its WKT. The CRS is kept with
    them, so that its identity is not given to another.
    """
    entry = _remembered.get(id(crs))
    if entry is None or entry[0] is not crs:
        if len(_remembered) >= REMEMBERED:
            _remembered.clear()
        entry = _remembered[id(crs)] = (crs, {})
    kinds = entry[1]
    if kind not in kinds:
        kinds[kind] = build(crs)
    # a deep copy of what pyproj gives: numbers, texts, and lists of them
    return {key: [*value] if isinstance(value, list | tuple) else value for key, value in kinds[kind].items()}


def _grid_mapping(crs: CRS) -> Attributes:
    wkt = crs.to_wkt()
    try:
        attributes = cast("Attributes", crs.to_cf())
    except (ProjError, KeyError, ValueError, TypeError, AttributeError):
        attributes = {}  # a projection that CF has no name for, and pyproj no mapping
    return {**attributes, "crs_wkt": wkt, "spatial_ref": wkt}


def _proj(crs: CRS) -> Attributes:
    attributes: Attributes = {"proj:wkt2": crs.to_wkt()}
    code = _code(crs)
    return attributes if code is None else {"proj:code": code, **attributes}


def _code(crs: CRS) -> str | None:
    """The code that a definition bears itself; not one of a system that only resembles it."""
    identity = as_projjson(crs).get("id")
    return None if identity is None else f"{identity['authority']}:{identity['code']}"


def _axis(name: str) -> Callable[[CRS], Attributes]:
    def build(crs: CRS) -> Attributes:
        try:
            found = [axis for axis in cast("list[Attributes]", crs.cs_to_cf()) if axis.get("axis") == name]
        except (ProjError, KeyError, ValueError):
            found = []
        return dict(found[0]) if found else {"axis": name}

    return build


_axes: Final[dict[str, Callable[[CRS], Attributes]]] = {"X": _axis("X"), "Y": _axis("Y")}
