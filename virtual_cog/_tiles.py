"""Where the tiles (or strips) of an image lie in its file."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from tiff_codecs.compression import COMPRESSIONS
from tiff_codecs.errors import TiffFormatError
from virtual_cog._image_codecs import is_subsampled
from virtual_cog._tags import Tag, tag_name

if TYPE_CHECKING:
    from collections.abc import Callable

    from virtual_cog._ifd import Ifd
    from virtual_cog._image import Image

    type Damaged = Callable[[str, Tag, str], TiffFormatError]

MAX_EXPANSION: Final = {
    1: 1,
    5: 4096,
    8: 1032,
    32773: 128,
    32946: 1032,
    34925: 32768,
    34926: 65536,
    50000: 65536,
    50013: 1032,
}
"""No stream of a compression makes more bytes of one than this (a little over each format's own bound)."""

SLOT: Final = 10
SLOT_BYTES: Final = 4096
"""A tile is read no further than this many times its pixels' bytes, and so many bytes besides. No encoder needs
twice the pixels' bytes, but some leave room behind a tile, and count it in."""
IMAGE_SLOT_BYTES: Final = 32_768
"""The latter for tiles that are images of a format of their own, which may bring tables and a color profile."""

type Table = np.ndarray[tuple[int, ...], np.dtype[np.uint64]]


@dataclass(frozen=True, slots=True)
class TileTable:
    """Byte ranges of all tiles of an image, each array of the shape of the image's grid."""

    offsets: Table
    """Where each tile begins, in bytes from the start of the file; 0 for a missing one, whatever the file has."""
    counts: Table
    """How many bytes of each tile to read; 0: the tile is missing (a sparse file) and reads as nodata or 0."""


def tile_tags(ifd: Ifd) -> tuple[Tag, Tag]:
    """The two tags that hold the tile table of ``ifd``: writers mix the tile and strip pairs up."""
    offsets = Tag.TileOffsets if Tag.TileOffsets in ifd else Tag.StripOffsets
    counts = Tag.TileByteCounts if Tag.TileByteCounts in ifd else Tag.StripByteCounts
    return offsets, counts


def tile_bytes(image: Image, rows: int) -> int:
    """Length in bytes of ``rows`` rows of a decompressed tile, in all its slices; 0 if it is not of rows of samples."""
    bits = image.bits_per_sample
    if COMPRESSIONS[image.compression].image is not None or (len(bits) > 1 and image.planar):
        return 0
    if is_subsampled(image):
        across, down = (max(factor, 1) for factor in image.subsampling)
        return -(-image.tile_width // across) * -(-rows // down) * (across * down + 2) if image.bands == 3 else 0
    samples = image.tile_width * image.tile_bands
    row_bits = samples * bits[0] if len(bits) == 1 else image.tile_width * sum(bits)
    return -(-row_bits // 8) * rows * image.tile_depth


def tile_table(ifd: Ifd, image: Image, file_size: int) -> TileTable:
    """Read and check the tile table of ``image``; its two tags must be loaded.

    Raises:
        TiffFormatError: the table is missing or too short, or a tile does not lie wholly within the
            file (which is then cut short), or cannot hold the pixels it should.
    """

    def damaged(problem: str, tag: Tag, found: str) -> TiffFormatError:
        return TiffFormatError(
            problem,
            url=image.url,
            ifd=image.ifd,
            tag=tag_name(tag),
            found=found,
            way_out="the file is damaged or cut short: fetch it again",
        )

    offsets_tag, counts_tag = tile_tags(ifd)
    tiles = math.prod(image.grid)
    if ifd.count(offsets_tag) < tiles:
        raise damaged("the tile table is too short", offsets_tag, f"{ifd.count(offsets_tag)} of {tiles} tiles")
    offsets = _column(ifd, offsets_tag, tiles)
    if offsets is None:
        raise damaged("the tile table is not of integers", offsets_tag, "another field type")
    if counts_tag in ifd and ifd.count(counts_tag) < tiles:
        raise damaged("the tile table is too short", counts_tag, f"{ifd.count(counts_tag)} of {tiles} tiles")
    counts = _column(ifd, counts_tag, tiles)
    if counts is None or (tiles == 1 and not counts[0] and offsets[0]):
        counts = _estimated_counts(offsets, file_size)

    present = counts > 0
    room = file_size - np.minimum(offsets, file_size)
    outside = present & ((offsets < 8) | (counts > room))
    if outside.any():
        first = int(np.argmax(outside))
        raise damaged(
            "a tile lies outside the file",
            offsets_tag,
            f"tile {first}: {counts[first]} bytes at {offsets[first]} of a file of {file_size} bytes"
            + (f" ({number} such tiles)" if (number := int(outside.sum())) > 1 else ""),
        )
    if not present.all():
        offsets = np.where(present, offsets, np.uint64(0))
    counts = _check_lengths(image, counts.reshape(image.grid), damaged, counts_tag)
    return TileTable(offsets.reshape(image.grid), counts)


def _column(ifd: Ifd, tag: Tag, tiles: int) -> np.ndarray[tuple[int], np.dtype[np.uint64]] | None:
    values = ifd.values(tag)
    if values is None or values.dtype.kind not in "ui":
        return None
    return values[:tiles].astype(np.uint64, copy=False)


def _estimated_counts(
    offsets: np.ndarray[tuple[int], np.dtype[np.uint64]], file_size: int
) -> np.ndarray[tuple[int], np.dtype[np.uint64]]:
    """Lengths for a file without byte counts (allowed before TIFF 6.0): up to the next tile, or the file's end."""
    edges = np.append(np.unique(offsets), np.uint64(file_size))
    ends = edges[np.searchsorted(edges, offsets, side="right").clip(max=len(edges) - 1)]
    return np.where(offsets == 0, np.uint64(0), np.maximum(ends, offsets) - offsets)


def _check_lengths(image: Image, counts: Table, damaged: Damaged, tag: Tag) -> Table:
    """Refuse tiles too short for their pixels, and cut those that are far longer than their pixels need.

    Only what is certain is refused here: that no stream of the compression could expand to the tile.
    It also keeps a few damaged bytes from asking for terabytes of memory, or of requests.
    """
    if image.compression not in COMPRESSIONS:
        return counts  # not decoded here, which is said where pixels are wanted
    expansion = MAX_EXPANSION.get(image.compression, 1)
    needed = np.full((image.grid[-2], 1), tile_bytes(image, image.tile_height), dtype=object)
    if image.last_strip_rows is not None:
        needed[-1, 0] = tile_bytes(image, image.last_strip_rows)
    samples = image.tile_width * image.tile_height * image.tile_depth * image.tile_bands
    pixels = samples * -(-max(image.bits_per_sample) // 8)
    if max(pixels, int(needed.max())) > np.iinfo(np.int64).max:
        raise damaged("absurd tile size", Tag.ImageWidth, f"{max(pixels, int(needed.max()))} bytes a tile")
    lengths = needed.astype(np.uint64)
    least = lengths // np.uint64(expansion) if expansion > 1 else lengths
    slack = np.uint64(1024 if expansion > 1 else 0)
    short = (counts > 0) & (counts + slack < least)
    if short.any():
        first = int(np.argmax(short))
        raise damaged(
            "a tile is too short for its pixels",
            tag,
            f"tile {first}: {counts.flat[first]} bytes for {image.tile_height} rows of {image.tile_width} pixels",
        )
    if expansion == 1 and least.all():
        return np.minimum(counts, lengths)
    room = IMAGE_SLOT_BYTES if image.compression not in MAX_EXPANSION else SLOT_BYTES
    return np.minimum(counts, np.uint64(min(SLOT * pixels + room, 2**63)))
