"""Reading TIFFs with the functions of tiff_codecs alone, tifffile only finding the tiles."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
import pytest
import rasterio
import tifffile

from tiff_codecs import COMPRESSIONS, TileLayout, decode_samples, fill_order

SAMPLE_FORMATS = {1: "uint", 2: "int", 3: "float", 4: "uint", 5: "complex_int", 6: "complex_float"}


@dataclass
class Tiles:
    """One image of a file: how its tiles are laid out, and their bytes by (plane, row, column)."""

    shape: tuple[int, int, int]
    tile_shape: tuple[int, int, int]
    layout: TileLayout
    compression: int
    fill_order: int
    raw: dict[tuple[int, int, int], bytes]

    def decode(self, raw: bytes) -> np.ndarray:
        bands, rows, cols = self.tile_shape
        if self.fill_order == 2:
            raw = fill_order.decode(raw, len(raw))
        decompress = COMPRESSIONS[self.compression].decode
        if decompress:
            raw = decompress(raw, bands * rows * cols * self.layout.dtype.itemsize)
        return decode_samples(raw, self.layout, rows=rows, cols=cols, bands=bands)

    def read(self) -> np.ndarray:
        out = np.empty(self.shape, self.layout.dtype)
        for position, raw in self.raw.items():
            window = [slice(i * n, (i + 1) * n) for i, n in zip(position, self.tile_shape, strict=True)]
            target = out[tuple(window)]
            samples = self.decode(raw)
            assert samples.dtype == self.layout.dtype
            assert samples.dtype.isnative
            assert samples.shape == self.tile_shape
            target[...] = samples[tuple(slice(0, n) for n in target.shape)]
        return out


def tiles(path) -> Tiles:
    with tifffile.TiffFile(path) as file:
        page = file.pages[0]
        tags = {tag.code: tag.value for tag in page.tags}

        def several(*codes):
            value = next(tags[code] for code in codes if code in tags)
            return value if isinstance(value, tuple) else (value,)

        width, height, bands = tags[256], tags[257], tags.get(277, 1)
        cols, rows = tags.get(322, width), tags.get(323) or min(tags.get(278, height), height)
        depth = 1 if tags.get(284, 1) == 2 else bands
        short = height % rows if 322 not in tags else 0
        across, down = -(-width // cols), -(-height // rows)
        spans = zip(several(324, 273), several(325, 279), strict=True)
        positions = np.ndindex(bands // depth, down, across)
        raw = {}
        for position, (offset, count) in zip(positions, spans, strict=True):
            file.filehandle.seek(offset)
            raw[position] = file.filehandle.read(count)
        layout = TileLayout(
            "little" if file.byteorder == "<" else "big",
            several(258)[0],
            SAMPLE_FORMATS[int(several(339)[0]) if 339 in tags else 1],
            int(tags.get(317, 1)),
            short or None,
        )
        return Tiles(
            (bands, height, width),
            (depth, rows, cols),
            layout,
            int(tags.get(259, 1)),
            int(tags.get(266, 1)),
            raw,
        )


@pytest.fixture(scope="session")
def tiles_of():
    """Finds the tiles of a file."""
    return tiles


@pytest.fixture
def written(tmp_path):
    """Writes an array of (band, row, column) with rasterio, and gives the path and what GDAL reads."""

    def write(array, dtype=None, **options):
        path = tmp_path / "written.tif"
        bands, height, width = array.shape
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", rasterio.errors.NotGeoreferencedWarning)
            profile = {"driver": "GTiff", "count": bands, "height": height, "width": width}
            with rasterio.open(path, "w", **profile, dtype=dtype or array.dtype.name, **options) as file:
                file.write(array)
            with rasterio.open(path) as file:
                return path, file.read()

    return write


@pytest.fixture
def noise():
    """Makes arrays of a dtype whose bytes are all used, with some order along the rows."""

    def make(dtype, shape, seed=0):
        dtype = np.dtype(dtype)
        random = np.random.default_rng(seed)
        if dtype.kind in "fc":
            parts = random.normal(size=(*shape, 2)).cumsum(axis=-2)
            return (parts[..., 0] + (1j * parts[..., 1] if dtype.kind == "c" else 0)).astype(dtype)
        info = np.iinfo(dtype)
        steps = random.integers(-9, 10, shape).cumsum(axis=-1).astype(dtype)
        return steps + np.array([0, info.min, info.max], dtype)[random.integers(0, 3, shape)]

    return make
