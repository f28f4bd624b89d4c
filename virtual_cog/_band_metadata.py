"""What GDAL_METADATA says of bands, as attributes of the one array that holds them all."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, Final

from tiff_codecs.errors import TiffWarning

if TYPE_CHECKING:
    from collections.abc import Mapping

    from virtual_cog._gdal_metadata import GdalMetadata

TAKEN_NAMES: Final = frozenset(
    (
        "_FillValue", "missing_value", "scale_factor", "add_offset", "_Unsigned", "units", "calendar", "dtype",
        "coordinates", "grid_mapping", "valid_min", "valid_max", "valid_range", "flag_values", "flag_masks",
        "_ARRAY_DIMENSIONS", "long_name", "colorinterp", "colormap", "icc_profile_size",
    )
)  # fmt: skip
"""Attributes that xarray acts upon, or that have a meaning here: an item that happens to have the name must not."""

MOST_VALUES: Final = 2**20
"""Values of bands' items that are written out: a small file may name many items, and many bands."""


def as_attributes(items: Mapping[str, Any]) -> dict[str, Any]:
    """Items under their names; under ``GDAL_`` and the name where that is taken."""
    return {f"GDAL_{name}" if name in TAKEN_NAMES else name: value for name, value in items.items()}


def band_items(metadata: GdalMetadata, bands: int) -> dict[str, Any]:
    """Metadata items of the bands: one value where all have the same, else a list with "" for those that have none."""
    each = [metadata.band(index).items for index in range(bands)]
    names = dict.fromkeys(name for items in each for name in items)
    if len(names) * bands > MOST_VALUES:
        warnings.warn(f"left out: {len(names)} items of metadata for each of {bands} bands", TiffWarning, stacklevel=3)
        return {}
    found: dict[str, Any] = {}
    for name in names:
        values = [items.get(name, "") for items in each]
        found[name] = values[0] if len(set(values)) == 1 else values
    return as_attributes(found)


def band_descriptions(metadata: GdalMetadata, bands: int) -> dict[str, Any]:
    """What bands say of themselves: one value where all agree, a list where they differ.

    Only what all bands share becomes CF's ``scale_factor`` and ``add_offset``, which readers apply to
    the whole array.
    """
    each = [metadata.band(index) for index in range(bands)]
    found: dict[str, Any] = {}
    for one, many, values, neutral in (
        ("scale_factor", "scales", [1.0 if b.scale is None else b.scale for b in each], 1.0),
        ("add_offset", "offsets", [0.0 if b.offset is None else b.offset for b in each], 0.0),
        ("long_name", "long_names", [b.description or "" for b in each], ""),
        ("units", "band_units", [b.unit or "" for b in each], ""),
    ):
        if all(value == neutral for value in values):
            continue
        if len(set(values)) == 1:
            found[one] = values[0]
        else:
            found["long_name" if one == "long_name" else many] = values
    return found


def band_domains(metadata: GdalMetadata, bands: int) -> dict[str, dict[str, dict[str, str]]]:
    """Metadata items of the bands in other domains than the default one, by the bands' numbers, from 1 on."""
    each = {index: metadata.bands[index].domains for index in metadata.bands if index < bands}
    return {str(index + 1): _copied(domains) for index, domains in each.items() if domains}


def file_domains(metadata: GdalMetadata, own: Mapping[str, Mapping[str, str]]) -> dict[str, dict[str, str]]:
    """Metadata items of the file in other domains than the default one; those that other tags give count more."""
    found = _copied(metadata.domains)
    for domain, items in own.items():
        found[domain] = {**found.get(domain, {}), **items}
    return found


def _copied(domains: Mapping[str, Mapping[str, str]]) -> dict[str, dict[str, str]]:
    """The domains; the one document of a domain ``xml:...`` under that name, as rasterio has it, not GDAL's "doc"."""
    return {
        domain: {domain: next(iter(items.values()))} if domain.startswith("xml:") and len(items) == 1 else dict(items)
        for domain, items in domains.items()
    }
