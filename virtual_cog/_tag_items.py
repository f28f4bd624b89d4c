"""Tags of TIFF 6.0 that describe an image, and how it is stored, as GDAL's items of metadata."""

from __future__ import annotations

import datetime as dt
import re
from typing import TYPE_CHECKING, Final

import numpy as np

from virtual_cog._scene import metadata_values
from virtual_cog._tags import Tag

if TYPE_CHECKING:
    from virtual_cog._image import Image
    from virtual_cog._scene import Scene

TEXT_TAGS: Final = {
    Tag.DocumentName: "TIFFTAG_DOCUMENTNAME",
    Tag.ImageDescription: "TIFFTAG_IMAGEDESCRIPTION",
    Tag.Software: "TIFFTAG_SOFTWARE",
    Tag.DateTime: "TIFFTAG_DATETIME",
    Tag.Artist: "TIFFTAG_ARTIST",
    Tag.HostComputer: "TIFFTAG_HOSTCOMPUTER",
    Tag.Copyright: "TIFFTAG_COPYRIGHT",
}
RESOLUTION_TAGS: Final = {Tag.XResolution: "TIFFTAG_XRESOLUTION", Tag.YResolution: "TIFFTAG_YRESOLUTION"}
SHORT_TAGS: Final = {
    Tag.ResolutionUnit: "TIFFTAG_RESOLUTIONUNIT",
    Tag.MinSampleValue: "TIFFTAG_MINSAMPLEVALUE",
    Tag.MaxSampleValue: "TIFFTAG_MAXSAMPLEVALUE",
}
"""GDAL's names of tags."""

RESOLUTION_UNITS: Final = {1: "1 (unitless)", 2: "2 (pixels/inch)", 3: "3 (pixels/cm)"}

COMPRESSIONS: Final = {
    2: "CCITTRLE",
    3: "CCITTFAX3",
    4: "CCITTFAX4",
    5: "LZW",
    6: "OJPEG",
    7: "JPEG",
    8: "DEFLATE",
    32766: "NEXT",
    32771: "CCITTRLEW",
    32773: "PACKBITS",
    32809: "THUNDERSCAN",
    32908: "PIXARFILM",
    32909: "PIXARLOG",
    32946: "DEFLATE",
    32947: "DCS",
    34661: "JBIG",
    34676: "SGILOG",
    34677: "SGILOG24",
    34712: "JP2000",
    34887: "LERC",
    34925: "LZMA",
    50000: "ZSTD",
    50001: "WEBP",
    50002: "JXL",
    52546: "JXL",
}
"""GDAL's names of compressions; none for bytes as they are."""

LERC_NAMES: Final = {1: "LERC_DEFLATE", 2: "LERC_ZSTD"}
PREDICTORS_COUNT: Final = ("LZW", "DEFLATE", "ZSTD")
"""Compressions whose predictor GDAL tells."""

_DATE: Final = re.compile(r"\s*(\d{4})[:\-/](\d\d)[:\-/](\d\d)[ T](\d\d):(\d\d):(\d\d)\s*", re.ASCII)


def tag_items(scene: Scene) -> dict[str, str]:
    """The items that GDAL makes of the scene's own tags: texts, the resolution of prints, the range of samples."""
    ifd = scene.ifd
    found: dict[str, str] = {}
    for tag, name in TEXT_TAGS.items():
        if tag in ifd and (text := scene.text(tag)):
            found[name] = text
    for tag, name in RESOLUTION_TAGS.items():
        if tag in ifd and (values := metadata_values(ifd, tag)) is not None and values.size:
            number = float(np.float32(values[0]))
            found[name] = f"{number if np.isfinite(number) else 0.0:.8g}"  # a quotient by 0 is 0 to libtiff
    for tag, name in SHORT_TAGS.items():
        if tag in ifd and (values := metadata_values(ifd, tag)) is not None and values.size:
            value = int(values[0]) if np.isfinite(values[0]) else 0
            found[name] = RESOLUTION_UNITS.get(value, str(value)) if tag == Tag.ResolutionUnit else str(value)
    return found


def iso_date(text: str | None) -> str | None:
    """The text of DateTime, ``YYYY:MM:DD HH:MM:SS``, as ISO 8601 has it; None where it is no date.

    TIFF 6.0 does not say in which zone, so neither does the result.
    """
    match = _DATE.fullmatch((text or "")[:40])
    if match is None:
        return None
    try:
        return dt.datetime(*map(int, match.groups())).isoformat()  # type: ignore[arg-type]  # noqa: DTZ001
    except ValueError:
        return None


def image_structure(image: Image) -> dict[str, str]:
    """How the image is stored, as GDAL's domain IMAGE_STRUCTURE has it; NBITS, which it gives by band, among it.

    Without what only the pixels' own bytes tell: the quality of a JPEG, whether a WebP is lossless.
    """
    found = {"INTERLEAVE": "PIXEL" if image.bands > 1 and not image.planar else "BAND"}
    name = COMPRESSIONS.get(image.compression)
    if name == "JPEG" and image.photometric == 6:
        name = "YCbCr JPEG"
    elif name == "LERC":
        name = LERC_NAMES.get(image.lerc_compression, name)
    if name is not None:
        found["COMPRESSION"] = name
    if name in PREDICTORS_COUNT and image.predictor in (2, 3):
        found["PREDICTOR"] = str(image.predictor)
    bits = image.bits_per_sample[0]
    if bits % 8 or bits == 24:
        found["NBITS"] = str(bits)
    if image.photometric == 0:
        found["MINISWHITE"] = "YES"
    if image.photometric == 6:
        found["SOURCE_COLOR_SPACE"] = "YCbCr"
    if 1 in image.extra_samples:
        found["ALPHA"] = "PREMULTIPLIED"
    return found
