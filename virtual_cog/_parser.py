"""The VirtualiZarr parser, and the shortest way to a store."""

from __future__ import annotations

import re
import warnings
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, get_args

from virtualizarr.manifests import ManifestStore

from tiff_codecs.errors import TiffOptionError, TiffWarning
from virtual_cog._image import check_ycbcr
from virtual_cog._manifest import pyramid_group, scene_group, stack_group
from virtual_cog._options import whole_number
from virtual_cog._pyramid import load_masked, load_pyramid
from virtual_cog._registry import normalize_url, registry_for, resolve
from virtual_cog._scene import load_scene
from virtual_cog._source import PREFETCH
from virtual_cog._stack import load_stack

if TYPE_CHECKING:
    import os

    from obspec_utils.registry import ObjectStoreRegistry
    from virtualizarr.manifests import ManifestGroup

    from virtual_cog._image import YCbCr
    from virtual_cog._source import Source


type Layout = Literal["image", "pyramid", "stack"]
"""What a store holds: see :class:`COGParser`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class COGParser:
    """A VirtualiZarr parser for (Geo)TIFF and COG: ``open_virtual_dataset(url, registry, COGParser())``.

    The image becomes the variable ``band_data`` with the dimensions ``(band, y, x)`` at the root
    of the store, with coordinates ``band``, ``x`` and ``y`` of pixel centres (none on a rotated
    grid, or with ground control points alone) and a CF grid mapping ``spatial_ref``. Each tile or
    strip is one chunk: all bands in it when pixels are interleaved, one band when planar. Uncompressed strips
    that lie one behind the other become chunks of 1 to 4 MiB, whatever strips the file has.
    Missing tiles are missing chunks, and nodata is the fill value. A volume (ImageDepth) has the dimensions
    ``(band, z, y, x)``.

    With ``layout="pyramid"``, for ``open_virtual_datatree``, the image goes to the group ``0`` and its
    overviews to ``1``, ``2``, ... from fine to coarse, each with coordinates of its own. The root holds no
    array, but the Zarr conventions ``multiscales``, ``proj`` and ``spatial``. Overviews are the IFDs marked as
    such (TIFF 6.0, NewSubfileType bit 0) that follow the image up to the next full one, and its SubIFDs, as far
    as they have its bands and its shape; other pages of the file are none, and overviews that GDAL has added
    behind the last of many pages are the first one's. A transparency mask (bit 2) is the
    variable ``mask`` beside the ``band_data`` that it masks, of the same dimensions and as the file has it: 1
    where a pixel is valid, 0 where not. A mask for all bands is there for each, as rasterio's ``read_masks``
    has it. An overview or mask in a compression that is not decoded is left out with a :class:`TiffWarning`; the
    other groups keep their names, so that overview n is always the group n + 1.

    With ``layout="stack"`` all pages of the file from ``ifd`` on are one variable ``band_data`` with the dimensions
    ``(page, band, y, x)``; the coordinate ``page`` is the index of each page's IFD. Overviews, thumbnails (marked as
    such) and masks are no pages. Pages must have the same size, type, tiles, codecs and nodata: one that differs is
    refused, by name. Coordinates and attributes are the first page's. A stack of ImageJ's that has one IFD for all of
    its images is one of so many pages.

    Attributes:
        ifd: index of the image in the file; 0 is the first, `virtual-cog info` lists them.
        overview_level: with the layout "image", which overview of that image to take in its place: 0 is the
            finest, None the image itself.
        layout: ``"image"``, one image at the root; ``"pyramid"``, a group for each level; ``"stack"``, all pages as one
            array.
        prefetch: bytes of the first request; a file whose IFDs lie within takes no other.
        ycbcr: what YCbCr pixels in JPEG come out as: ``"rgb"`` converts them, as GDAL does; ``"stored"`` gives Y, Cb
            and Cr, chroma that pixels share interpolated as libjpeg does.
        mask: with the layout "image", whether the transparency mask of the image (or of the overview) is to stand
            beside it as ``mask``, as in a pyramid; there is none where the file has none.
    """

    ifd: int = 0
    overview_level: int | None = None
    layout: Layout = "image"
    prefetch: int = PREFETCH
    ycbcr: YCbCr = "rgb"
    mask: bool = False

    def __post_init__(self) -> None:
        """Check the options.

        Raises:
            TiffOptionError: an option is out of range, or two contradict each other.
        """
        whole_number(self.prefetch, "prefetch", least=16)
        whole_number(self.ifd, "IFD index")
        if self.overview_level is not None:
            whole_number(self.overview_level, "overview level")
        check_ycbcr(self.ycbcr)
        if self.layout not in get_args(Layout.__value__):
            raise TiffOptionError("unknown layout", found=repr(self.layout), supported='"image", "pyramid" or "stack"')
        if self.layout == "pyramid" and self.overview_level is not None:
            raise TiffOptionError(
                "a pyramid has all overviews",
                found=f'layout="pyramid" and overview_level={self.overview_level!r}',
                supported="one of the two",
                way_out="leave overview_level out: overview n is the pyramid's group n + 1",
            )
        if self.layout == "stack" and self.overview_level is not None:
            raise TiffOptionError(
                "a stack is of full images",
                found=f'layout="stack" and overview_level={self.overview_level!r}',
                supported="one of the two",
                way_out="open each page's overview by itself",
            )
        if self.mask and self.layout != "image":
            raise TiffOptionError(
                "mask is for one image",
                found=f'layout="{self.layout}" and mask={self.mask!r}',
                supported='layout="image"',
                way_out="leave it out: a pyramid has its masks, and a stack has none",
            )

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
        _warn_of_percent(source.url)
        directory = source.open(self.prefetch)
        if self.layout == "pyramid":
            levels = source.drive(load_pyramid(directory, self.ifd))
            return pyramid_group([replace(level, scene=level.scene.with_ycbcr(self.ycbcr)) for level in levels])
        if self.layout == "stack":
            return stack_group(source.drive(load_stack(directory, self.ifd)).with_ycbcr(self.ycbcr))
        if self.mask:
            scene, mask = source.drive(load_masked(directory, self.ifd, self.overview_level))
        else:
            scene, mask = source.drive(load_scene(directory, self.ifd, self.overview_level)), None
        return scene_group(scene.with_ycbcr(self.ycbcr), mask)


def _warn_of_percent(url: str) -> None:
    """Tell of a name that Icechunk would take for another file's."""
    if re.search("%[0-9A-Fa-f]{2}", url):
        warnings.warn(
            f"the name {url} has a % with two digits behind it: Icechunk takes that for one character, and would "
            "look for another file; `virtual-cog refs` writes such a name so that it is found",
            TiffWarning,
            stacklevel=3,
        )


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
    url: str | os.PathLike[str],
    registry: ObjectStoreRegistry[Any] | None = None,
    *,
    ifd: int = 0,
    overview_level: int | None = None,
    layout: Layout = "image",
    ycbcr: YCbCr = "rgb",
    mask: bool = False,
) -> ManifestStore:
    """Open a TIFF as a read-only Zarr store, e.g. for ``zarr.open_group``, ``xarray.open_zarr`` or ``open_datatree``.

    Args:
        url: a local path with any characters but ``#`` and ``?``, or a URL.
        registry: stores by URL prefix; None makes one for local files, http(s), and object stores
            that the environment has credentials for.
        ifd: index of the image in the file.
        overview_level: which overview of that image to take in its place: 0 is the finest.
        layout: ``"image"``, ``"pyramid"`` for the image with its overviews and masks, or ``"stack"`` for all pages.
        ycbcr: ``"rgb"`` or ``"stored"``: see :class:`COGParser`.
        mask: with the layout "image", whether the image's transparency mask is to stand beside it as ``mask``.

    Returns:
        A store whose root group holds ``band_data``, or the groups ``0``, ``1``, ... (see :class:`COGParser`).

    Raises:
        TiffError: one of its kinds says what is wrong with the file, the store or the arguments.
    """
    full = normalize_url(url)
    parser = COGParser(ifd=ifd, overview_level=overview_level, layout=layout, ycbcr=ycbcr, mask=mask)
    return parser(full, registry_for(full) if registry is None else registry)
