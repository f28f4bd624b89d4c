"""The pages of a file as one array: which they are, and that they fit together."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import numpy as np

from tiff_codecs.errors import TiffFormatError, TiffSelectionError, TiffUnsupportedError
from virtual_cog._codecs import check_readable, codec_chain
from virtual_cog._directory import MAX_IFDS
from virtual_cog._family import is_derived
from virtual_cog._scene import PIXEL_TAGS, load_own_scenes
from virtual_cog._strips import are_contiguous
from virtual_cog._tags import METADATA_TAGS, Tag, tag_name
from virtual_cog._tiles import TileTable, tile_bytes

if TYPE_CHECKING:
    from virtual_cog._directory import Directory
    from virtual_cog._image import YCbCr
    from virtual_cog._scene import Scene, Tags
    from virtual_cog._segments import Steps

STACK_TAGS: Final = PIXEL_TAGS | {Tag.ImageDescription}
"""The metadata that reading the pixels of a stack needs: ImageJ's description says how many images there are."""


@dataclass(frozen=True, slots=True)
class Stack:
    """Pages that have the same size, type and codecs, one behind the other."""

    pages: tuple[Scene, ...]
    numbers: tuple[int, ...]
    """The index of each page's IFD; of ImageJ's images without one, their number."""

    @property
    def first(self) -> Scene:
        """The page that stands for all in what they have in common."""
        return self.pages[0]

    def with_ycbcr(self, ycbcr: YCbCr) -> Stack:
        """The same stack, read with what YCbCr in JPEG is to come out as (see :meth:`Scene.with_ycbcr`)."""
        return replace(self, pages=tuple(page.with_ycbcr(ycbcr) for page in self.pages))

    @property
    def tiles(self) -> TileTable:
        """Byte ranges of the tiles of all pages: arrays of shape (pages, ...)."""
        tables = [page.tiles for page in self.pages]
        return TileTable(np.stack([t.offsets for t in tables]), np.stack([t.counts for t in tables]))


def load_stack(directory: Directory, index: int, *, metadata: Tags = METADATA_TAGS) -> Steps[Stack]:
    """Read all of a file's pages that their manifest needs, in one go.

    Pages are the full images of the main chain; overviews, thumbnails that are marked as such, and masks are none.

    Args:
        directory: the opened file.
        index: index of the first page's IFD.
        metadata: the metadata tags to read of it.

    Raises:
        TiffSelectionError: there is no such IFD, or it is an overview or a mask.
        TiffFormatError: an IFD is damaged, does not describe an image, or a tile lies outside the file.
        TiffUnsupportedError: the pixels are stored in a way that is not read, or a page differs from the first.
    """
    first = yield from directory.ifd(index)
    if is_derived(first):
        raise TiffSelectionError(
            "a stack begins with a full image",
            url=directory.url,
            ifd=first.index,
            found="an overview or a mask",
            way_out="choose the first page with ifd=; `virtual-cog info` lists what the file holds",
        )
    ifds = [first]
    while first.parent is None and (follows := (yield from directory.full_after(ifds[-1].index))) is not None:
        ifds.append((yield from directory.ifd(follows)))
    pages = yield from load_own_scenes(directory, ifds, metadata)
    for page in pages:
        check_readable(page.image)
    if len(pages) == 1:
        pages = imagej_pages(pages[0], directory.size)
        numbers = range(first.index, first.index + len(pages))
    else:
        numbers = (ifd.index for ifd in ifds)
    even = [page.in_even_strips() for page in pages]
    if len({page.image.tile_height for page in even}) == 1:  # or else some could not be cut anew, and none is
        pages = even
    for page in pages[1:]:
        _check_alike(page, pages[0])
    return Stack(tuple(pages), tuple(numbers))


def imagej_pages(scene: Scene, file_size: int) -> list[Scene]:
    """The images of an ImageJ stack of one IFD: ImageJ writes them all behind the first, without compression.

    Returns:
        The scene alone where its description says nothing of others, or where it is not as ImageJ writes it.

    Raises:
        TiffFormatError: the file is too short for as many images as it says.
        TiffUnsupportedError: it says more than any file has pages.
    """
    image = scene.image
    text = scene.text(Tag.ImageDescription) or ""
    said = re.search(r"^images=(\d{1,9})\s*$", text, re.MULTILINE) if text.startswith("ImageJ=") else None
    number = int(said[1]) if said else 1
    if number < 2 or image.compression != 1 or image.tiled or image.planar or not are_contiguous(image, scene.tiles):
        return [scene]
    if number > MAX_IFDS:
        raise TiffUnsupportedError(
            "too many images in a stack", url=image.url, ifd=image.ifd, found=str(number), supported=f"{MAX_IFDS}"
        )
    size = tile_bytes(image, image.height)
    begin = int(scene.tiles.offsets.flat[0])
    if begin + number * size > file_size:
        raise TiffFormatError(
            "the file is too short for its images",
            url=image.url,
            ifd=image.ifd,
            tag=tag_name(Tag.ImageDescription),
            found=f"images={number}, of {size} bytes each, in a file of {file_size} bytes",
            way_out="the file is cut short: fetch it again; the first image is read without stacking",
        )
    tables = (TileTable(scene.tiles.offsets + np.uint64(n * size), scene.tiles.counts) for n in range(number))
    return [replace(scene, tiles=table) for table in tables]


def _check_alike(page: Scene, first: Scene) -> None:
    """Refuse a page that does not fit the first.

    Raises:
        TiffUnsupportedError: says in what they differ.
    """
    if page.image != replace(first.image, ifd=page.image.ifd):
        for what, found, expected in zip(_ASPECTS, _aspects(page), _aspects(first), strict=True):
            if found != expected:
                raise _differs(page, first, what, found, expected)
    nodata, expected = (scene.text(Tag.GDALNodata) or "none" for scene in (page, first))
    if nodata != expected:
        raise _differs(page, first, "nodata", nodata, expected)


_ASPECTS: Final = ("shape", "data type", "shape of tiles", "codecs")


def _aspects(scene: Scene) -> tuple[object, ...]:
    image = scene.image
    return image.shape, image.dtype, image.tile_shape, codec_chain(image)


def _differs(page: Scene, first: Scene, what: str, found: object, expected: object) -> TiffUnsupportedError:
    return TiffUnsupportedError(
        f"the pages of the file differ in their {what}",
        url=page.image.url,
        ifd=page.image.ifd,
        found=str(found),
        supported=f"{expected}, as in IFD {first.image.ifd}",
        way_out="read the pages by themselves, with ifd=",
    )
