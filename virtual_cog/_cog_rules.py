"""Whether a TIFF is cloud optimized: what a reader finds first must come first, in pieces of a useful size.

The rules are those of the validators of GDAL and rio-cogeo (see also OGC 21-026, the COG standard): tiles unless
the image is small, the IFDs before the pixels, overviews from the largest to the smallest with the pixels of
the smallest first.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from virtual_cog._header import GHOST_KEY

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from virtual_cog._directory import Directory
    from virtual_cog._image import Image

LARGE_SIDE: Final = 512
"""Pixels: a larger image needs tiles, and should have overviews."""

GHOST_LINE: Final = len(GHOST_KEY) + len("000000 bytes\n")
"""Bytes of the line before GDAL's structural metadata, which says how long they are."""


@dataclass(frozen=True, slots=True)
class Level:
    """One resolution of the main image, as the rules need it."""

    image: Image
    ifd_offset: int
    first_tile: int | None
    """Byte offset of the first tile that is not missing; None where all are, or the table is damaged."""


@dataclass(frozen=True, slots=True)
class CogInfo:
    """Whether a file is a cloud optimized GeoTIFF, and why not."""

    is_cog: bool
    problems: tuple[str, ...]
    """What keeps it from being one."""
    hints: tuple[str, ...]
    """What could be better in a file that is one."""
    structure: Mapping[str, str]
    """GDAL's structural metadata ("ghost header"): how the writer promises that tiles are laid out."""


def check_cog(directory: Directory, levels: Sequence[Level], *, damaged: bool = False) -> CogInfo:
    """Apply the rules.

    Args:
        directory: the opened file.
        levels: the main image and its overviews, as they follow each other in the file.
        damaged: whether some of the file could not be read; then it is no COG.
    """
    problems: list[str] = []
    hints: list[str] = []
    if damaged or not levels:
        problems.append("the file is damaged" if levels else "there is no image")
    if levels:
        _check_tiling(levels, problems, hints)
        _check_first_ifd(directory, levels[0], problems)
        _check_order(levels, problems)
    structure = directory.header.structure
    if structure.get("KNOWN_INCOMPATIBLE_EDITION") == "YES":
        problems.append("the file was edited in a way that broke its structure")
    tidy = {key.strip(): value.strip() for key, value in structure.items()}
    return CogInfo(not problems, tuple(problems), tuple(hints), tidy)


def _check_tiling(levels: Sequence[Level], problems: list[str], hints: list[str]) -> None:
    for at, level in enumerate(levels):
        if max(level.image.width, level.image.height) > LARGE_SIDE and not level.image.tiled:
            problems.append(f"{_name(at)} is not tiled")
    if len(levels) == 1 and max(levels[0].image.width, levels[0].image.height) > LARGE_SIDE:
        hints.append(f"an image larger than {LARGE_SIDE} pixels is better with overviews")


def _check_first_ifd(directory: Directory, main: Level, problems: list[str]) -> None:
    expected = 16 if directory.header.bigtiff else 8
    line = directory.segments.get(expected, expected + GHOST_LINE)
    if line is not None and bytes(line).startswith(GHOST_KEY):
        digits = bytes(line[len(GHOST_KEY) :]).split(b" ")[0]
        expected += GHOST_LINE + (int(digits) if digits.isdigit() else 0)
        expected += expected % 2
    if main.ifd_offset != expected:
        problems.append(f"the first IFD is at byte {main.ifd_offset}, not at {expected}")


def _check_order(levels: Sequence[Level], problems: list[str]) -> None:
    for at in range(1, len(levels)):
        before, this = levels[at - 1], levels[at]
        if this.image.width > before.image.width or this.image.height > before.image.height:
            problems.append(f"{_name(at)} is larger than {_name(at - 1)}")
        if this.ifd_offset < before.ifd_offset:
            problems.append(f"the IFD of {_name(at)} comes before that of {_name(at - 1)}")
        if before.first_tile is not None and this.first_tile is not None and before.first_tile < this.first_tile:
            problems.append(f"the pixels of {_name(at - 1)} come before those of {_name(at)}")
    last = levels[-1]
    if last.first_tile is not None and last.first_tile < last.ifd_offset:
        problems.append(f"the pixels of {_name(len(levels) - 1)} come before its IFD")


def _name(level: int) -> str:
    return f"overview {level}" if level else "the image"
