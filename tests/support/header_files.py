"""Files whose headers are those of large images, and whose pixels cost next to nothing.

A tile table depends on the number of tiles, not on their size: an image of 1372 x 1372 pixels in tiles of
64 x 64 has the tables of one of 10980 x 10980 in tiles of 512 x 512.
"""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING

import numpy as np
import rasterio
import tifffile
from rasterio.enums import Resampling

from rawtiff import RawTiff

if TYPE_CHECKING:
    from pathlib import Path

FULL = 512
"""Side of the tiles of a file as it would be; GDAL makes the smallest overviews in tiles of 64."""
SMALL = 64
TINY = 16

OVERVIEWS = [2, 4, 8, 16, 32]
MANY = 317
"""Tiles along a side of :func:`write_many_tiles`: 100,489 in all."""


def _profile(tile: int) -> dict:
    side = 10980 * tile // FULL
    place = rasterio.Affine(10, 0, 3e5, 0, -10, 4.6e6)
    return {"width": side, "height": side, "count": 1, "dtype": "uint16", "crs": "EPSG:32631", "transform": place,
            "nodata": 0, "compress": "deflate", "predictor": 2}  # fmt: skip


def _pixels(tile: int) -> np.ndarray:
    """Small images are of noise, so that their tiles still push what follows behind the first request."""
    side = 10980 * tile // FULL
    if tile == FULL:
        return np.broadcast_to(np.arange(side, dtype="u2"), (1, side, side))
    return np.random.default_rng(1).integers(0, 16, (1, side, side), "u2")


def write_cog(path: Path, tile: int = SMALL) -> None:
    """A COG of GDAL's, with 5 overviews: all IFDs at the start."""
    with (
        rasterio.Env(GDAL_TIFF_OVR_BLOCKSIZE=str(tile)),
        rasterio.open(path, "w", driver="COG", blocksize=tile, overview_count=5, **_profile(tile)) as file,
    ):
        file.write(_pixels(tile))


def write_overviews_behind(path: Path, tile: int = SMALL) -> None:
    """A GeoTIFF to which `gdaladdo` has added overviews: their IFDs lie behind the main image's tiles."""
    with rasterio.open(
        path, "w", driver="GTiff", tiled=True, blockxsize=tile, blockysize=tile, **_profile(tile)
    ) as file:
        file.write(_pixels(tile))
    with rasterio.Env(GDAL_TIFF_OVR_BLOCKSIZE=str(tile)), rasterio.open(path, "r+") as file:
        file.build_overviews(OVERVIEWS, Resampling.nearest)


def write_ifds_at_the_end(path: Path, tile: int = SMALL) -> None:
    """The same, edited since: the main image's IFD has grown, so that GDAL has moved it to the end of the file."""
    write_overviews_behind(path, tile)
    with rasterio.open(path, "r+") as file:
        file.update_tags(AREA="somewhere", TIFFTAG_SOFTWARE="an editor")


def write_many_tiles(path: Path, side: int = MANY) -> None:
    """A BigTIFF of `side` x `side` tiles of 16 x 16 pixels, in GDAL's order: IFD, tables, tiles."""
    tile = zlib.compress(bytes(TINY * TINY))
    tiles = side * side
    file = RawTiff(bigtiff=True)
    entries = 12
    table = 8 + 20 * entries + 8
    offsets_at = 16 + table
    counts_at = offsets_at + 8 * tiles
    data_at = counts_at + 4 * tiles
    offsets = data_at + np.arange(tiles, dtype="u8") * len(tile)
    file.ifd([
        (256, 4, [side * TINY]), (257, 4, [side * TINY]), (258, 3, [8]), (259, 3, [8]), (262, 3, [1]), (277, 3, [1]),
        (284, 3, [1]), (322, 3, [TINY]), (323, 3, [TINY]), (324, 16, file.pack("Q", offsets_at), tiles),
        (325, 4, file.pack("Q", counts_at), tiles), (339, 3, [1]),
    ])  # fmt: skip
    assert len(file.data) == offsets_at
    with path.open("wb") as out:
        out.write(file.bytes())
        out.write(offsets.astype("<u8").tobytes())
        out.write(np.full(tiles, len(tile), "<u4").tobytes())
        out.write(tile * tiles)


def own_bytes(path: Path, ifds: int | None = None) -> int:
    """Bytes of the header, the first so many IFDs (None: all) and the values they point to."""
    with tifffile.TiffFile(path) as file:
        form = file.tiff
        total = 16 if form.is_bigtiff else 8
        for page in list(file.pages)[:ifds]:
            total += form.tagnosize + form.tagsize * len(page.tags) + form.offsetsize
            total += sum(t.valuebytecount for t in page.tags if t.valuebytecount > form.tagoffsetthreshold)
    return total
