"""The GeoTIFF keys (OGC 19-008, GeoTIFF 1.1, section 7.1): three TIFF tags unfolded into numbers and texts.

GeoKeyDirectoryTag (34735) is a header of four 16-bit numbers and four more for every key: its
code, the tag its value lies in (0: the fourth number is the value), the count, and the value or its
index in that tag. Numbers lie in GeoDoubleParamsTag (34736), texts in GeoAsciiParamsTag (34737).
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Final

import numpy as np

from tiff_codecs.errors import TiffWarning

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

type GeoKeyValue = int | float | str | tuple[float, ...]

DIRECTORY_TAG: Final = 34735
DOUBLES_TAG: Final = 34736
ASCII_TAG: Final = 34737

USER_DEFINED: Final = 32767
"""The code that says: not one of the registry's, the other keys describe it."""

PIXEL_IS_POINT: Final = 2
"""The value of GTRasterTypeGeoKey (1025) with which coordinates are those of pixel centres."""

GEO_KEYS: Final[dict[int, str]] = {
    1024: "GTModelTypeGeoKey",
    1025: "GTRasterTypeGeoKey",
    1026: "GTCitationGeoKey",
    2048: "GeodeticCRSGeoKey",
    2049: "GeodeticCitationGeoKey",
    2050: "GeodeticDatumGeoKey",
    2051: "PrimeMeridianGeoKey",
    2052: "GeogLinearUnitsGeoKey",
    2053: "GeogLinearUnitSizeGeoKey",
    2054: "GeogAngularUnitsGeoKey",
    2055: "GeogAngularUnitSizeGeoKey",
    2056: "EllipsoidGeoKey",
    2057: "EllipsoidSemiMajorAxisGeoKey",
    2058: "EllipsoidSemiMinorAxisGeoKey",
    2059: "EllipsoidInvFlatteningGeoKey",
    2060: "GeogAzimuthUnitsGeoKey",
    2061: "PrimeMeridianLongitudeGeoKey",
    2062: "GeogTOWGS84GeoKey",  # GDAL's and libgeotiff's; the standard has none
    3072: "ProjectedCRSGeoKey",
    3073: "ProjectedCitationGeoKey",
    3074: "ProjectionGeoKey",
    3075: "ProjMethodGeoKey",
    3076: "ProjLinearUnitsGeoKey",
    3077: "ProjLinearUnitSizeGeoKey",
    3078: "ProjStdParallel1GeoKey",
    3079: "ProjStdParallel2GeoKey",
    3080: "ProjNatOriginLongGeoKey",
    3081: "ProjNatOriginLatGeoKey",
    3082: "ProjFalseEastingGeoKey",
    3083: "ProjFalseNorthingGeoKey",
    3084: "ProjFalseOriginLongGeoKey",
    3085: "ProjFalseOriginLatGeoKey",
    3086: "ProjFalseOriginEastingGeoKey",
    3087: "ProjFalseOriginNorthingGeoKey",
    3088: "ProjCenterLongGeoKey",
    3089: "ProjCenterLatGeoKey",
    3090: "ProjCenterEastingGeoKey",
    3091: "ProjCenterNorthingGeoKey",
    3092: "ProjScaleAtNatOriginGeoKey",
    3093: "ProjScaleAtCenterGeoKey",
    3094: "ProjAzimuthAngleGeoKey",
    3095: "ProjStraightVertPoleLongGeoKey",
    3096: "ProjRectifiedGridAngleGeoKey",
    4096: "VerticalGeoKey",
    4097: "VerticalCitationGeoKey",
    4098: "VerticalDatumGeoKey",
    4099: "VerticalUnitsGeoKey",
    5120: "CoordinateEpochGeoKey",  # GDAL's; the standard has none
}
"""Names of the keys by code, as GeoTIFF 1.1 has them."""


class GeoKeys(dict[int, GeoKeyValue]):
    """The keys of one file: values by code, and asked for by what they are used as."""

    revision: tuple[int, int] = (1, 1)
    """KeyRevision and MinorRevision of the directory: (1, 0) is GeoTIFF 1.0, (1, 1) GeoTIFF 1.1."""

    def code(self, key: int) -> int | None:
        """The registry's code under ``key``; None for no code: absent, undefined (0) or user-defined (32767)."""
        value = self.get(key)
        return value if isinstance(value, int) and value not in (0, USER_DEFINED) else None

    def is_user_defined(self, key: int) -> bool:
        """Whether ``key`` says that other keys describe what it is about."""
        return self.get(key) == USER_DEFINED

    def number(self, *keys: int) -> float | None:
        """The first of ``keys`` that has a number; of several numbers under it the first."""
        for key in keys:
            value = self.get(key)
            if isinstance(value, tuple):
                value = value[0]
            if isinstance(value, int | float):
                return float(value)
        return None

    def text(self, key: int) -> str:
        """The text under ``key`` up to its first NUL (PROJ's texts end there), or an empty one."""
        value = self.get(key)
        return value.partition("\0")[0] if isinstance(value, str) else ""


def parse_geokeys(
    directory: np.ndarray | None,
    doubles: np.ndarray | None = None,
    ascii: str | None = None,  # noqa: A002
) -> GeoKeys:
    """Unfold the GeoKey tags. A damaged key is left out, with a warning: it never makes the file unreadable.

    Args:
        directory: the numbers of GeoKeyDirectoryTag, one-dimensional, uint16.
        doubles: the numbers of GeoDoubleParamsTag, one-dimensional, float64.
        ascii: the text of GeoAsciiParamsTag.

    Returns:
        The value of each key by its code, of known and unknown keys alike: an int, a float, a text without
        its closing ``|``, or a tuple when the key holds several numbers. Of a key that is there
        twice, the last counts.

    Warns:
        TiffWarning: at most once, naming the keys that are left out and why.
    """
    if directory is None:
        return GeoKeys()
    words: list[int] = np.asarray(directory, np.uint16).ravel().tolist()
    if len(words) < 4:
        _report([f"the directory has {len(words)} numbers, not the 4 of its header"] if words else [])
        return GeoKeys()
    numbers: list[float] = [] if doubles is None else np.asarray(doubles, np.float64).ravel().tolist()
    declared, held = words[3], (len(words) - 4) // 4
    problems = [f"{declared} keys are announced, {held} are there"] if declared > held else []
    entries = [tuple(words[at : at + 4]) for at in range(4, 4 + 4 * min(declared, held), 4)]
    texts = _text_reader(ascii or "", [(at, count) for _, tag, count, at in entries if tag == ASCII_TAG])
    keys = GeoKeys()
    keys.revision = (words[1], words[2])
    for code, tag, count, at in entries:
        value: GeoKeyValue | None = None
        if tag == 0:
            value = at
        elif tag == DOUBLES_TAG:
            value = _numbers(numbers, at, count)
        elif tag == ASCII_TAG:
            value = texts(at, count)
        elif tag == DIRECTORY_TAG:
            value = _numbers(words, at, count)
        if value is None:
            name = GEO_KEYS.get(code, f"key {code}")
            problems.append(f"{name} ({code}) points to {count} values from {at} of tag {tag}, which are not there")
        else:
            keys[code] = value
    _report(problems)
    return keys


def _report(problems: list[str]) -> None:
    if problems:
        warnings.warn(f"damaged GeoKeys left out: {'; '.join(problems)}", TiffWarning, stacklevel=3)


def _numbers(values: list[int] | list[float], at: int, count: int) -> float | tuple[float, ...] | None:
    if not 0 < count <= len(values) - at:
        return None
    return values[at] if count == 1 else tuple(values[at : at + count])


def _text_reader(text: str, spans: Iterable[tuple[int, int]]) -> Callable[[int, int], str | None]:
    """Choose how the texts are cut out of GeoAsciiParamsTag.

    The standard has 7-bit characters; files have UTF-8 and Latin-1 too. Offsets count bytes, and ``text`` is
    decoded: where the two differ, the view in which more texts end at a ``|`` is the right one.
    """
    if text.isascii():
        return lambda at, count: _closed(text[at : at + count]) if count and at < len(text) else None
    raw = text.encode("utf-8", "surrogateescape")
    ends = [at + count - 1 for at, count in spans]
    by_byte = sum(raw[end : end + 1] == b"|" for end in ends)
    by_character = sum(text[end : end + 1] == "|" for end in ends)
    if by_byte < by_character:
        return lambda at, count: _closed(text[at : at + count]) if count and at < len(text) else None
    return lambda at, count: (
        _closed(raw[at : at + count].decode("utf-8", "replace")) if count and at < len(raw) else None
    )


def _closed(text: str) -> str:
    """Drop the one ``|`` that ends a text, and what some writers put behind it; an inner ``|`` is the text's own."""
    return text.rstrip("\0").removesuffix("|").strip()
