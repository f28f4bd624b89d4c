"""Everything that is read of images before their pixels: the image, its tile table, its metadata, its overviews."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from tiff_codecs.errors import TiffFormatError, TiffSelectionError, TiffWarning
from virtual_cog._family import family_of, main_of
from virtual_cog._image import Image, YCbCr, check_ycbcr, image_from_ifd
from virtual_cog._old_jpeg import OLD_JPEG, ensure_tables, old_jpeg_header
from virtual_cog._options import whole_number
from virtual_cog._strips import in_even_strips
from virtual_cog._tags import IMAGE_TAGS, METADATA_TAGS, Tag
from virtual_cog._tiles import TileTable, tile_table, tile_tags

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import numpy as np

    from virtual_cog._directory import Directory
    from virtual_cog._ifd import Ifd
    from virtual_cog._segments import Steps

    type Tags = frozenset[Tag]


PIXEL_TAGS: Final = frozenset((Tag.GDALNodata,))
"""The metadata that reading pixels needs: what missing tiles are filled with."""

VALUE_TAGS: Final = frozenset((Tag.GDALMetadata, Tag.GDALNodata, Tag.ColorMap))
"""Tags that say what pixels' values mean."""


@dataclass(frozen=True, slots=True)
class Scene:
    """One image of a file, ready for a manifest or a read."""

    image: Image
    tiles: TileTable
    ifd: Ifd
    main: Ifd
    """The IFD that describes the scene: the full-resolution image's for an overview or a mask."""

    def with_ycbcr(self, ycbcr: YCbCr) -> Scene:
        """The same scene, read with what YCbCr in JPEG is to come out as.

        Raises:
            TiffOptionError: neither "rgb" nor "stored".
        """
        check_ycbcr(ycbcr)
        return self if ycbcr == self.image.ycbcr else replace(self, image=replace(self.image, ycbcr=ycbcr))

    def in_even_strips(self) -> Scene:
        """The same scene; where its strips can be cut anew, in strips of even size."""
        image, tiles = in_even_strips(self.image, self.tiles)
        return self if image is self.image else replace(self, image=image, tiles=tiles)

    def numbers(self, tag: Tag) -> np.ndarray | None:
        """A numeric metadata tag of the scene (see :meth:`text`); None when absent or damaged."""
        return metadata_values(self._holder(tag), tag)

    def text(self, tag: Tag) -> str | None:
        """A text metadata tag of the scene; None when absent or damaged.

        An overview inherits it from its main image. So does a mask, but for what is said of pixels' values.
        """
        return metadata_text(self._holder(tag), tag)

    def _holder(self, tag: Tag) -> Ifd:
        own = tag in self.ifd or (self.image.is_mask and tag in VALUE_TAGS)
        return self.ifd if own else self.main


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
    """Read the image tags of IFD ``index``; returns the image, its IFD and the scene's main IFD.

    Raises:
        TiffSelectionError: there is no such IFD.
        TiffFormatError: the IFD is damaged, or does not describe an image.
    """
    ifd = yield from directory.ifd(index)
    main = yield from main_of(directory, ifd)
    yield from directory.load([(ifd, IMAGE_TAGS)])
    yield from ensure_tables(directory, ifd)
    return _interpret(directory, ifd), ifd, main


def load_scene(
    directory: Directory, index: int, overview_level: int | None = None, *, metadata: Tags = METADATA_TAGS
) -> Steps[Scene]:
    """Read all of an image that its manifest needs, the tile table included, in one go.

    Args:
        directory: the opened file.
        index: index of the image's IFD.
        overview_level: which of the image's overviews to take, 0 being the finest; None takes the image itself.
        metadata: the metadata tags to read.

    Raises:
        TiffSelectionError: there is no such IFD or overview.
        TiffOptionError: a number that is no whole number.
        TiffFormatError: the IFD is damaged, does not describe an image, or a tile lies outside the file.
    """
    ifd, main = yield from find_image(directory, index, overview_level)
    (scene,) = yield from load_scenes(directory, [ifd], main, metadata=metadata)
    return scene


def find_image(directory: Directory, index: int, overview_level: int | None) -> Steps[tuple[Ifd, Ifd]]:
    """The IFD of an image, or of an overview of it, and of the main image that this belongs to.

    Raises:
        TiffSelectionError: there is no such IFD or overview.
    """
    if overview_level is not None:
        return (yield from _find_overview(directory, index, overview_level))
    ifd = yield from directory.ifd(index)
    return ifd, (yield from main_of(directory, ifd))


def load_scenes(
    directory: Directory, ifds: Iterable[Ifd], main: Ifd, *, metadata: Tags = METADATA_TAGS
) -> Steps[list[Scene]]:
    """Read all of several images that share a main image, in one go; uncompressed ones in strips of even size.

    Raises:
        TiffFormatError: an IFD is damaged, does not describe an image, or a tile lies outside the file.
    """
    ifds = list(ifds)
    own = [(ifd, IMAGE_TAGS | metadata | {*tile_tags(ifd)}) for ifd in ifds]
    yield from directory.load([*own, (main, metadata)] if main not in ifds else own)
    scenes: list[Scene] = []
    for ifd in ifds:
        scene = yield from _scene(directory, ifd, main)
        scenes.append(scene.in_even_strips())
    return scenes


def load_own_scenes(directory: Directory, ifds: Sequence[Ifd], metadata: Tags) -> Steps[list[Scene]]:
    """Read all of several images that have nothing to do with each other, in one go; strips are as the file has them.

    Args:
        directory: the opened file.
        ifds: their IFDs.
        metadata: the metadata tags to read of the first; of the others, only what reading pixels needs is read.

    Raises:
        TiffFormatError: an IFD is damaged, does not describe an image, or a tile lies outside the file.
    """
    wanted = [metadata] + [PIXEL_TAGS] * (len(ifds) - 1)
    yield from directory.load(
        [(ifd, IMAGE_TAGS | tags | {*tile_tags(ifd)}) for ifd, tags in zip(ifds, wanted, strict=True)]
    )
    scenes: list[Scene] = []
    for ifd in ifds:
        scene = yield from _scene(directory, ifd, ifd)
        scenes.append(scene)
    return scenes


def _scene(directory: Directory, ifd: Ifd, main: Ifd) -> Steps[Scene]:
    yield from ensure_tables(directory, ifd)
    image = _interpret(directory, ifd)
    try:
        return Scene(image, tile_table(ifd, image, directory.size), ifd, main)
    except TiffFormatError as error:
        raise error.with_context(url=directory.url) from None


def _find_overview(directory: Directory, index: int, level: int) -> Steps[tuple[Ifd, Ifd]]:
    """Overview ``level`` of IFD ``index``, and the main image."""
    level = whole_number(level, "overview level")
    family = yield from family_of(directory, index)
    number = len(family.overviews)
    if 0 <= level < number:
        return family.overviews[level], family.image
    if family.main is not family.image:
        found = f"IFD {family.image.index} is an overview or a mask itself, of IFD {family.main.index}"
        way_out = f"choose an overview of ifd={family.main.index}, or leave overview_level out"
    else:
        found = f"{number} overview{'s' if number != 1 else ''}"
        way_out = "the full image is read without overview_level; `virtual-cog info` lists what the file holds"
    raise TiffSelectionError(
        f"no overview {level}",
        url=directory.url,
        ifd=family.image.index,
        found=found,
        supported=f"0 to {number - 1}" if number else "none",
        way_out=way_out,
    )


def _interpret(directory: Directory, ifd: Ifd) -> Image:
    try:
        image = image_from_ifd(ifd, directory.url)
    except TiffFormatError as error:
        raise error.with_context(url=directory.url, ifd=ifd.index) from None
    if image.compression != OLD_JPEG:
        return image
    return replace(image, jpeg_tables=old_jpeg_header(directory.segments, ifd, image))
