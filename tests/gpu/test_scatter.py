"""The scatter kernel against its NumPy reference, `tiff_codecs.samples.decode_samples`."""

from __future__ import annotations

import numpy as np
import pytest

from tiff_codecs.gpu.scatter import TILE, is_supported, scatter
from tiff_codecs.layout import TileLayout
from tiff_codecs.samples import decode_samples

pytestmark = pytest.mark.gpu


def layouts():
    for order in ("little", "big"):
        for bits in (8, 16, 32, 64):
            for predictor in (1, 2):
                yield TileLayout(order, bits, "uint", predictor)
            yield TileLayout(order, bits, "int", 1)
        for bits in (16, 32, 64):
            for predictor in (1, 2, 3):
                yield TileLayout(order, bits, "float", predictor)
        yield TileLayout(order, 24, "float", 1)
        for bits in (64, 128):
            yield TileLayout(order, bits, "complex_float", 1)
        yield TileLayout(order, 64, "complex_float", 2)
        for bits in (32, 64):
            for predictor in (1, 2):
                yield TileLayout(order, bits, "complex_int", predictor)
    for bits in (*range(1, 8), 9, 10, 12, 13, 15, 17, 24, 31, 33, 48, 56):
        yield TileLayout("little", bits, "uint", 1)
        yield TileLayout("little", bits, "int", 1)


def name(layout):
    return f"{layout.sample_format}{layout.bits_per_sample}-p{layout.predictor}-{layout.byte_order}"


def bits_of(pixels):
    return pixels.view({1: "u1", 2: "u2", 4: "u4", 8: "u8", 16: "u8"}[pixels.dtype.itemsize])


@pytest.mark.parametrize("layout", list(layouts()), ids=name)
@pytest.mark.parametrize("bands", [1, 2, 3, 4, 5])
def test_whole_tiles_and_parts(layout, bands):
    import cupy

    rng = np.random.default_rng(7)
    for rows, cols in ((3, 70), (2, 257), (5, 16), (1, 1)):
        tiles = 4
        size = layout.tile_bytes(rows, cols, bands)
        raw = rng.integers(0, 256, (tiles, size), "u1")
        if layout.sample_format == "float" and layout.predictor == 1 and layout.bits_per_sample == 24:
            raw[:, 2::3] &= 0x7F
        truth = np.stack([decode_samples(r, layout, rows=rows, cols=cols, bands=bands) for r in raw])
        # at odd addresses, as decompressors may leave them
        room = size + 13
        buffer = cupy.zeros(tiles * room, "u1")
        table = np.zeros(tiles, TILE)
        for i in range(tiles):
            buffer[i * room + i : i * room + i + size] = cupy.asarray(raw[i])
            table["source"][i] = buffer.data.ptr + i * room + i
        y, x, b = rows // 3, cols // 4, bands // 2
        boxes = [(0, rows, 0, cols, 0, bands), (y, rows - y, x, cols - x, b, bands - b)]
        for first_row, n_rows, first_col, n_cols, first_band, n_bands in boxes:
            out = cupy.full((tiles, n_bands, n_rows, n_cols + 3), 77, layout.dtype)
            for field, value in (
                ("first_row", first_row), ("rows", n_rows), ("first_col", first_col), ("cols", n_cols),
                ("first_band", first_band), ("bands", n_bands),
            ):  # fmt: skip
                table[field] = value
            table["target"] = np.arange(tiles) * out.strides[0] + layout.dtype.itemsize  # one pixel in
            stream = cupy.cuda.get_current_stream()
            scatter(table, layout, out[0], cols=cols, bands=bands, stream=stream)
            got = out.get()
            part = truth[
                :, first_band : first_band + n_bands, first_row : first_row + n_rows, first_col : first_col + n_cols
            ]
            np.testing.assert_array_equal(bits_of(got[..., 1:-2].copy()), bits_of(part.copy()))
            assert (got[..., 0] == 77).all()
            assert (got[..., -2:] == 77).all()


def test_what_has_no_kernel():
    assert not is_supported(TileLayout("little", 24, "float", 3))
    assert not is_supported(TileLayout("little", 63, "uint", 1))
