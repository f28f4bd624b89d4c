"""JPEG on the device, parallel inside a tile: the host's part of `kernels/jpeg`."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files as resources
from typing import TYPE_CHECKING, Any, Final

import numpy as np

if TYPE_CHECKING:
    import cupy
    from numpy.typing import NDArray

__all__ = ["JpegOutcome", "can_decode", "decode", "is_supported"]

THREADS: Final = 256
SPAN: Final = 1056
"""How the kernels are compiled: see the top of `kernels/jpeg`."""

TILE: Final = np.dtype(
    [
        ("source", "u8"),
        ("source_bytes", "u8"),
        ("target", "u8"),
        ("plain", "u8"),
        ("first", "u8"),
        ("blocks", "u4"),
        ("rows", "u4"),
        ("whole_rows", "u4"),
        ("unused", "u4"),
    ]
)
"""A tile as the kernels take it."""

IMAGE_BYTES: Final = 192
BLOCK_BYTES: Final = 128
"""Sizes of the kernels' structures: what is known of a tile, and a block of coefficients."""

MOST_BANDS: Final = 4
MOST_SOURCE: Final = 2**29 - 64
MOST_BLOCKS: Final = 2**25
"""Bytes of a stream and blocks of a tile that the kernels' counts of bits and bytes hold."""

MOST_TILES: Final = 65_535
"""Tiles of one launch: the y dimension of a grid."""

ROOM: Final = 2**30
"""Bytes of coefficients at a time, if no single tile has more."""


@dataclass(frozen=True, slots=True)
class JpegOutcome:
    """What came of each tile, on the device: to be read when the queue has got there."""

    statuses: cupy.ndarray
    """0 where the tile is whole, uint32 of shape (tiles,). Others are damaged, or of a kind that is not decoded here:
    progressive, arithmetic or lossless, of several scans or with unusual sampling."""
    kept: Any
    """Holds the memory that the queued work uses."""


def is_supported(dtype: np.dtype[Any], bands: int) -> bool:
    """Whether the kernels decode tiles to such samples: up to four bands of unsigned bytes."""
    return dtype == np.uint8 and bands <= MOST_BANDS


def can_decode(source_bytes: NDArray[np.integer[Any]], rows: NDArray[np.integer[Any]], cols: int, bands: int) -> bool:
    """Whether tiles of these lengths and rows fit the kernels' counters."""
    return bool((source_bytes <= MOST_SOURCE).all() and (_blocks(rows, cols, bands) <= MOST_BLOCKS).all())


@lru_cache(maxsize=16)
def _kernels(device: int) -> dict[str, Any]:  # noqa: ARG001 - one module for each device
    import cupy

    module = cupy.RawModule(code=source(), options=compile_options())
    return {name: module.get_function(name) for name in ("headers", "unstuff", "decode", "sum", "idct", "pixels")}


def source() -> str:
    """The CUDA source of the kernels: the files of their folder, in order."""
    folder = resources("tiff_codecs.gpu") / "kernels" / "jpeg"
    return "\n".join(part.read_text() for part in sorted(folder.iterdir(), key=lambda part: part.name))


def compile_options() -> tuple[str, ...]:
    """What `kernels/jpeg` is compiled with."""
    macros = {"THREADS": THREADS, "SPAN": SPAN, "TILE_BYTES": TILE.itemsize, "IMAGE_BYTES": IMAGE_BYTES}
    return ("--std=c++17", *(f"-D{name}={value}" for name, value in macros.items()))


def decode(
    sources: NDArray[np.uint64],
    source_bytes: NDArray[np.integer[Any]],
    targets: NDArray[np.uint64],
    rows: NDArray[np.integer[Any]],
    stream: cupy.cuda.Stream,
    *,
    whole_rows: int | None,
    cols: int,
    bands: int,
    tables: bytes | None,
    ycbcr_to_rgb: bool,
) -> JpegOutcome:
    """Decode JPEG tiles to interleaved samples of 8 bits, queued on `stream`.

    Args:
        sources: device addresses of the tiles, with any alignment; the 16 aligned bytes that each of their bytes lies
            in must be readable.
        source_bytes: their lengths.
        targets: device addresses of the samples, multiples of 4: rows * cols * bands bytes each.
        rows: rows that are wanted of each.
        stream: where the work is queued, and the current one.
        whole_rows: rows that each may have instead, of which the first are then taken.
        cols: columns of each.
        bands: components of each.
        tables: quantization and Huffman tables that all share (the tag JPEGTables).
        ycbcr_to_rgb: whether three components are YCbCr and come out as RGB.
    """
    import cupy

    kernels = _kernels(cupy.cuda.runtime.getDevice())
    number, u4 = len(sources), np.uint32
    images = cupy.empty((number, IMAGE_BYTES), np.uint8)
    statuses = cupy.empty(number, u4)
    shared = cupy.asarray(np.frombuffer(tables or b"\0", np.uint8))
    most_rows = np.maximum(rows, whole_rows or 0)
    blocks = _blocks(most_rows, cols, bands)
    plain_room = (source_bytes.astype(np.int64) + 31) // 16 * 16
    parts = _parts(blocks)
    most = max(int(blocks[part].sum()) for part in parts)
    coefficients = cupy.empty(most * BLOCK_BYTES, np.uint8)
    constants, starts = cupy.empty(most, np.int32), cupy.empty(most, u4)
    plain = cupy.empty(max(int(plain_room[part].sum()) for part in parts), np.uint8)

    table = np.zeros(number, TILE)
    table["source"], table["source_bytes"], table["target"] = sources, source_bytes, targets
    table["blocks"], table["rows"], table["whole_rows"] = blocks, rows, whole_rows or rows
    for part in parts:
        table["first"][part] = np.cumsum(blocks[part]) - blocks[part]
        table["plain"][part] = plain.data.ptr + np.cumsum(plain_room[part]) - plain_room[part]
    tiles = cupy.asarray(table.view(np.uint8).reshape(number, TILE.itemsize))

    def launch(name: str, grid: tuple[int, ...], *arguments: Any) -> None:  # noqa: ANN401
        kernels[name](grid, (THREADS,), arguments, stream=stream)

    for part in parts:
        count = part.stop - part.start
        own = tiles[part], images[part]
        outcome = statuses[part]
        largest = int(blocks[part].max())
        groups = -(-int(rows[part].max()) * -(-cols // 4) // THREADS)
        coefficients.data.memset_async(0, coefficients.nbytes, stream)
        launch(
            "headers", (-(-count // THREADS),), own[0], u4(count), shared, u4(len(tables or b"")), u4(cols), u4(bands),
            own[1], outcome,
        )  # fmt: skip
        launch("unstuff", (count,), *own, starts, outcome)
        launch("decode", (count,), *own, starts, coefficients, constants, outcome)
        launch("sum", (count, bands), *own, constants, outcome)
        launch("idct", (-(-largest * 8 // THREADS), count), *own, coefficients, constants, outcome)
        launch("pixels", (groups, count), *own, coefficients, u4(ycbcr_to_rgb), outcome)
    return JpegOutcome(statuses, (images, shared, coefficients, constants, starts, plain, tiles))


def _blocks(rows: NDArray[np.integer[Any]], cols: int, bands: int) -> NDArray[np.int64]:
    """Blocks of 8 x 8 samples that tiles have at most, filled up to whole MCUs of up to 16 x 16 pixels."""
    return bands * (2 * (-(-rows.astype(np.int64) // 16))) * (2 * (-(-cols // 16)))


def _parts(blocks: NDArray[np.int64]) -> list[slice]:
    """Runs of about equal numbers of tiles, that about fit the room."""
    number = len(blocks)
    count = max(-(-int(blocks.sum()) * BLOCK_BYTES // ROOM), -(-number // MOST_TILES))
    cuts = np.linspace(0, number, min(count, number) + 1).astype(int).tolist()
    return [slice(begin, end) for begin, end in itertools.pairwise(cuts)]
