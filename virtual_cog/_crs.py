"""The coordinate reference system that the GeoKeys of a file name or describe (OGC 19-008 sections 7.4 and 7.5)."""

from __future__ import annotations

import warnings
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from pyproj.exceptions import ProjError

from tiff_codecs.errors import TiffWarning
from virtual_cog._geographic import geocentric_crs, geographic_crs, with_shift
from virtual_cog._geokeys import GeoKeys
from virtual_cog._projected import linear_unit, projected_crs
from virtual_cog._vertical import with_heights

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyproj import CRS

    from virtual_cog._geokeys import GeoKeyValue

GEOGRAPHIC: Final = 2
"""Values of GTModelTypeGeoKey (1024); 1 is projected."""
GEOCENTRIC: Final = 3


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
        None when the keys describe no system that relates to the Earth: there are none, or only a name, or
        they are not something that PROJ knows (then with a warning).

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
    return None if horizontal is None else with_heights(horizontal, keys, problems)
