"""From a scene's metadata tags to the attributes of its Zarr group and array."""

from __future__ import annotations

import base64
import json
import math
import struct
import warnings
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from tiff_codecs.errors import TiffWarning
from virtual_cog._band_metadata import as_attributes, band_descriptions, band_domains, band_items, file_domains
from virtual_cog._colors import color_interpretation, colormap
from virtual_cog._crs import crs_from_geokeys
from virtual_cog._family import size_of
from virtual_cog._gdal_metadata import BandMetadata, GdalMetadata, parse_gdal_metadata
from virtual_cog._geokeys import parse_geokeys
from virtual_cog._nodata import parse_nodata
from virtual_cog._rpc import rpcs_from_tag
from virtual_cog._scene import metadata_text
from virtual_cog._spatial import coordinate_attributes, gcps_as_geojson, geozarr_attributes, spatial_ref_attributes
from virtual_cog._tag_items import image_structure, iso_date, tag_items
from virtual_cog._tags import Tag
from virtual_cog._transform import GeoTransform, GroundControlPoint, gcps, transform_from_tags

if TYPE_CHECKING:
    import numpy as np
    from pyproj import CRS

    from virtual_cog._rpc import Rpcs
    from virtual_cog._scene import Scene

GRID_MAPPING: Final = "spatial_ref"

MOST_GCPS: Final = 2**14
"""Ground control points that are written out as attributes: no file that people have is tied down by as many."""

PLACE_TAGS: Final = (Tag.ModelPixelScale, Tag.ModelTiepoint, Tag.ModelTransformation)

RASTER_TYPE_KEY: Final = 1025
PIXEL_IS_POINT: Final = 2


@dataclass(frozen=True, slots=True)
class Georeference:
    """Where a scene lies; each part None (or empty) where the file does not say."""

    crs: CRS | None
    transform: GeoTransform | None
    gcps: tuple[GroundControlPoint, ...]
    pixel_is_point: bool | None
    """Whether coordinates in the file name pixel centres (GTRasterTypeGeoKey); the transform is of corners anyhow."""
    rpcs: Rpcs | None = None

    @property
    def is_known(self) -> bool:
        """Whether there is anything to say in a grid mapping."""
        return self.crs is not None or self.transform is not None or bool(self.gcps) or self.rpcs is not None

    def axis_attributes(self, axis: str) -> dict[str, Any]:
        """CF attributes of the coordinate ``axis``, "x" or "y"."""
        return coordinate_attributes(self.crs, axis)  # type: ignore[arg-type]

    def spatial_ref_attributes(self) -> dict[str, Any]:
        """CF grid mapping attributes, with GDAL's GeoTransform; GCPs and RPCs as texts, as rioxarray has them."""
        attributes = spatial_ref_attributes(self.crs, self.transform)
        if self.gcps:
            attributes["gcps"] = json.dumps(gcps_as_geojson(self.gcps))
        if self.rpcs is not None:
            attributes["rpcs"] = json.dumps(self.rpcs)
        return attributes


def georeference(scene: Scene) -> Georeference:
    """Read the GeoTIFF tags of a scene; an overview's grid is its main image's, scaled. Never raises on odd tags."""
    keys: dict[int, Any] = {}
    directory = scene.numbers(Tag.GeoKeyDirectory)
    if directory is not None:
        keys = parse_geokeys(directory, scene.numbers(Tag.GeoDoubleParams), scene.text(Tag.GeoAsciiParams))
    raster_type = keys.get(RASTER_TYPE_KEY)
    point = raster_type == PIXEL_IS_POINT
    tiepoints = scene.numbers(Tag.ModelTiepoint)
    transform = transform_from_tags(
        scene.numbers(Tag.ModelPixelScale),
        tiepoints,
        scene.numbers(Tag.ModelTransformation),
        pixel_is_point=point,
    )
    points = gcps(tiepoints, pixel_is_point=point) if transform is None else ()
    if len(points) > MOST_GCPS:
        warnings.warn(f"left out: {len(points)} ground control points", TiffWarning, stacklevel=2)
        points = ()
    across = down = 1.0
    if scene.main is not scene.ifd and not any(tag in scene.ifd for tag in PLACE_TAGS):
        width, height = size_of(scene.main)
        across, down = width / scene.image.width, height / scene.image.height
        if not across or not down:  # the main image is damaged: there is no telling
            transform, points, across, down = None, (), 1.0, 1.0
        points = tuple(replace(p, column=p.column / across, row=p.row / down) for p in points)
        transform = None if transform is None else transform.scaled(across, down)
    return Georeference(
        crs=crs_from_geokeys(keys) if keys else None,
        transform=transform,
        gcps=points,
        pixel_is_point=None if raster_type is None else point,
        rpcs=rpcs_from_tag(scene.numbers(Tag.RPCCoefficient), across, down),
    )


def group_attributes(scene: Scene, geo: Georeference) -> dict[str, Any]:
    """Attributes of the image's group: the Zarr conventions for geospatial data, and ground control points."""
    image = scene.image
    attributes: dict[str, Any] = {}
    if geo.is_known:
        attributes |= geozarr_attributes(geo.crs, geo.transform, (image.height, image.width))
    if geo.gcps:
        attributes["gcps"] = [[p.column, p.row, p.x, p.y, p.z] for p in geo.gcps]
    return attributes


def scene_attributes(scene: Scene) -> dict[str, Any]:
    """More attributes of the image's group: GDAL's metadata in domains, and when the file says that it was made."""
    metadata, image = gdal_metadata(scene), scene.image
    attributes: dict[str, Any] = {}
    if (date := iso_date(scene.text(Tag.DateTime))) is not None:
        attributes["date_created"] = date
    own = {"IMAGE_STRUCTURE": image_structure(image)}
    if Tag.XMP in scene.ifd and (xmp := scene.text(Tag.XMP)):
        own["xml:XMP"] = {"xml:XMP": xmp}
    attributes["gdal_domains"] = file_domains(metadata, own)
    if bands := band_domains(metadata, image.bands):
        attributes["gdal_band_domains"] = bands
    return attributes


def band_attributes(scene: Scene, geo: Georeference) -> tuple[dict[str, Any], Any]:
    """Attributes and fill value of ``band_data``: nodata, scale, names, units and colours, and what else the file says.

    Returns:
        The attributes, as ``zarr.json`` and xarray have them, and the fill value of missing tiles.
    """
    image = scene.image
    dtype = image.dtype
    attributes: dict[str, Any] = tag_items(scene)
    if geo.pixel_is_point is not None:
        attributes["AREA_OR_POINT"] = "Point" if geo.pixel_is_point else "Area"
    metadata = gdal_metadata(scene)
    if metadata.raw is not None:
        attributes["GDAL_METADATA"] = metadata.raw
    attributes |= as_attributes(metadata.items)
    attributes |= band_items(metadata, image.bands)
    attributes |= band_descriptions(metadata, image.bands)
    if geo.is_known:
        attributes["grid_mapping"] = GRID_MAPPING
    text = scene.text(Tag.GDALNodata) or ""
    nodata = parse_nodata(text, dtype)
    if nodata is not None:
        attributes["_FillValue"] = encode_fill_value(nodata)
    elif text.strip("\0 "):
        attributes["GDAL_NODATA"] = text
    transparent = int(nodata) if nodata is not None and dtype.kind == "u" else None  # type: ignore[call-overload]
    colors = colormap(image, scene.numbers(Tag.ColorMap), transparent)
    named = [metadata.band(index).colorinterp for index in range(image.bands)] if metadata.bands else ()
    attributes["colorinterp"] = color_interpretation(image, named, has_colormap=colors is not None)
    if colors is not None:
        attributes["colormap"] = colors
    if size := scene.ifd.count(Tag.ICCProfile):
        attributes["icc_profile_size"] = size
    return attributes, nodata


def mask_attributes(scene: Scene, geo: Georeference) -> dict[str, Any]:
    """Attributes of the variable ``mask``: what its numbers mean, and where it lies.

    Args:
        scene: the mask.
        geo: of the image that it masks.
    """
    attributes: dict[str, Any] = {"long_name": "transparency mask"}
    if scene.image.bits_per_sample == (1,):
        attributes |= {"flag_values": [0, 1], "flag_meanings": "masked valid"}
    if geo.is_known:
        attributes["grid_mapping"] = GRID_MAPPING
    return attributes


def own_gdal_metadata(scene: Scene) -> GdalMetadata:
    """What GDAL_METADATA says in the scene's own IFD."""
    return parse_gdal_metadata(metadata_text(scene.ifd, Tag.GDALMetadata) or "")


def gdal_metadata(scene: Scene) -> GdalMetadata:
    """What GDAL_METADATA says of a scene: an overview's adds to its main image's.

    GDAL writes no more into an overview's than how it was resampled: scale, offset and names are the main image's.
    """
    own = own_gdal_metadata(scene)
    if scene.main is scene.ifd or scene.image.is_mask:
        return own
    main = parse_gdal_metadata(metadata_text(scene.main, Tag.GDALMetadata) or "")
    return GdalMetadata(
        items={**main.items, **own.items},
        domains={**main.domains, **own.domains},
        bands={index: _merged(main.band(index), own.band(index)) for index in {*main.bands, *own.bands}},
        raw=main.raw if own.raw is None else own.raw,
    )


def _merged(main: BandMetadata, own: BandMetadata) -> BandMetadata:
    return BandMetadata(
        items={**main.items, **own.items},
        domains={**main.domains, **own.domains},
        scale=main.scale if own.scale is None else own.scale,
        offset=main.offset if own.offset is None else own.offset,
        description=main.description if own.description is None else own.description,
        unit=main.unit if own.unit is None else own.unit,
        colorinterp=main.colorinterp if own.colorinterp is None else own.colorinterp,
    )


def finite(attributes: dict[str, Any]) -> dict[str, Any]:
    """Leave out attributes with a number that JSON has not, in lists and dictionaries too: a damaged tag's mostly."""

    def has_no_number(value: Any) -> bool:  # noqa: ANN401 - JSON
        if isinstance(value, float):
            return not math.isfinite(value)
        if isinstance(value, dict):
            return any(map(has_no_number, value.values()))  # pyright: ignore[reportUnknownArgumentType]
        return isinstance(value, list | tuple) and any(map(has_no_number, value))  # pyright: ignore[reportUnknownArgumentType]

    bad = [name for name, value in attributes.items() if has_no_number(value)]
    if bad:
        warnings.warn(f"left out: {', '.join(bad)} (not a finite number)", TiffWarning, stacklevel=3)
    return {name: value for name, value in attributes.items() if name not in bad}


def encode_fill_value(value: np.generic) -> Any:  # noqa: ANN401 - JSON
    """Write a nodata value as xarray reads the attribute ``_FillValue`` of a Zarr version 3 array.

    Integers stand as they are, floats as the base64 text of a little-endian double (so that NaN and
    infinities survive JSON), complex numbers as two of these.
    """

    def double(number: float) -> str:
        return base64.standard_b64encode(struct.pack("<d", number)).decode()

    if value.dtype.kind == "c":
        number = complex(value)  # type: ignore[arg-type]
        return [double(number.real), double(number.imag)]
    return double(float(value)) if value.dtype.kind == "f" else int(value)  # type: ignore[arg-type]
