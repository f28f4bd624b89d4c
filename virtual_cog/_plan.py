"""Which tiles a window needs, and which of them to fetch with one request."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tiff_codecs.errors import TiffOptionError, TiffSelectionError
from virtual_cog._tiles import tile_bytes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from virtual_cog._image import Image
    from virtual_cog._scene import Scene

ROW_BLOCK = 4 * 2**20
"""Bytes of an uncompressed tile that one job reads: strips as large as the image are common."""


@dataclass(frozen=True, slots=True)
class Window:
    """A rectangle of an image in pixels; columns and rows count from the upper left corner."""

    col: int
    row: int
    width: int
    height: int


@dataclass(frozen=True, slots=True)
class Job:
    """One tile, or some rows of an uncompressed one."""

    plane: int
    row: int
    col: int
    start: int
    end: int
    """Byte range in the file; empty for a missing tile."""
    first: int
    """First row of the tile that the byte range holds."""
    rows: int


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


def plan(scene: Scene, window: Window) -> list[Job]:
    """The jobs that fill ``window``, in the order of the file."""
    image, tiles = scene.image, scene.tiles
    height, width = image.tile_height, image.tile_width
    row_bytes = tile_bytes(image, 1)
    first_row, last_row = window.row // height, (window.row + window.height - 1) // height
    first_col, last_col = window.col // width, (window.col + window.width - 1) // width
    part = np.s_[:, first_row : last_row + 1, first_col : last_col + 1]
    offsets, counts = tiles.offsets[part], tiles.counts[part]
    order = np.argsort(offsets, axis=None)
    places = np.unravel_index(order, offsets.shape)
    jobs: list[Job] = []
    for plane, row, col, start, count in zip(
        places[0].tolist(),
        (places[1] + first_row).tolist(),
        (places[2] + first_col).tolist(),
        offsets.ravel()[order].tolist(),
        counts.ravel()[order].tolist(),
        strict=True,
    ):
        top = row * height
        rows = height if image.tiled else min(height, image.height - top)
        if image.compression != 1 or not count or image.subsampling != (1, 1) or image.is_mixed_integers:
            jobs.append(Job(plane, row, col, start, start + count, 0, rows))
            continue
        # rows of an uncompressed tile stand by themselves: read those that are wanted, in blocks
        low, high = max(0, window.row - top), min(rows, window.row + window.height - top)
        step = max(1, ROW_BLOCK // row_bytes)
        for first in range(low, high, step):
            n = min(step, high - first)
            at = start + first * row_bytes
            jobs.append(Job(plane, row, col, at, at + n * row_bytes, first, n))
    return jobs


def group(jobs: list[Job], *, gap: int, most: int) -> list[list[Job]]:
    """Put jobs together whose bytes are worth one request.

    Args:
        jobs: in the order of the file.
        gap: bytes that may lie unused between two of them.
        most: bytes of one request; a single job may need more.
    """
    groups: list[list[Job]] = []
    start = end = 0
    for job in jobs:
        together = groups and job.start <= end + gap and max(job.end, end) - start <= most
        if together:
            groups[-1].append(job)
            end = max(end, job.end)
        else:
            groups.append([job])
            start, end = job.start, job.end
    return groups
