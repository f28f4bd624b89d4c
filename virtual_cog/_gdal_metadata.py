"""GDAL_METADATA (tag 42112): names and values, for the file, for single bands, and in domains, as XML.

<GDALMetadata>
  <Item name="ACQUIRED">2026-11-30</Item>
  <Item name="SCALE" sample="0" role="scale">0.0001</Item>
  <Item name="BANDS" domain="SENSOR">13</Item>
</GDALMetadata>
"""

from __future__ import annotations

import math
import re
import warnings
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Final
from xml.etree import ElementTree as ET

from tiff_codecs.errors import TiffWarning

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

MOST_REMEMBERED: Final = 64 * 1024
"""Characters of a text that is remembered."""

MAX_BAND: Final = 65_535
"""The largest ``sample`` GDAL takes."""

_ENTITIES: Final = {"amp": "&", "lt": "<", "gt": ">", "quot": '"', "apos": "'"}
_ESCAPE: Final = re.compile(r"&(?:(amp|lt|gt|quot|apos)|#(?:x([0-9a-fA-F]{1,6})|(\d{1,7})));")
_DECLARATION: Final = re.compile(r"<!\s*(?:DOCTYPE|ENTITY|ELEMENT|ATTLIST|NOTATION)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class BandMetadata:
    """What the tag says of one band."""

    items: Mapping[str, str] = field(default_factory=dict[str, str])
    """Names and values of the default domain."""
    domains: Mapping[str, Mapping[str, str]] = field(default_factory=dict[str, dict[str, str]])
    scale: float | None = None
    """The value is ``pixel * scale + offset``."""
    offset: float | None = None
    description: str | None = None
    unit: str | None = None
    colorinterp: str | None = None
    """GDAL's word for what the band shows, as the file has it: ``Red``, ``Alpha``, ``Undefined``."""


@dataclass(frozen=True, slots=True)
class GdalMetadata:
    """What the tag says."""

    items: Mapping[str, str] = field(default_factory=dict[str, str])
    """Names and values of the default domain, of the whole file."""
    domains: Mapping[str, Mapping[str, str]] = field(default_factory=dict[str, dict[str, str]])
    """The same for each other domain. Of an ``xml:`` domain the values are documents."""
    bands: Mapping[int, BandMetadata] = field(default_factory=dict[int, BandMetadata])
    """By band, counted from 0; bands that the tag does not mention are not there."""
    raw: str | None = None
    """The tag's text when it could not be read as XML; None otherwise."""

    def band(self, index: int) -> BandMetadata:
        """What the tag says of a band, counted from 0; nothing, if it does not mention it."""
        return self.bands.get(index) or BandMetadata()


type _Domains = dict[str, dict[str, str]]


@dataclass(slots=True)
class _Band:
    domains: _Domains = field(default_factory=dict[str, dict[str, str]])
    roles: dict[str, str] = field(default_factory=dict[str, str])


def parse_gdal_metadata(xml: str) -> GdalMetadata:
    """Read the XML of GDAL_METADATA. Never raises: it is no part of the pixels.

    Documents with a DOCTYPE or ENTITY declaration are not read at all: GDAL writes none, and entities that
    expand to each other fill any memory.

    Args:
        xml: the tag's text.

    Returns:
        What it says; when it is not well-formed, nothing but ``raw``.

    Warns:
        TiffWarning: the text cannot be read, or a scale or offset is not a number.
    """
    found, problem = _remembered(xml) if len(xml) <= MOST_REMEMBERED else _read(xml)
    if problem:
        warnings.warn(problem, TiffWarning, stacklevel=2)
    return found


def _read(xml: str) -> tuple[GdalMetadata, str]:
    text = xml.strip("\0 \t\r\n\ufeff")
    if not text:
        return GdalMetadata(), ""
    root = _parse(text)
    if isinstance(root, str):
        return GdalMetadata(raw=xml), f"GDAL_METADATA is left as text: {root}"
    domains: _Domains = {}
    bands: dict[int, _Band] = {}
    for name, value, domain, role, band in _items(root):
        if band is None:
            domains.setdefault(domain, {})[name] = value
        elif role in _ROLES:
            bands.setdefault(band, _Band()).roles[role] = value
        else:
            bands.setdefault(band, _Band()).domains.setdefault(domain, {})[name] = value
    problems: list[str] = []
    described = {index: _describe(index, bands[index], problems) for index in sorted(bands)}
    found = GdalMetadata(items=domains.pop("", {}), domains=domains, bands=described)
    return found, f"GDAL_METADATA: {'; '.join(problems)}" if problems else ""


_remembered = lru_cache(maxsize=64)(_read)
"""An image's text is needed for its array, for its group, and for each of its overviews."""


_ROLES: Final = frozenset(("scale", "offset", "description", "unittype", "colorinterp"))


def _parse(text: str) -> ET.Element | str:
    """Return the root element, or why there is none."""
    if _DECLARATION.search(text):
        return "it declares a document type or entities, which is not read"
    try:
        root = ET.fromstring(text)  # noqa: S314 - no declarations, so no entities to expand
    except (ET.ParseError, ValueError, RecursionError) as error:
        return f"it is not well-formed XML ({error})"
    if root.tag.lower() != "gdalmetadata":
        return f"its root element is <{root.tag[:40]}>, not <GDALMetadata>"
    return root


def _items(root: ET.Element) -> Iterator[tuple[str, str, str, str, int | None]]:
    """Yield name, value, domain, role and band (None: the whole file) of each item that GDAL takes."""
    for item in root:
        name = item.get("name")
        if item.tag.lower() != "item" or name is None or len(item):
            continue
        band = None
        if (sample := item.get("sample")) is not None:
            try:
                band = int(sample)
            except ValueError:
                continue
            if band == -1:
                band = None
            elif not 0 <= band <= MAX_BAND:
                continue
        value = _ESCAPE.sub(_unescape, (item.text or "").lstrip())
        if not value:
            continue
        yield name, value, item.get("domain", ""), item.get("role", "").lower(), band


def _unescape(match: re.Match[str]) -> str:
    """GDAL escapes a value twice; XML has undone only the second."""
    name, hexadecimal, decimal = match.groups()
    if name:
        return _ENTITIES[name]
    code = int(hexadecimal, 16) if hexadecimal else int(decimal)
    return chr(code) if code <= 0x10FFFF and not 0xD800 <= code <= 0xDFFF else match.group()


def _describe(index: int, band: _Band, problems: list[str]) -> BandMetadata:
    numbers: dict[str, float | None] = {}
    for role in ("scale", "offset"):
        text = band.roles.get(role)
        try:
            number = None if text is None else float(text.replace(",", "."))  # of a locale with a comma
        except ValueError:
            number = math.nan
        numbers[role] = number
        if number is not None and not math.isfinite(number):
            numbers[role] = None
            problems.append(f"the {role} of band {index} is not a number: {text!r}")
    return BandMetadata(
        items=band.domains.pop("", {}),
        domains=band.domains,
        scale=numbers["scale"],
        offset=numbers["offset"],
        description=band.roles.get("description"),
        unit=band.roles.get("unittype"),
        colorinterp=band.roles.get("colorinterp"),
    )
