"""The facts of a TIFF file as values: what :func:`virtual_cog._info.describe` returns, and its form in JSON."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, is_dataclass
from typing import TYPE_CHECKING, Any, Final, Literal

if TYPE_CHECKING:
    from virtual_cog._cog_rules import CogInfo

SCHEMA: Final = "virtual-cog info"
SCHEMA_VERSION: Final = 1
"""Rises when a key of :meth:`FileInfo.to_dict` changes its meaning or goes; new keys may come without."""

type Role = Literal["image", "overview", "mask", "sub-ifd"]


@dataclass(frozen=True, slots=True, kw_only=True)
class IfdInfo:
    """One IFD. Where it does not describe an image, all from :attr:`main` to :attr:`decoder` is None."""

    index: int
    """What ``read``, ``open_store`` and ``COGParser`` take as ``ifd``."""
    offset: int
    """Where its table begins, in bytes."""
    role: Role
    """``sub-ifd``: below another IFD, and neither its overview nor its mask."""
    parent: int | None
    """The IFD that has this one among its SubIFDs."""
    main: int | None = None
    """The full-resolution image that this is an overview or mask of; :attr:`index` itself for any other."""
    width: int | None = None
    height: int | None = None
    bands: int | None = None
    depth: int | None = None
    """Slices of a volume; 1 for any other image."""
    dtype: str | None = None
    """NumPy's name of the type pixels are read as; None when there is no such type."""
    bits_per_sample: tuple[int, ...] | None = None
    """One number, or one a band when they differ."""
    tiled: bool | None = None
    """False: strips, which are as wide as the image."""
    tile_width: int | None = None
    tile_height: int | None = None
    tile_count: int | None = None
    missing_tiles: int | None = None
    """Tiles without bytes, which read as nodata or 0; None when the tile table is damaged."""
    compression: int | None = None
    compression_name: str | None = None
    predictor: int | None = None
    planar: bool | None = None
    """Each band in tiles of its own; False: pixel-interleaved ("chunky")."""
    photometric: int | None = None
    photometric_name: str | None = None
    nodata: float | None = None
    """The value that means "no data", where pixels can have it."""
    nodata_text: str | None = None
    """GDAL_NODATA as the file has it."""
    pixel_bytes: int | None = None
    """Bytes of the pixels without compression, without the rims of tiles."""
    stored_bytes: int | None = None
    """Bytes of all tiles in the file; None when the tile table is damaged."""
    decoder: Literal["gpu", "cpu"] | None = None
    """What decodes the tiles on this machine."""
    reason: str | None = None
    """Why nothing does."""
    damage: str | None = None
    """What is wrong with the IFD."""

    @property
    def ratio(self) -> float | None:
        """Bytes of the pixels for each byte stored."""
        return self.pixel_bytes / self.stored_bytes if self.pixel_bytes and self.stored_bytes else None

    def to_dict(self) -> dict[str, Any]:
        """Every field and :attr:`ratio`, as JSON has them."""
        return {field.name: _plain(getattr(self, field.name)) for field in fields(self)} | {"ratio": self.ratio}


@dataclass(frozen=True, slots=True)
class CrsInfo:
    """A coordinate reference system."""

    name: str
    epsg: int | None
    wkt: str
    """WKT 2 (ISO 19162)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileInfo:
    """A TIFF file. Georeferencing is that of its first image."""

    url: str
    size: int
    """Bytes."""
    bigtiff: bool
    byte_order: Literal["little", "big"]
    cog: CogInfo
    crs: CrsInfo | None
    transform: tuple[float, float, float, float, float, float] | None
    """In GDAL's order: ``x = t[0] + t[1] * column + t[2] * row``, ``y = t[3] + t[4] * column + t[5] * row``."""
    bounds: tuple[float, float, float, float] | None
    """xmin, ymin, xmax, ymax."""
    resolution: tuple[float, float] | None
    """Width and height of a pixel in the units of the CRS."""
    gcp_count: int
    """Ground control points, which stand in for a transform."""
    ifds: tuple[IfdInfo, ...]
    damage: tuple[str, ...]
    """All that is wrong with the file, by IFD or behind the last that could be read; empty for a sound one."""

    def to_dict(self) -> dict[str, Any]:
        """The same as plain lists and dicts, for ``json.dumps(..., allow_nan=False)``.

        The keys are the names of the fields of :class:`FileInfo`, :class:`CogInfo`, :class:`CrsInfo` and
        :class:`IfdInfo`, with ``schema`` and ``schema_version`` in front, and ``ratio`` for each IFD. All keys
        are always there; None where a fact is not known. Numbers that JSON has not are ``"nan"``, ``"inf"``
        and ``"-inf"``.
        """
        facts = {field.name: _plain(getattr(self, field.name)) for field in fields(self)}
        return {"schema": SCHEMA, "schema_version": SCHEMA_VERSION} | facts


def _plain(value: Any) -> Any:  # noqa: ANN401 - JSON
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, IfdInfo):
        return value.to_dict()
    if is_dataclass(value):
        return {field.name: _plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, tuple | list):
        return [_plain(item) for item in value]  # type: ignore[misc]
    return value
