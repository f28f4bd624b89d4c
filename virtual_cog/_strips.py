"""Uncompressed strips in chunks of a size that suits reading, where the file's own strips are far from it.

Writers make strips of one row, tens of thousands of them, or one strip of the whole image. A reader has to ask for
each chunk, and must take it whole. Rows of an uncompressed image begin on bytes (TIFF 6.0 section 3) and stand by
themselves, so that where strips lie one behind the other any number of rows is a byte range: what the file calls a
strip does not matter then.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

import numpy as np

from virtual_cog._tiles import TileTable, tile_bytes

if TYPE_CHECKING:
    from virtual_cog._image import Image

LEAST_BYTES: Final = 2**20
MOST_BYTES: Final = 4 * 2**20
"""Bytes of a chunk: large enough that a request for it is worth its while, small enough to be read for a window."""


def in_even_strips(image: Image, tiles: TileTable) -> tuple[Image, TileTable]:
    """Cut an uncompressed image into strips of 1 to 4 MiB, whatever strips its file has.

    The new strips follow from the image's width, height and samples alone, so that scenes of one shape can be
    concatenated although their writers made other strips of them.

    Args:
        image: how the file has it.
        tiles: where the file's strips lie.

    Returns:
        The image with another `tile_height`, and the table of the new strips; both as they were where the image is
        compressed or in tiles, where a strip is missing, or where bytes lie between two strips of a band.
    """
    if not _has_free_rows(image) or not are_contiguous(image, tiles):
        return image, tiles
    row_bytes = tile_bytes(image, 1)
    rows = strip_rows(image.height, row_bytes)
    first = np.arange(0, image.height, rows, dtype=np.uint64)
    counts = np.minimum(np.uint64(rows), np.uint64(image.height) - first) * np.uint64(row_bytes)
    offsets = tiles.offsets[:, :1] + (first * np.uint64(row_bytes))[:, np.newaxis]
    even = TileTable(offsets, np.broadcast_to(counts[:, np.newaxis], offsets.shape))
    return replace(image, tile_height=rows, strip_is_cut=False), even


def strip_rows(height: int, row_bytes: int) -> int:
    """Rows of a strip: the largest number that divides the height, and makes strips of 1 to 4 MiB.

    Strips of equal height are tiles like any other, which Zarr's own codecs read. Where no such number divides the
    height, strips are of 2 MiB, and the last is shorter.

    Args:
        height: rows of the image.
        row_bytes: bytes of a row.
    """
    most, least = max(1, MOST_BYTES // row_bytes), max(1, -(-LEAST_BYTES // row_bytes))
    numbers = np.arange(-(-height // most), max(1, height // least) + 1)
    even = numbers[height % numbers == 0]
    return height // int(even[0]) if even.size else max(1, MOST_BYTES // 2 // row_bytes)


def _has_free_rows(image: Image) -> bool:
    """Whether each row of the image is so many bytes in a strip, that mean the same without the others."""
    return image.compression == 1 and not image.tiled and not image.is_volume and image.subsampling == (1, 1)


def are_contiguous(image: Image, tiles: TileTable) -> bool:
    """Whether the uncompressed strips of each band (or of all) lie one behind the other, from the first to the last."""
    if tile_bytes(image, image.height) > int(tiles.counts.sum()):
        return False  # which also keeps the sizes of damaged images from being too large for a number
    sizes = np.full((1, image.grid[1], 1), tile_bytes(image, image.tile_height), np.uint64)
    if image.last_strip_rows is not None:
        sizes[0, -1] = tile_bytes(image, image.last_strip_rows)
    begin = np.cumsum(sizes, axis=1) - sizes
    return bool((tiles.counts >= sizes).all() and (tiles.offsets == tiles.offsets[:, :1] + begin).all())
