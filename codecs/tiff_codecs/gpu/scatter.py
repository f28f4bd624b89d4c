"""Decompressed tiles on the device to pixels in place: one kernel for byte order, predictor, bits and bands."""

from __future__ import annotations

from functools import lru_cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Final

import numpy as np

if TYPE_CHECKING:
    import cupy
    from numpy.typing import NDArray

    from tiff_codecs.layout import TileLayout

__all__ = ["TILE", "compile_options", "is_supported", "scatter"]

TILE: Final = np.dtype(
    [
        ("source", "u8"),
        ("target", "i8"),
        ("first_row", "i4"),
        ("rows", "i4"),
        ("first_col", "i4"),
        ("cols", "i4"),
        ("first_band", "i4"),
        ("bands", "i4"),
    ]
)
"""One tile as the kernel takes it: the device address of its bytes, the byte offset in the result of its
first wanted pixel, and the rows, columns and bands of the tile that are wanted."""

WARPS: Final = 8
PIXELS_PER_LANE: Final = {1: 8, 2: 8, 4: 4, 8: 2, 16: 1}
MOST_TILES: Final = 65_535
"""Tiles of one launch: the y dimension of a grid."""


def is_supported(layout: TileLayout) -> bool:
    """Whether the kernel decodes tiles of this layout.

    It does all but float24 with predictor 3, and packed integers of over 56 bits, which do not fit a register
    with the bits before them.
    """
    return not (layout.predictor == 3 and layout.bits_per_sample == 24) and not (
        layout.is_packed and layout.bits_per_sample > 56
    )


def compile_options(layout: TileLayout, bands: int) -> tuple[str, ...]:
    """The macros that `kernels/scatter` is compiled with for a layout, and a tile's number of bands."""
    pixel = layout.dtype.itemsize
    parts, kind, stored = 1, 0, layout.bits_per_sample // 8
    if layout.is_packed:
        kind, stored = 1, 1
    elif layout.sample_format == "float" and layout.bits_per_sample == 24:
        kind, stored = 2, 1
    elif layout.sample_format == "complex_int":
        kind, parts = 3, 2
    elif layout.sample_format == "complex_float":
        parts = 2
    if parts == 2 and layout.predictor == 1:
        stored //= 2  # the parts are words of their own, except under predictor 2
    if layout.predictor == 2:
        parts = 1
    swap = layout.byte_order == "big" and (kind == 2 or layout.word_bytes > 1)
    values = {
        "KIND": kind,
        "BYTES": stored,
        "PARTS": parts,
        "BITS": layout.bits_per_sample,
        "SIGNED": int(layout.sample_format == "int"),
        "PREDICTOR": layout.predictor,
        "SWAP": int(swap),
        "OUT": pixel,
        "PER": PIXELS_PER_LANE[pixel],
        "BANDS": bands if kind == 0 and parts == 1 and _lie_together(layout, bands) else 0,
    }
    return ("--std=c++17", *(f"-D{name}={value}" for name, value in values.items()))


def _lie_together(layout: TileLayout, bands: int) -> bool:
    """Whether the kernel takes all bands of a pixel at once."""
    return layout.predictor < 3 and layout.bits_per_sample <= 32 and bands <= 4


def source() -> str:
    """The CUDA source of the kernel: the files of its folder, in order."""
    folder = files("tiff_codecs.gpu") / "kernels" / "scatter"
    return "\n".join(part.read_text() for part in sorted(folder.iterdir(), key=lambda part: part.name))


@lru_cache(maxsize=256)
def _kernel(options: tuple[str, ...], device: int) -> Any:  # noqa: ANN401, ARG001 - one module for each device
    import cupy

    return cupy.RawModule(code=source(), options=options).get_function("scatter")


def scatter(
    tiles: NDArray[np.void],
    layout: TileLayout,
    out: cupy.ndarray,
    *,
    cols: int,
    bands: int,
    stream: cupy.cuda.Stream,
) -> None:
    """Write the wanted pixels of decompressed tiles into `out`, on `stream`.

    Args:
        tiles: of dtype `TILE`. Every source must hold the rows that are wanted of it.
        layout: what the decompressed bytes mean.
        out: of `layout.dtype` and at least three dimensions, the last three (bands, rows, columns), with any
            strides. `target` counts from its first byte.
        cols: columns of a tile.
        bands: bands of a tile.
        stream: where the work is queued.
    """
    import cupy

    options = compile_options(layout, bands)
    kernel = _kernel(options, cupy.cuda.runtime.getDevice())
    together = "-DBANDS=0" not in options
    for start in range(0, len(tiles), MOST_TILES):
        part = tiles[start : start + MOST_TILES]
        table = cupy.asarray(part.view(np.uint8))
        warps = int((part["rows"].astype(np.int64) * (1 if together else part["bands"])).max())
        grid = (min(-(-warps // WARPS), 2**31 - 1), len(part))
        band_stride, row_stride, col_stride = out.strides[-3:]
        arguments = (
            table, out, np.int32(cols), np.int32(bands), np.int64(layout.row_bytes(cols, bands)),
            np.int64(band_stride), np.int64(row_stride), np.int64(col_stride),
        )  # fmt: skip
        kernel(grid, (32 * WARPS,), arguments, stream=stream)
