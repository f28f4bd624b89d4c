"""One read on the CPU: threads that fetch and decode tile after tile straight to its place."""

from __future__ import annotations

import os
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from itertools import chain
from typing import TYPE_CHECKING, Any, Final

from tiff_codecs.cpu.fetch import Fetcher
from tiff_codecs.cpu.plan import TileRead, group, in_row_blocks
from tiff_codecs.errors import TiffError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tiff_codecs.cpu.decoder import TileDecoder

__all__ = ["execute"]

REMOTE_THREADS: Final = 16
"""Requests in flight to a remote store at least, whatever the number of cores."""


def execute(
    tiles: Iterable[TileRead],
    decoder: TileDecoder,
    *,
    fill_value: Any,  # noqa: ANN401 - a scalar
    threads: int | None = None,
) -> None:
    """Read tiles, each to its target; returns when the samples are there.

    Beside the result, a thread has the bytes of one tile (or of some small ones) and the tile decompressed in memory.

    Args:
        tiles: in the order of their files.
        decoder: decodes them.
        fill_value: of the samples of missing tiles.
        threads: how many decode at once; None takes the number of cores, and more where requests go far.

    Raises:
        TiffAccessError: a file cannot be read.
        TiffDataError: a tile does not decode; names file and tile.
    """
    row_bytes = decoder.row_bytes
    if row_bytes is not None:
        tiles = chain.from_iterable(
            (tile,) if tile.file is None or callable(tile.target) else in_row_blocks(tile, row_bytes) for tile in tiles
        )
    tiles = list(tiles)
    local = all(tile.file is None or tile.file.local_path is not None for tile in tiles)
    groups = deque(group(tiles, local=local))
    cores = os.cpu_count() or 1
    workers = min(threads or (cores if local else max(REMOTE_THREADS, cores)), len(groups))

    def work() -> None:
        with Fetcher() as fetcher:
            while groups:
                try:
                    together = groups.popleft()
                except IndexError:  # another thread took the last one
                    return
                try:
                    _read(together, fetcher, decoder, fill_value)
                except BaseException:
                    groups.clear()  # the other threads need not go on
                    raise

    if workers <= 1:
        work()
        return
    with ThreadPoolExecutor(workers, thread_name_prefix="tiff-codecs") as pool:
        try:
            for done in [pool.submit(work) for _ in range(workers)]:
                done.result()
        except BaseException:
            groups.clear()  # an interrupt need not wait for all tiles
            raise


def _read(together: list[TileRead], fetcher: Fetcher, decoder: TileDecoder, fill_value: Any) -> None:  # noqa: ANN401
    """Fetch tiles with one request, decode them and place their samples."""
    file, start = together[0].file, together[0].start
    if file is None:
        for tile in together:
            tile.target[...] = fill_value  # type: ignore[index]
        return
    data = fetcher.fetch(file, start, max(tile.end for tile in together))
    for tile in together:
        own = data[tile.start - start : tile.end - start]
        try:
            if callable(tile.target):
                tile.target(decoder.decode(own))
            else:
                decoder.decode_into(own, tile.target, rows=tile.rows, first=tile.first)
        except TiffError as error:
            raise error.with_context(url=file.url, tile=tile.place) from error
