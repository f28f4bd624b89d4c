"""Everything that is read of one image before its pixels: the image, its tile table, its metadata."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tiff_codecs.errors import TiffFormatError, TiffWarning
from virtual_cog._image import Image, image_from_ifd
from virtual_cog._tags import IMAGE_TAGS, METADATA_TAGS, Tag
from virtual_cog._tiles import TileTable, tile_table, tile_tags

if TYPE_CHECKING:
    import numpy as np

    from virtual_cog._directory import Directory
    from virtual_cog._ifd import Ifd
    from virtual_cog._segments import Steps


@dataclass(frozen=True, slots=True)
class Scene:
    """One image of a file, ready for a manifest or a read."""

    image: Image
    tiles: TileTable
    ifd: Ifd
    main: Ifd
    """The IFD that describes the scene: the full-resolution image's for an overview or a mask."""

    def numbers(self, tag: Tag) -> np.ndarray | None:
        """A numeric metadata tag of the scene (an overview inherits it); None when absent or damaged."""
        return metadata_values(self.ifd, tag) if tag in self.ifd else metadata_values(self.main, tag)

    def text(self, tag: Tag) -> str | None:
        """A text metadata tag of the scene (an overview inherits it); None when absent or damaged."""
        return metadata_text(self.ifd, tag) if tag in self.ifd else metadata_text(self.main, tag)


def metadata_values(ifd: Ifd, tag: Tag) -> np.ndarray | None:
    """The numbers of a tag that may be damaged without harm to the pixels."""
    try:
        return ifd.values(tag)
    except TiffFormatError as error:
        warnings.warn(f"left out: {error}", TiffWarning, stacklevel=2)
        return None


def metadata_text(ifd: Ifd, tag: Tag) -> str | None:
    """The text of a tag that may be damaged without harm to the pixels."""
    try:
        return ifd.text(tag)
    except TiffFormatError as error:
        warnings.warn(f"left out: {error}", TiffWarning, stacklevel=2)
        return None


def load_image(directory: Directory, index: int) -> Steps[tuple[Image, Ifd, Ifd]]:
    """Read the tags of IFD ``index`` but for its tile table; returns the image, its IFD and the scene's main IFD.

    Raises:
        TiffSelectionError: there is no such IFD.
        TiffFormatError: the IFD is damaged, or does not describe an image.
    """
    ifd = yield from directory.ifd(index)
    main = yield from _main_ifd(directory, ifd)
    ranges = ifd.load(IMAGE_TAGS | METADATA_TAGS)
    if main is not ifd:
        ranges += main.load(METADATA_TAGS)
    yield from directory.segments.ensure(ranges)
    return _interpret(ifd, directory.url), ifd, main


def load_scene(directory: Directory, index: int) -> Steps[Scene]:
    """Read all of IFD ``index`` that its manifest needs, the tile table included, in one go.

    Raises:
        TiffSelectionError: there is no such IFD.
        TiffFormatError: the IFD is damaged, does not describe an image, or a tile lies outside the file.
    """
    ifd = yield from directory.ifd(index)
    main = yield from _main_ifd(directory, ifd)
    ranges = ifd.load(IMAGE_TAGS | METADATA_TAGS | {*tile_tags(ifd)})
    if main is not ifd:
        ranges += main.load(METADATA_TAGS)
    yield from directory.segments.ensure(ranges)
    image = _interpret(ifd, directory.url)
    try:
        tiles = tile_table(ifd, image, directory.size)
    except TiffFormatError as error:
        raise error.with_context(url=directory.url) from None
    return Scene(image, tiles, ifd, main)


def _interpret(ifd: Ifd, url: str) -> Image:
    try:
        return image_from_ifd(ifd, url)
    except TiffFormatError as error:
        raise error.with_context(url=url, ifd=ifd.index) from None


def _main_ifd(directory: Directory, ifd: Ifd) -> Steps[Ifd]:
    """The full-resolution image that ``ifd`` is an overview or a mask of; ``ifd`` itself when it is none.

    GDAL writes georeferencing, nodata and metadata on that one alone. An overview follows its
    image in the chain, or hangs below it as a SubIFD.
    """
    seen = ifd
    while _is_derived(seen):
        before = seen.parent if seen.parent is not None else seen.index - 1
        if before < 0:
            return ifd  # a file that begins with an overview
        seen = yield from directory.ifd(before)
    return seen


def _is_derived(ifd: Ifd) -> bool:
    try:
        reduced = ifd.integer(Tag.NewSubfileType, 0) & 5  # bit 0: reduced resolution, bit 2: mask
        return bool(reduced) or ifd.integer(Tag.SubfileType, 0) == 2
    except (TiffFormatError, LookupError):
        return False
