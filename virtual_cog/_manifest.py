"""From a scene to VirtualiZarr's manifests: byte ranges, codecs and coordinates as Zarr arrays."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import numpy as np
from virtualizarr.manifests import ChunkManifest, ManifestArray, ManifestGroup
from virtualizarr.manifests.utils import create_v3_array_metadata

from virtual_cog._attributes import Georeference, band_attributes, georeference, group_attributes
from virtual_cog._codecs import codec_chain

if TYPE_CHECKING:
    from virtual_cog._scene import Scene

DATA = "band_data"
DIMENSIONS = ("band", "y", "x")

CHUNK_KEYS: dict[str, Any] = {"name": "default", "configuration": {"separator": "."}}
"""VirtualiZarr lists an array's chunks only when this separates their indices."""

MISSING = ""
"""The path that VirtualiZarr takes for a missing chunk."""


def scene_group(scene: Scene) -> ManifestGroup:
    """Build the group of one image: ``band_data`` and its coordinates.

    Raises:
        TiffUnsupportedError: the pixels are stored in a way that is not read.
    """
    image = scene.image
    geo = georeference(scene)
    arrays = {DATA: data_array(scene, geo), "band": _inline(np.arange(1, image.bands + 1), ("band",), {})}
    if geo.transform is not None and not geo.transform.is_rotated:
        arrays["y"] = _inline(geo.transform.y_coordinates(image.height), ("y",), geo.axis_attributes("y"))
        arrays["x"] = _inline(geo.transform.x_coordinates(image.width), ("x",), geo.axis_attributes("x"))
    if geo.is_known:
        arrays["spatial_ref"] = _inline(np.asarray(0), (), geo.spatial_ref_attributes())
    names = " ".join(name for name in arrays if name != DATA)
    return ManifestGroup(arrays=arrays, attributes={"coordinates": names, **group_attributes(scene, geo)})


def data_array(scene: Scene, geo: Georeference) -> ManifestArray:
    """Build the array of an image's pixels: shape (bands, height, width), a chunk for each tile."""
    image, tiles = scene.image, scene.tiles
    attributes, fill_value = band_attributes(scene, geo)
    metadata = create_v3_array_metadata(
        shape=(image.bands, image.height, image.width),
        data_type=image.dtype,
        chunk_shape=(image.tile_bands, image.tile_height, image.tile_width),
        chunk_key_encoding=CHUNK_KEYS,  # type: ignore[arg-type]
        fill_value=fill_value,
        codecs=codec_chain(image),
        attributes=attributes,
        dimension_names=DIMENSIONS,
    )
    url = np.array(image.url, np.dtypes.StringDType())
    missing = tiles.counts == 0
    paths = np.where(missing, np.array(MISSING, url.dtype), url) if missing.any() else np.broadcast_to(url, image.grid)
    offsets = np.where(missing, np.uint64(0), tiles.offsets) if missing.any() else tiles.offsets
    manifest = ChunkManifest.from_arrays(paths=paths, offsets=offsets, lengths=tiles.counts, validate_paths=False)
    return ManifestArray(metadata, manifest)


def _inline(values: np.ndarray, dimensions: tuple[str, ...], attributes: dict[str, Any]) -> ManifestArray:
    """Build an array whose one chunk is held in the manifest itself."""
    serializer: dict[str, Any] = {"name": "bytes", "configuration": {"endian": sys.byteorder}}
    metadata = create_v3_array_metadata(
        shape=values.shape,
        data_type=values.dtype,
        chunk_shape=values.shape,
        chunk_key_encoding=CHUNK_KEYS,  # type: ignore[arg-type]
        codecs=[serializer],
        attributes=attributes,
        dimension_names=dimensions,
    )
    grid = (1,) * values.ndim
    manifest = ChunkManifest.from_arrays(
        paths=np.full(grid, "__inlined__", np.dtypes.StringDType()),
        offsets=np.zeros(grid, np.uint64),
        lengths=np.full(grid, values.nbytes, np.uint64),
        validate_paths=False,
        inlined={(0,) * values.ndim: values.tobytes()},
    )
    return ManifestArray(metadata, manifest)
