"""Units of lengths and angles: EPSG's codes in the GeoKeys, and PROJJSON's objects."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from typing import Any, Final, Literal

from pyproj.database import get_units_map

type Json = dict[str, Any]
type Kind = Literal["linear", "angular"]


@dataclass(frozen=True, slots=True)
class Unit:
    """A unit: its name, its size in metres or radians, and EPSG's code, None for one that is not registered."""

    kind: Kind
    name: str
    size: float
    code: int | None = None

    def json(self) -> Json:
        """This unit in PROJJSON."""
        kind = "LinearUnit" if self.kind == "linear" else "AngularUnit"
        found: Json = {"type": kind, "name": self.name, "conversion_factor": self.size}
        if self.code is not None:
            found["id"] = {"authority": "EPSG", "code": self.code}
        return found


METRE: Final = Unit("linear", "metre", 1.0, 9001)
DEGREE: Final = Unit("angular", "degree", math.pi / 180, 9122)

_USUAL: Final[dict[int, Unit]] = {
    9001: METRE,
    9002: Unit("linear", "foot", 0.3048, 9002),
    9003: Unit("linear", "US survey foot", 12 / 39.37, 9003),
    9101: Unit("angular", "radian", 1.0, 9101),
    9102: DEGREE,  # 9102 and 9122 are the same degree, of users and of suppliers
    9105: Unit("angular", "grad", math.pi / 200, 9105),
    9122: DEGREE,
    # written in degrees and parts of them: files have decimal degrees under these codes all the same
    9107: DEGREE,
    9108: DEGREE,
    9110: DEGREE,
}


def unit(kind: Kind, code: int) -> Unit | None:
    """Return the unit that EPSG has under ``code``, or None when there is none of that kind."""
    found = _USUAL.get(code) or _registered(kind).get(code)
    return found if found is not None and found.kind == kind else None


@cache
def _registered(kind: Kind) -> dict[int, Unit]:
    units = get_units_map(auth_name="EPSG", category=kind, allow_deprecated=True).values()
    return {
        int(found.code): Unit(kind, found.name, found.conv_factor, int(found.code))
        for found in units
        if found.conv_factor > 0
    }
