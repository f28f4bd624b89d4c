"""Attributes of a pyramid's root group: the Zarr convention ``multiscales``, with ``proj`` and ``spatial``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from virtual_cog._attributes import Georeference, gdal_metadata, group_attributes, own_gdal_metadata

if TYPE_CHECKING:
    from collections.abc import Sequence

    from virtual_cog._pyramid import Level
    from virtual_cog._scene import Scene

MULTISCALES_CONVENTION: Final[dict[str, str]] = {
    "schema_url": "https://raw.githubusercontent.com/zarr-conventions/multiscales/refs/tags/v0.1/schema.json",
    "spec_url": "https://github.com/zarr-conventions/multiscales/blob/v0.1/README.md",
    "uuid": "d35379db-88df-4056-af3a-620245f8e347",
    "name": "multiscales",
    "description": "Multiscale layout of zarr datasets",
}
"""Its entry of ``zarr_conventions``, as version 0.1 has it."""

RESAMPLING_NAMES: Final = {"cubicspline": "cubic_spline"}
"""The convention's names of resampling methods where they are not GDAL's in small letters."""


def pyramid_attributes(levels: Sequence[Level], places: Sequence[Georeference]) -> dict[str, Any]:
    """Attributes of the group that holds the groups of ``levels``, whose georeferences are ``places``.

    The layout names each level's group and, for an overview, that it is derived from the full image, with
    the size of its pixels in those of the full image as ``scale`` (rows, columns). No ``translation`` but 0: the
    outer corners of all levels are the same place. Levels with a transform carry it, and their shape, as the
    convention ``spatial`` has them.
    """
    full = levels[0].scene
    attributes = group_attributes(full, places[0])
    conventions: list[dict[str, str]] = [dict(MULTISCALES_CONVENTION), *attributes.pop("zarr_conventions", [])]
    layout: list[dict[str, Any]] = []
    for level, geo in zip(levels, places, strict=True):
        image = level.scene.image
        entry: dict[str, Any] = {"asset": str(level.number)}
        if level.scene is not full:
            entry["derived_from"] = str(levels[0].number)
            method = _resampling(level.scene)
            if method:
                entry["resampling_method"] = method
        scale = [full.image.height / image.height, full.image.width / image.width]
        entry["transform"] = {"scale": scale, "translation": [0.0, 0.0]}
        if geo.transform is not None:
            entry["spatial:shape"] = [image.height, image.width]
            entry["spatial:transform"] = list(geo.transform.to_affine())
        layout.append(entry)
    return {"zarr_conventions": conventions, "multiscales": {"layout": layout}, **attributes}


def _resampling(overview: Scene) -> str | None:
    """How GDAL says that an overview was made: in its own metadata (gdaladdo), or the full image's (COG driver)."""
    name = own_gdal_metadata(overview).band(0).items.get("RESAMPLING")
    if name is None:
        name = gdal_metadata(overview).domains.get("IMAGE_STRUCTURE", {}).get("OVERVIEW_RESAMPLING")
    return None if name is None else RESAMPLING_NAMES.get(name.lower(), name.lower())
