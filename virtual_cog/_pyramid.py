"""An image with its overviews and masks: which levels a pyramid has, and what is left out of it."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tiff_codecs.errors import TiffUnsupportedError, TiffWarning
from virtual_cog._codecs import check_readable
from virtual_cog._family import family_of, size_of
from virtual_cog._scene import find_image, load_scenes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from virtual_cog._directory import Directory
    from virtual_cog._ifd import Ifd
    from virtual_cog._scene import Scene
    from virtual_cog._segments import Steps


@dataclass(frozen=True, slots=True)
class Level:
    """One level of a pyramid."""

    number: int
    """0 is the image, n + 1 its overview n: the level's name. Says nothing of what can be decoded, so that it stays
    the same in a later version that decodes more."""
    scene: Scene
    mask: Scene | None
    """The transparency mask of this level."""


def load_pyramid(directory: Directory, index: int) -> Steps[list[Level]]:
    """Read all of an image, its overviews and their masks that their manifests need, in one go.

    A level or mask whose pixels are not decoded is left out with a warning, and the others keep their numbers: a
    quick look in JPEG must not keep anyone from the data. The image itself must be readable, and what is damaged
    is refused wherever it is: a pyramid without the levels behind the end of a file would look like a whole one.

    Returns:
        The levels from fine to coarse, the image first; that one alone when it is an overview or a mask itself.

    Raises:
        TiffSelectionError: there is no such IFD.
        TiffFormatError: an IFD is damaged, does not describe an image, or a tile lies outside the file.
        TiffUnsupportedError: the image's pixels are stored in a way that is not read.

    Warns:
        TiffWarning: says what is left out, and why.
    """
    family = yield from family_of(directory, index)
    ifds = (family.image, *family.overviews)
    masks = _match(ifds, family.masks)
    scenes = yield from load_scenes(directory, [*ifds, *masks.values()], family.main)
    mask_scenes = dict(zip(masks, scenes[len(ifds) :], strict=True))
    levels: list[Level] = []
    for number, scene in enumerate(scenes[: len(ifds)]):
        try:
            check_readable(scene.image)
        except TiffUnsupportedError as error:
            if not number:
                raise
            warnings.warn(f"overview {number - 1} is left out: {error}", TiffWarning, stacklevel=2)
            continue
        levels.append(Level(number, scene, _usable(mask_scenes.get(number), scene)))
    return levels


def load_masked(directory: Directory, index: int, overview_level: int | None) -> Steps[tuple[Scene, Scene | None]]:
    """Read all of an image (or of an overview of it) and of its mask that their manifests need, in one go.

    Returns:
        The image, and its mask where it has one that is decoded.

    Raises:
        TiffError: as :func:`virtual_cog._scene.load_scene` does.

    Warns:
        TiffWarning: a mask is there, but is left out; says why.
    """
    ifd, main = yield from find_image(directory, index, overview_level)
    family = yield from family_of(directory, main.index)
    levels = (family.image, *family.overviews)
    masks = _match(levels, family.masks)
    mask = next((masks[n] for n, level in enumerate(levels) if level is ifd and n in masks), None)
    scene, *found = yield from load_scenes(directory, [ifd] if mask is None else [ifd, mask], main)
    return scene, _usable(found[0] if found else None, scene)


def _match(levels: Sequence[Ifd], masks: Sequence[Ifd]) -> dict[int, Ifd]:
    """The mask of each level that has one: the first of its size."""
    sizes = {size_of(ifd): number for number, ifd in reversed([*enumerate(levels)])}
    matched: dict[int, Ifd] = {}
    for mask in masks:
        width, height = size_of(mask)
        number = sizes.get((width, height))
        if number is None:
            warnings.warn(
                f"IFD {mask.index} is left out: a mask of {width} x {height} pixels, the size of no level",
                TiffWarning,
                stacklevel=2,
            )
        else:
            matched.setdefault(number, mask)
    return matched


def _usable(mask: Scene | None, scene: Scene) -> Scene | None:
    """The mask, unless it cannot be decoded or does not say which band it is for."""
    if mask is None:
        return None
    try:
        check_readable(mask.image)
    except TiffUnsupportedError as error:
        warnings.warn(f"a mask is left out: {error}", TiffWarning, stacklevel=2)
        return None
    if mask.image.bands not in (1, scene.image.bands):
        warnings.warn(
            f"IFD {mask.image.ifd} is left out: a mask with {mask.image.bands} bands of an image with "
            f"{scene.image.bands}",
            TiffWarning,
            stacklevel=2,
        )
        return None
    return mask
