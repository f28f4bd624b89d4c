"""The projection methods of ProjMethodGeoKey (3075) and their parameters, as PROJJSON conversions.

The methods and keys are those of OGC 19-008 (annex C of GeoTIFF 1.1); names and codes of methods and parameters
those of the EPSG registry. A file may have a value under any of several keys (an origin is "natural",
"false" or a "centre" by method, and writers do not agree): the first that is there counts,
in the order in which GDAL looks for it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal

if TYPE_CHECKING:
    from virtual_cog._geokeys import GeoKeys
    from virtual_cog._units import Unit

type Json = dict[str, Any]

LATITUDE: Final = (3081, 3085, 3089)
LONGITUDE: Final = (3080, 3084, 3088)
EASTING: Final = (3082, 3090, 3086)
NORTHING: Final = (3083, 3091, 3087)
SCALE: Final = (3092, 3093)


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter: EPSG's code and name, and where its value lies in a file."""

    code: int
    name: str
    kind: Literal["angle", "length", "scale"]
    keys: tuple[int, ...]
    default: float = 0.0

    def json(self, keys: GeoKeys, unit: Json | str) -> Json:
        """This parameter with its value in ``keys``, in PROJJSON."""
        found = keys.number(*self.keys)
        value = self.default if found is None else found
        return {"name": self.name, "value": value, "unit": unit, "id": {"authority": "EPSG", "code": self.code}}


LAT = Parameter(8801, "Latitude of natural origin", "angle", LATITUDE)
LON = Parameter(8802, "Longitude of natural origin", "angle", LONGITUDE)
K = Parameter(8805, "Scale factor at natural origin", "scale", SCALE, 1.0)
K_NATURAL = Parameter(8805, "Scale factor at natural origin", "scale", (3092,), 1.0)
FE = Parameter(8806, "False easting", "length", EASTING)
FN = Parameter(8807, "False northing", "length", NORTHING)
LAT_CENTRE = Parameter(8811, "Latitude of projection centre", "angle", LATITUDE)
LON_CENTRE = Parameter(8812, "Longitude of projection centre", "angle", LONGITUDE)
AZIMUTH = Parameter(8813, "Azimuth at projection centre", "angle", (3094,))
GRID_ANGLE = Parameter(8814, "Angle from Rectified to Skew Grid", "angle", (3096,), 90.0)
K_CENTRE = Parameter(8815, "Scale factor at projection centre", "scale", SCALE, 1.0)
E_CENTRE = Parameter(8816, "Easting at projection centre", "length", EASTING)
N_CENTRE = Parameter(8817, "Northing at projection centre", "length", NORTHING)
LAT_FALSE = Parameter(8821, "Latitude of false origin", "angle", LATITUDE)
LON_FALSE = Parameter(8822, "Longitude of false origin", "angle", LONGITUDE)
PARALLEL_1 = Parameter(8823, "Latitude of 1st standard parallel", "angle", (3078,))
PARALLEL_2 = Parameter(8824, "Latitude of 2nd standard parallel", "angle", (3079,))
E_FALSE = Parameter(8826, "Easting at false origin", "length", EASTING)
N_FALSE = Parameter(8827, "Northing at false origin", "length", NORTHING)
POLE_LAT = Parameter(8801, "Latitude of natural origin", "angle", (*LATITUDE, 3078))
POLE_LON = Parameter(8802, "Longitude of natural origin", "angle", (3095, *LONGITUDE))
POLE_PARALLEL = Parameter(8832, "Latitude of standard parallel", "angle", (*LATITUDE, 3078))
POLE_ORIGIN = Parameter(8833, "Longitude of origin", "angle", (3095, *LONGITUDE))

type Method = tuple[int | None, str, tuple[Parameter, ...]]

_FALSE_ORIGIN = (LAT_FALSE, LON_FALSE, PARALLEL_1, PARALLEL_2, E_FALSE, N_FALSE)
_CENTRE = (LAT_CENTRE, LON_CENTRE, AZIMUTH)

MERCATOR_A: Final[Method] = (9804, "Mercator (variant A)", (LAT, LON, K, FE, FN))
MERCATOR_B: Final[Method] = (9805, "Mercator (variant B)", (PARALLEL_1, LON, FE, FN))
POLAR_A: Final[Method] = (9810, "Polar Stereographic (variant A)", (POLE_LAT, POLE_LON, K, FE, FN))
POLAR_B: Final[Method] = (9829, "Polar Stereographic (variant B)", (POLE_PARALLEL, POLE_ORIGIN, FE, FN))

EQUIDISTANT: Final[Method] = (1028, "Equidistant Cylindrical", (PARALLEL_1, LON, FE, FN))

MERCATOR: Final = 7

METHODS: Final[dict[int, Method]] = {
    1: (9807, "Transverse Mercator", (LAT, LON, K, FE, FN)),
    3: (9812, "Hotine Oblique Mercator (variant A)", (*_CENTRE, GRID_ANGLE, K_CENTRE, FE, FN)),
    4: (9813, "Laborde Oblique Mercator", (*_CENTRE, K_CENTRE, FE, FN)),
    MERCATOR: MERCATOR_A,
    8: (9802, "Lambert Conic Conformal (2SP)", _FALSE_ORIGIN),
    9: (9801, "Lambert Conic Conformal (1SP)", (LAT, LON, K, FE, FN)),
    10: (9820, "Lambert Azimuthal Equal Area", (LAT, LON, FE, FN)),
    11: (9822, "Albers Equal Area", _FALSE_ORIGIN),
    12: (None, "Azimuthal Equidistant", (LAT, LON, FE, FN)),
    13: (None, "Equidistant Conic", _FALSE_ORIGIN),
    14: (None, "Stereographic", (LAT, LON, K_NATURAL, FE, FN)),
    15: POLAR_A,
    16: (9809, "Oblique Stereographic", (LAT, LON, K, FE, FN)),
    17: EQUIDISTANT,
    18: (9806, "Cassini-Soldner", (LAT, LON, FE, FN)),
    19: (None, "Gnomonic", (LAT, LON, FE, FN)),
    20: (None, "Miller Cylindrical", (LON, FE, FN)),
    21: (9840, "Orthographic", (LAT, LON, FE, FN)),
    22: (9818, "American Polyconic", (LAT, LON, FE, FN)),
    23: (None, "Robinson", (LON, FE, FN)),
    24: (None, "Sinusoidal", (LON, FE, FN)),
    25: (None, "Van Der Grinten", (LON, FE, FN)),
    26: (9811, "New Zealand Map Grid", (LAT, LON, FE, FN)),
    27: (9808, "Transverse Mercator (South Orientated)", (LAT, LON, K, FE, FN)),
    28: (9835, "Lambert Cylindrical Equal Area", (PARALLEL_1, LON, FE, FN)),
    9815: (9815, "Hotine Oblique Mercator (variant B)", (*_CENTRE, GRID_ANGLE, K_CENTRE, E_CENTRE, N_CENTRE)),
}
"""By code: EPSG's code of the method where every PROJ of use here knows it, its name, its parameters."""


def conversion(keys: GeoKeys, method: int, angle: Unit, length: Unit) -> Json | None:
    """Build the conversion of a projected CRS.

    Args:
        keys: the keys of the file.
        method: the value of ProjMethodGeoKey.
        angle: the unit of the angles in ``keys``.
        length: the unit of the false eastings and northings.

    Returns:
        PROJJSON, or None for a method that has no counterpart in PROJ.
    """
    found = _variant(keys, method, angle)
    if found is None:
        return None
    code, name, parameters = found
    units: dict[str, Json | str] = {"angle": angle.json(), "length": length.json(), "scale": "unity"}
    described: Json = {"name": name}
    if code is not None:
        described["id"] = {"authority": "EPSG", "code": code}
    return {"name": "unnamed", "method": described, "parameters": [p.json(keys, units[p.kind]) for p in parameters]}


def _variant(keys: GeoKeys, method: int, angle: Unit) -> Method | None:
    """Tell apart the variants that EPSG numbers separately and GeoTIFF does not.

    Returns:
        None where no variant has all the parameters that the keys give.
    """
    found = METHODS.get(method)
    latitude = keys.number(*LATITUDE) or 0.0
    if found is MERCATOR_A and keys.number(3078) is not None:
        code, name, parameters = MERCATOR_B
        # an origin is not among EPSG's parameters of this variant; GDAL writes it, and PROJ takes it
        return (code, name, (*parameters, LAT)) if latitude else MERCATOR_B
    if found is MERCATOR_A and latitude:
        return None
    if found is EQUIDISTANT and latitude:
        code, name, parameters = EQUIDISTANT
        return (code, name, (*parameters, LAT))
    if found is POLAR_A:
        if (keys.number(*SCALE) or 1.0) == 1:
            return POLAR_B
        pole = abs(keys.number(*POLE_LAT.keys) or 0.0) * angle.size
        return POLAR_A if math.isclose(pole, math.pi / 2, rel_tol=1e-9) else None
    return found


def axis_directions(operation: Json) -> tuple[str, str]:
    """Where the easting and the northing of a conversion grow: south (or north) both, around a pole."""
    method = operation["method"]["name"]
    if method == METHODS[27][1]:
        return ("west", "south")
    if method in (POLAR_A[1], POLAR_B[1]):
        away = "south" if operation["parameters"][0]["value"] > 0 else "north"
        return (away, away)
    return ("east", "north")
