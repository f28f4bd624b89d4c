"""The VirtualiZarr parser, and the shortest way to a store."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from virtualizarr.manifests import ManifestStore

from tiff_codecs.errors import TiffOptionError
from virtual_cog._manifest import scene_group
from virtual_cog._registry import normalize_url, registry_for, resolve
from virtual_cog._scene import load_scene
from virtual_cog._source import PREFETCH

if TYPE_CHECKING:
    import os

    from obspec_utils.registry import ObjectStoreRegistry
    from virtualizarr.manifests import ManifestGroup

    from virtual_cog._source import Source


@dataclass(frozen=True, slots=True, kw_only=True)
class COGParser:
    """A VirtualiZarr parser for (Geo)TIFF and COG: ``open_virtual_dataset(url, registry, COGParser())``.

    The image becomes the variable ``band_data`` with the dimensions ``(band, y, x)`` at the root
    of the store, with coordinates ``band``, ``x`` and ``y`` of pixel centres (none on a rotated
    grid, or with ground control points alone) and a CF grid mapping ``spatial_ref``. Each tile or
    strip is one chunk: all bands in it when pixels are interleaved, one band when planar.
    Missing tiles are missing chunks, and nodata is the fill value.

    Attributes:
        ifd: index of the image in the file; 0 is the first, `virtual-cog info` lists them.
        prefetch: bytes of the first request; a file whose IFDs lie within takes no other.
    """

    ifd: int = 0
    prefetch: int = PREFETCH

    def __post_init__(self) -> None:
        """Check the options.

        Raises:
            TiffOptionError: an option is out of range.
        """
        if self.prefetch < 16:
            raise TiffOptionError("bad prefetch", found=repr(self.prefetch), supported="16 bytes or more")

    def __call__(self, url: str, registry: ObjectStoreRegistry[Any]) -> ManifestStore:
        """Turn a file into a store of references to its tiles.

        Args:
            url: the file, as a URL or local path.
            registry: has a store for it.

        Returns:
            A read-only Zarr store; no pixel has been read.

        Raises:
            TiffError: one of its kinds says what is wrong with the file, the store or the arguments.
        """
        return ManifestStore(self._group(resolve(url, registry)), registry=registry)

    def _group(self, source: Source) -> ManifestGroup:
        check_manifest_url(source.url)
        return scene_group(source.drive(load_scene(source.open(self.prefetch), self.ifd)))


def check_manifest_url(url: str) -> None:
    """Refuse names that VirtualiZarr's store would cut at ``#`` or ``?``, and then read another file.

    Raises:
        TiffOptionError: the name has one of them.
    """
    if "#" in url or "?" in url:
        raise TiffOptionError(
            "chunk references cannot carry this name",
            url=url,
            found="a # or ? in it",
            way_out="rename the file or make a link to it; `virtual_cog.read` reads it as it is",
        )


def open_store(
    url: str | os.PathLike[str], registry: ObjectStoreRegistry[Any] | None = None, *, ifd: int = 0
) -> ManifestStore:
    """Open a TIFF as a read-only Zarr store, e.g. for ``zarr.open_group`` or ``xarray.open_zarr``.

    Args:
        url: a local path with any characters but ``#`` and ``?``, or a URL.
        registry: stores by URL prefix; None makes one for local files, http(s), and object stores
            that the environment has credentials for.
        ifd: index of the image in the file.

    Returns:
        A store whose root group holds ``band_data`` (see :class:`COGParser`).

    Raises:
        TiffError: one of its kinds says what is wrong with the file, the store or the arguments.
    """
    full = normalize_url(url)
    return COGParser(ifd=ifd)(full, registry_for(full) if registry is None else registry)
