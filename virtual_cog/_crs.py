"""The coordinate reference system that the GeoKeys of a file name or describe (OGC 19-008 sections 7.4 and 7.5)."""

from __future__ import annotations

import warnings
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from pyproj import CRS
from pyproj.exceptions import ProjError

from tiff_codecs.errors import TiffWarning
from virtual_cog._geographic import geocentric_crs, geographic_crs, with_shift
from virtual_cog._geokeys import GeoKeys
from virtual_cog._projected import linear_unit, projected_crs
from virtual_cog._units import Unit, unit
from virtual_cog._vertical import with_heights

if TYPE_CHECKING:
    from collections.abc import Mapping

    from virtual_cog._geokeys import GeoKeyValue

GEOGRAPHIC: Final = 2
"""Values of GTModelTypeGeoKey (1024); 1 is projected."""
GEOCENTRIC: Final = 3
MODELS: Final = (1, GEOGRAPHIC, GEOCENTRIC)

LONGEST_NAME: Final = 299
"""Characters of a local system's name; GDAL takes no more."""


def crs_from_geokeys(keys: Mapping[int, GeoKeyValue], *, heights: bool | None = None) -> CRS | None:
    """Return the CRS of a file with these GeoKeys.

    Codes of the EPSG registry give its own definitions; user-defined systems are built from their
    keys, or from a definition in WKT in a citation. The result is the one that GDAL reads from the file. It is
    remembered: asking again for the same keys costs a few microseconds.

    Args:
        keys: what :func:`virtual_cog._geokeys.parse_geokeys` returns.
        heights: whether a CRS of heights is joined to the horizontal one. None: when the file is of GeoTIFF 1.1, as
            in GDAL; the vertical keys of GeoTIFF 1.0 were not well defined.

    Returns:
        An engineering CRS (GDAL's LOCAL_CS) when the keys have a name for the system and nothing that relates it to
        the Earth. None when they have not even that, or are not something that PROJ knows (then with a warning).

    Warns:
        TiffWarning: at most once: the CRS cannot be built, or something had to be assumed.
    """
    if heights is None:
        heights = not isinstance(keys, GeoKeys) or keys.revision >= (1, 1)
    crs, problem = _remembered(frozenset(keys.items()), heights)
    if problem:
        warnings.warn(problem, TiffWarning, stacklevel=2)
    return crs


@lru_cache(maxsize=512)
def _remembered(items: frozenset[tuple[int, GeoKeyValue]], heights: bool) -> tuple[CRS | None, str]:  # noqa: FBT001
    problems: list[str] = []
    try:
        crs = _build(GeoKeys(items), problems)
    except (ProjError, ValueError, TypeError, LookupError, ArithmeticError) as error:
        # the keys are anything a file may hold, and PROJ refuses some of it in ways of its own
        reason = " ".join(str(error).split())
        return None, f"no coordinate reference system can be made of the GeoKeys: {reason[:300]}"
    if crs is not None and crs.is_compound and not heights:
        crs = crs.sub_crs_list[0]
    return crs, f"odd GeoKeys: {'; '.join(problems)}" if problems else ""


def _build(keys: GeoKeys, problems: list[str]) -> CRS | None:
    model = keys.code(1024)
    if model == GEOCENTRIC:
        return geocentric_crs(keys, linear_unit(keys).json(), problems)
    horizontal = None if model == GEOGRAPHIC else projected_crs(keys, problems)
    if horizontal is None and (model == GEOGRAPHIC or (model is None and keys.code(2048))):
        horizontal = with_shift(geographic_crs(keys, problems), keys)
    if horizontal is None:
        return None if model in MODELS else _local_crs(keys)
    return with_heights(horizontal, keys, problems)


def _local_crs(keys: GeoKeys) -> CRS | None:
    """A system of which there is a name alone: coordinates in some plane, as GDAL has it."""
    text = keys.text(1026) if 1026 in keys else keys.text(2049)
    if "IMAGINE GeoTIFF" in text:  # its name, version and notes, line by line
        text = text.rpartition("$")[2].removeprefix("\n").replace("\n", " ")
    if not text:
        return None
    code, size = keys.code(3076), keys.number(3077)
    length = unit("linear", code) if code is not None else None
    if length is None:
        own = size is not None and size > 0 and keys.is_user_defined(3076)
        length = Unit("linear", "unknown", size if size is not None and own else 1.0)
    axes: list[dict[str, Any]] = [
        {"name": name, "abbreviation": "", "direction": direction, "unit": length.json()}
        for name, direction in (("Easting", "east"), ("Northing", "north"))
    ]
    return CRS.from_json_dict(
        {
            "type": "EngineeringCRS",
            "name": text[:LONGEST_NAME],
            "datum": {"type": "EngineeringDatum", "name": "Unknown engineering datum"},
            "coordinate_system": {"subtype": "Cartesian", "axis": axes},
        }
    )
