"""Which IFDs of a file belong together: an image, its overviews and its masks.

TIFF 6.0 marks them (NewSubfileType, section 8: bit 0 a reduced-resolution version of another image of the
file, bit 2 a transparency mask of another) but does not say of which image. Read here as writers mean it:

* Those that follow an image in the chain, up to the next full image, are its own.
* Where several full images come first and overviews or masks only at the end, they are the first one's: so
  GDAL adds overviews to a file of many pages, and so it reads them.
* SubIFDs (TIFF Technical Note 1) belong to the IFD that names them. Where none is marked, those that are
  smaller copies of it are its overviews all the same: some writers leave the mark out there. Taken by its own
  index, such a one stands for itself.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tiff_codecs.errors import TiffFormatError
from virtual_cog._tags import Tag

if TYPE_CHECKING:
    from virtual_cog._directory import Directory
    from virtual_cog._ifd import Ifd
    from virtual_cog._segments import Steps


@dataclass(frozen=True, slots=True)
class Family:
    """An image and what belongs to it."""

    image: Ifd
    """The image asked for."""
    main: Ifd
    """The full-resolution image: ``image`` itself, unless that is an overview or a mask. GDAL writes
    georeferencing, nodata and metadata on this one alone."""
    overviews: tuple[Ifd, ...] = ()
    """Overviews of ``image``, from fine to coarse; none of an image that is an overview or a mask itself."""
    masks: tuple[Ifd, ...] = ()
    """Masks of ``image`` and of its overviews, in the order of the file; told apart by their sizes."""


def family_of(directory: Directory, index: int) -> Steps[Family]:
    """Find the overviews and masks of IFD ``index``, and its main image. Reads IFDs, but no values outside them.

    An overview has as many bands as its image and the same shape but for rounding, and is smaller: files of
    slide scanners mark their labels as reduced images too, which no level of a pyramid can be.

    Raises:
        TiffSelectionError: there is no such IFD.
        TiffFormatError: the chain of IFDs is damaged.
    """
    image = yield from directory.ifd(index)
    main = yield from main_of(directory, image)
    if main is not image:
        return Family(image, main)
    relatives = yield from _relatives(directory, image)
    copies = [ifd for ifd in relatives if not _is_mask(ifd) and is_smaller_copy(ifd, image)]
    overviews = [ifd for ifd in copies if is_derived(ifd)] or copies
    overviews.sort(key=lambda ifd: -math.prod(size_of(ifd)))
    return Family(image, image, tuple(overviews), tuple(ifd for ifd in relatives if _is_mask(ifd)))


def main_of(directory: Directory, ifd: Ifd) -> Steps[Ifd]:
    """The full-resolution image that ``ifd`` is an overview or a mask of; ``ifd`` itself when it is none.

    Raises:
        TiffFormatError: the chain of IFDs is damaged.
    """
    seen = ifd
    while is_derived(seen) and seen.parent is not None:
        seen = yield from directory.ifd(seen.parent)
    if not is_derived(seen):
        return seen
    owner = yield from _owner(directory, seen.index)
    return ifd if owner is None else (yield from directory.ifd(owner))


def is_derived(ifd: Ifd) -> bool:
    """Whether ``ifd`` is marked as an overview or a mask of another IFD."""
    reduced = _integer(ifd, Tag.NewSubfileType) & 5  # bit 0: reduced resolution, bit 2: mask
    return bool(reduced) or _integer(ifd, Tag.SubfileType) == 2


def is_smaller_copy(ifd: Ifd, image: Ifd) -> bool:
    """Whether ``ifd`` may be ``image`` at a lower resolution: its bands, its shape up to rounding, and smaller."""
    (width, height), (full_width, full_height) = size_of(ifd), size_of(image)
    if not (0 < width <= full_width and 0 < height <= full_height) or (width, height) == (full_width, full_height):
        return False
    if _bands(ifd) != _bands(image):
        return False
    # the factors that could have led to each side, rounded up or down
    across = (full_width / (width + 1), full_width / (width - 1) if width > 1 else math.inf)
    down = (full_height / (height + 1), full_height / (height - 1) if height > 1 else math.inf)
    return max(across[0], down[0]) <= min(across[1], down[1])


def _relatives(directory: Directory, image: Ifd) -> Steps[list[Ifd]]:
    """The IFDs that are marked as overviews or masks of a full image, and those below it."""
    followers: list[Ifd] = []
    if image.parent is None:
        followers = yield from _followers(directory, image)
    if Tag.SubIFDs not in image and not any(Tag.SubIFDs in ifd for ifd in followers):
        return followers
    below = {image.index, *(ifd.index for ifd in followers)}
    subs: list[Ifd] = []
    for ifd in (yield from directory.all()):  # parents come before their SubIFDs
        if ifd.parent in below and (is_derived(ifd) or is_smaller_copy(ifd, image)):
            below.add(ifd.index)
            subs.append(ifd)
    return followers + subs


def _followers(directory: Directory, image: Ifd) -> Steps[list[Ifd]]:
    """Those in the main chain."""
    if is_derived(image):
        return []  # a file that begins with an overview
    first = image.index + 1
    full = yield from directory.full_after(image.index)
    if image.index == directory.full[0] and Tag.SubIFDs not in image:
        # what stands behind further full images belongs to the first, unless one of them has its own
        while full == first:
            first += 1
            full = yield from directory.full_after(full)
        if full is not None and first > image.index + 1:
            return []
    end = directory.chain_length if full is None else full
    if first == end or (yield from _owner(directory, first)) != image.index:
        return []
    run: list[Ifd] = []
    for index in range(first, end):
        ifd = yield from directory.ifd(index)
        run.append(ifd)
    return run


def _owner(directory: Directory, index: int) -> Steps[int | None]:
    """The full image that an overview or mask of the main chain belongs to; None where none comes before it."""
    full = directory.full
    before = bisect_left(full, index)
    if not before:
        return None
    if before > 1 and full[before - 1] - full[0] == before - 1:  # many full images, and nothing between them
        try:
            after = yield from directory.full_after(index)
        except TiffFormatError:
            after = None  # no image can be read behind the damage
        if after is None:
            return full[0]
    return full[before - 1]


def _is_mask(ifd: Ifd) -> bool:
    return bool(_integer(ifd, Tag.NewSubfileType) & 4)


def size_of(ifd: Ifd) -> tuple[int, int]:
    """Width and height of the image, 0 where the IFD does not say."""
    return _integer(ifd, Tag.ImageWidth), _integer(ifd, Tag.ImageLength)


def _bands(ifd: Ifd) -> int:
    return _integer(ifd, Tag.SamplesPerPixel, max(1, ifd.count(Tag.BitsPerSample)))


def _integer(ifd: Ifd, tag: Tag, default: int = 0) -> int:
    """A value that lies in the table itself; ``default`` where the file puts another thing there."""
    try:
        return ifd.integer(tag, default)
    except (TiffFormatError, LookupError):
        return default
