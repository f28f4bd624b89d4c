"""What GeoTIFF's citation keys (1026, 2049, 3073) carry besides a name: fields, and whole definitions in WKT.

GDAL writes fields as ``GCS Name = unknown|Datum = D_X|Ellipsoid = GRS_1980|Primem = Greenwich|``, ERDAS IMAGINE as
lines of its own text, and Esri (GDAL too, for projections that GeoTIFF has no code for) puts WKT
behind ``ESRI PE String = ``.
"""

from __future__ import annotations

import re
from typing import Final

FIELDS: Final[dict[str, str]] = {
    "pcs name": "projected",
    "projection name": "projected",
    "projection": "projected",
    "prj name": "projected",
    "gcs name": "geographic",
    "datum": "datum",
    "ellipsoid": "ellipsoid",
    "primem": "prime_meridian",
    "lunits": "linear_unit",
    "units": "linear_unit",
    "aunits": "angular_unit",
}
"""The fields' names in files, and here."""

US_SURVEY_FOOT: Final = 1200 / 3937

LINEAR_UNITS: Final[dict[str, float]] = {
    "meters": 1.0,
    "meter": 1.0,
    "metre": 1.0,
    "m": 1.0,
    "kilometers": 1000.0,
    "kilometer": 1000.0,
    "km": 1000.0,
    "centimeters": 0.01,
    "centimeter": 0.01,
    "cm": 0.01,
    "millimeters": 0.001,
    "millimeter": 0.001,
    "mm": 0.001,
    "us_survey_feet": US_SURVEY_FOOT,
    "us_survey_foot": US_SURVEY_FOOT,
    "feet": US_SURVEY_FOOT,  # IMAGINE's feet are American
    "foot": US_SURVEY_FOOT,
    "ft": US_SURVEY_FOOT,
    "international_feet": 0.3048,
    "international_foot": 0.3048,
    "yards": 0.9144,
    "yard": 0.9144,
    "yd": 0.9144,
    "miles": 1609.344,
    "mile": 1609.344,
    "mi": 1609.344,
}
"""IMAGINE's names of units, in metres."""

_WKT: Final = re.compile(
    r"\b(?:PROJCS|GEOGCS|GEOCCS|COMPD_CS|PROJCRS|GEOGCRS|GEODCRS|COMPOUNDCRS|BOUNDCRS)\s*\[", re.IGNORECASE
)


def citation_fields(text: str) -> dict[str, str]:
    """Return the fields of a citation by the names that :data:`FIELDS` gives them; none for a plain name."""
    found: dict[str, str] = {}
    for piece in re.split(r"[|\n\r]", text):
        name, equals, value = piece.partition("=")
        field = FIELDS.get(name.strip().lower())
        if equals and field and value.strip():
            found.setdefault(field, value.strip())
    return found


def citation_wkt(text: str) -> str | None:
    """Return the WKT of a coordinate reference system that stands in a citation, from its keyword to its bracket."""
    start = _WKT.search(text)
    if start is None:
        return None
    depth, quoted = 0, False
    for at in range(start.start(), len(text)):
        character = text[at]
        if character == '"':
            quoted = not quoted
        elif not quoted and character == "[":
            depth += 1
        elif not quoted and character == "]":
            depth -= 1
            if depth == 0:
                return text[start.start() : at + 1]
    return None  # cut short
