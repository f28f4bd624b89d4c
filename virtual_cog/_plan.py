"""Which tiles a window needs, and where they go."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from tiff_codecs.cpu.plan import TileRead
from tiff_codecs.errors import TiffOptionError, TiffSelectionError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from virtual_cog._image import Image
    from virtual_cog._scene import Scene
    from virtual_cog._source import Source


@dataclass(frozen=True, slots=True)
class Window:
    """A rectangle of an image in pixels; columns and rows count from the upper left corner."""

    col: int
    row: int
    width: int
    height: int


def parse_window(image: Image, window: Sequence[int] | None) -> Window:
    """Check a window given as (column, row, width, height); None is the whole image.

    Raises:
        TiffOptionError: it is not four whole numbers.
        TiffSelectionError: it is empty or not inside the image.
    """
    if window is None:
        return Window(0, 0, image.width, image.height)
    col, row, width, height = _four_integers(window)
    inside = col >= 0 and row >= 0 and col + width <= image.width and row + height <= image.height
    if not (inside and width > 0 and height > 0):
        raise TiffSelectionError(
            "the window is not inside the image",
            url=image.url,
            ifd=image.ifd,
            found=f"column {col}, row {row}, width {width}, height {height}",
            supported=f"an image of {image.width} x {image.height} pixels",
        )
    return Window(col, row, width, height)


def _four_integers(window: Any) -> tuple[int, int, int, int]:  # noqa: ANN401 - whatever the caller gave
    try:
        values = [int(value) for value in window]
        if len(values) == 4 and all(int(value) == value for value in window):
            return (values[0], values[1], values[2], values[3])
    except (TypeError, ValueError, OverflowError):
        pass
    raise TiffOptionError(
        "bad window", found=repr(window), supported="(column, row, width, height), four whole numbers"
    )


def plan(source: Source, scene: Scene, window: Window, out: NDArray[Any]) -> Iterator[TileRead]:
    """The tiles that fill ``window``, in the order of the file, each with its place in ``out``."""
    image, tiles = scene.image, scene.tiles
    height, width = image.tile_height, image.tile_width
    first_row, last_row = window.row // height, (window.row + window.height - 1) // height
    first_col, last_col = window.col // width, (window.col + window.width - 1) // width
    part = np.s_[:, first_row : last_row + 1, first_col : last_col + 1]
    offsets, counts = tiles.offsets[part], tiles.counts[part]
    order = np.argsort(offsets, axis=None)
    places = np.unravel_index(order, offsets.shape)
    for plane, row, col, start, count in zip(
        places[0].tolist(),
        (places[1] + first_row).tolist(),
        (places[2] + first_col).tolist(),
        offsets.ravel()[order].tolist(),
        counts.ravel()[order].tolist(),
        strict=True,
    ):
        top, left = row * height, col * width
        rows = height if image.tiled else min(height, image.height - top)
        y0, y1 = max(top, window.row), min(top + rows, window.row + window.height)
        x0, x1 = max(left, window.col), min(left + width, window.col + window.width)
        bands = slice(plane, plane + 1) if image.planar else slice(None)
        target = out[bands, y0 - window.row : y1 - window.row, x0 - window.col : x1 - window.col]
        file = source if count else None
        yield TileRead(file, start, start + count, rows, (0, y0 - top, x0 - left), target, (plane, row, col))


def plan_volume(source: Source, scene: Scene, window: Window, out: NDArray[Any]) -> Iterator[TileRead]:
    """The tiles that fill ``window`` in all slices of a volume, in the order of the file.

    A tile is taken whole: its slices lie one below the other in it, and not so in ``out``.

    Args:
        source: the file.
        scene: the volume.
        window: what is wanted of each slice.
        out: where it goes: shape (bands, depth, height, width) of the window.
    """
    image, tiles = scene.image, scene.tiles
    depth, height, width = image.tile_shape[1:]
    first_row, last_row = window.row // height, (window.row + window.height - 1) // height
    first_col, last_col = window.col // width, (window.col + window.width - 1) // width
    part = np.s_[:, :, first_row : last_row + 1, first_col : last_col + 1]
    offsets, counts = tiles.offsets[part], tiles.counts[part]
    order = np.argsort(offsets, axis=None)
    for at in zip(*(axis.tolist() for axis in np.unravel_index(order, offsets.shape)), strict=True):
        plane, layer, row, col = at[0], at[1], at[2] + first_row, at[3] + first_col
        front, top, left = layer * depth, row * height, col * width
        z1 = min(front + depth, image.depth)
        y0, y1 = max(top, window.row), min(top + height, window.row + window.height)
        x0, x1 = max(left, window.col), min(left + width, window.col + window.width)
        bands = slice(plane, plane + 1) if image.planar else slice(None)
        target = out[bands, front:z1, y0 - window.row : y1 - window.row, x0 - window.col : x1 - window.col]
        wanted = np.s_[:, : z1 - front, y0 - top : y1 - top, x0 - left : x1 - left]
        start, count = int(offsets[at]), int(counts[at])
        place = (plane, layer, row, col)
        if count:
            store = partial(_store, target, wanted, image.tile_shape)
            yield TileRead(source, start, start + count, depth * height, (0, 0, 0), store, place)
        else:
            yield TileRead(None, 0, 0, depth * height, (0, 0, 0), target, place)


def _store(target: NDArray[Any], wanted: tuple[slice, ...], tile_shape: tuple[int, ...], tile: NDArray[Any]) -> None:
    target[...] = tile.reshape(tile_shape)[wanted]
