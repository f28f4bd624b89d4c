# ruff: noqa: INP001 - scripts, not a package
"""Our kernels and nvCOMP's over tile sizes and counts, on pixels of a real scene.

    python benchmarks/gpu_grid.py TCI_like.tif deflate lzw zstd

Tiles of three uint8 bands under predictor 2, compressed anew; device to device. Writes JSON and Markdown to
``benchmarks/results``, for each compression by itself.
"""

from __future__ import annotations

import argparse
import zlib
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any, Final

import cupy
import imagecodecs
import numpy as np
from gpu import device
from outputs import RESULTS, place, revision, write

import virtual_cog
from tiff_codecs.gpu import nvcomp, zstd
from tiff_codecs.gpu.inflate import inflate
from tiff_codecs.gpu.lzw import decode_lzw
from virtual_cog._bench.gpu_readers import milliseconds
from virtual_cog._bench.machine import machine, versions

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SIDES: Final = (128, 256, 512, 1024, 2048)
COUNTS: Final = (1, 8, 32, 121, 500, 2000)
DISTINCT: Final = 48
"""Tiles that differ; of more, each is there several times."""

MOST_BYTES: Final = 8 * 2**30


def tiles(pixels: np.ndarray, side: int) -> Iterator[bytes]:
    """Tiles from all over the image, as TIFF holds them before compression."""
    _, height, width = pixels.shape
    across = max(1, min(width // side, 7))
    for number in range(DISTINCT):
        row = number // across * side % (height - side + 1)
        col = number % across * (width - side) // max(across - 1, 1)
        tile = np.moveaxis(pixels[:, row : row + side, col : col + side], 0, -1)
        yield np.diff(tile, axis=1, prepend=np.zeros((side, 1, len(pixels)), np.uint8)).tobytes()


def raw_deflate(data: bytes) -> bytes:
    """Compress without zlib's header and checksum."""
    compressor = zlib.compressobj(6, zlib.DEFLATED, -15)
    return compressor.compress(data) + compressor.flush()


CODECS: Final[dict[str, tuple[str, Callable[[bytes], bytes], Callable[..., Any]]]] = {
    "deflate": ("DEFLATE, zlib's level 6", raw_deflate, inflate),
    "lzw": ("LZW", imagecodecs.lzw_encode, decode_lzw),
    "zstd": ("Zstandard, level 9", partial(imagecodecs.zstd_encode, level=9), zstd.decode),
}
"""What each compression is called, what compresses a tile, and our decoder."""


def compare(codec: str, streams: list[bytes], size: int, count: int, rounds: int) -> tuple[float, float | None]:
    """Milliseconds of ours and of nvCOMP for `count` tiles, medians."""
    which = np.arange(count) % len(streams)
    lengths = np.array([len(stream) for stream in streams], np.uint64)
    starts = np.cumsum((lengths + 31) // 16 * 16) - (lengths + 31) // 16 * 16
    host = np.zeros(int(starts[-1] + lengths[-1]) + 64, np.uint8)
    for start, stream in zip(starts.tolist(), streams, strict=True):
        host[start : start + len(stream)] = np.frombuffer(stream, np.uint8)
    source = cupy.asarray(host)
    room = (size + 31) // 16 * 16
    target = cupy.empty(count * room, np.uint8)
    stream = cupy.cuda.get_current_stream()
    arguments = (
        (source.data.ptr + starts[which]).astype(np.uint64), lengths[which],
        (target.data.ptr + np.arange(count) * room).astype(np.uint64), np.full(count, size, np.uint64), stream,
    )  # fmt: skip
    decode = CODECS[codec][2]
    outcome = decode(*arguments)
    if not bool((outcome.statuses == 0).all() & (outcome.sizes == size).all()):
        raise SystemExit("a tile did not decode")
    ours = median(milliseconds(partial(decode, *arguments), stream) for _ in range(rounds))
    theirs = None
    if nvcomp.is_available() and codec in nvcomp.ALGORITHMS:
        call = partial(nvcomp.decompress, codec, *arguments)
        call()
        theirs = median(milliseconds(call, stream) for _ in range(max(1, rounds // 3)))
    return ours, theirs


def grid(codec: str, pixels: np.ndarray, rounds: int, output: Path) -> None:
    """Compare for one compression, and write the results."""
    title, compress, _ = CODECS[codec]
    rows: list[dict[str, Any]] = []
    lines = ["| tile | " + " | ".join(f"{count} tiles" for count in COUNTS) + " |", "| --- |" + " --- |" * len(COUNTS)]
    with ThreadPoolExecutor() as pool:
        for side in SIDES:
            streams = list(pool.map(compress, tiles(pixels, side)))
            size = side * side * len(pixels)
            cells: list[str] = []
            for count in COUNTS:
                if count * size > MOST_BYTES:
                    cells.append("")
                    continue
                ours, theirs = compare(codec, streams, size, count, rounds)
                rows.append({"side": side, "count": count, "ours_ms": ours, "nvcomp_ms": theirs})
                cells.append(f"{ours:.2f}" if theirs is None else f"{ours:.2f} / {theirs:.1f}")
            lines.append(f"| {side} x {side} | " + " | ".join(cells) + " |")
    results = {
        "schema": "virtual-cog decoder grid", "schema_version": 1, "codec": codec,
        "date": datetime.now(UTC).isoformat(timespec="seconds"), "machine": machine(), "device": device(),
        "versions": versions(), "revision": revision(), "cells": rows,
    }  # fmt: skip
    head = [f"# {title} on the device, by tiles", "", f"{results['device']['name']}, {results['date'][:10]};"]
    head += ["ms of ours / of nvCOMP, medians, device to device.", ""]
    write(place(results, f"gpu-grid-{codec}", output), results, "\n".join(head + lines) + "\n")


def main() -> None:
    """Parse the arguments, and run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    parser.add_argument("codec", nargs="+", choices=list(CODECS))
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--output", type=Path, default=RESULTS)
    arguments = parser.parse_args()
    pixels = virtual_cog.read(arguments.file)
    for codec in arguments.codec:
        grid(codec, pixels, arguments.repeat, arguments.output)


if __name__ == "__main__":
    main()
