"""Readers of headers: IFDs and tile tables, or a store of references; no pixels."""

from __future__ import annotations

import mmap
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from virtual_cog._bench.pixel_readers import in_loop
from virtual_cog._bench.readers import Call, Reader, library
from virtual_cog._directory import Directory
from virtual_cog._registry import registry_for, resolve
from virtual_cog._tiles import tile_tags

if TYPE_CHECKING:
    from collections.abc import Buffer

    from virtual_cog._bench.task import Task
    from virtual_cog._ifd import Ifd
    from virtual_cog._segments import Steps

ALL: Final = "all IFDs"
REFERENCES: Final = "references"
OPEN: Final = "first image"


def every_ifd(directory: Directory) -> Steps[tuple[Ifd, ...]]:
    """Walk all IFDs and read the value of every tag, the tile tables included."""
    ifds = yield from directory.all()
    yield from directory.segments.ensure([span for ifd in ifds for span in ifd.load(ifd)])
    for ifd in ifds:
        for tag in tile_tags(ifd):
            ifd.values(tag)
    return ifds


def parse_bytes(data: Buffer) -> tuple[Ifd, ...]:
    """Parse all IFDs of a file in memory."""
    view = memoryview(data)
    steps = every_ifd(Directory("memory", view, view.nbytes))
    try:
        next(steps)
    except StopIteration as done:
        return done.value
    msg = "bytes were asked for although all of them are there"
    raise AssertionError(msg)


def _memory(task: Task, _: int) -> Call:
    with task.path.open("rb") as file:
        data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    return partial(parse_bytes, data)


def _obstore(task: Task, _: int) -> Call:
    def call() -> tuple[Ifd, ...]:
        source = resolve(task.path)
        return source.drive(every_ifd(source.open()))

    return call


def _references(task: Task, _: int) -> Call:
    from virtual_cog._parser import COGParser

    parser, registry = COGParser(ifd=task.ifd), registry_for(task.path)
    return lambda: parser(task.url, registry)


def _virtual_tiff(task: Task, _: int) -> Call:
    from obspec_utils.registry import ObjectStoreRegistry
    from obstore.store import LocalStore

    parser = library("virtual_tiff").VirtualTIFF(ifd=task.ifd)
    registry = ObjectStoreRegistry({"file://": LocalStore()})
    return lambda: parser(task.url, registry)


def _async_tiff(task: Task, _: int) -> Call:
    from obstore.store import LocalStore

    async_tiff = library("async_tiff")
    store = LocalStore()

    async def work() -> Any:  # noqa: ANN401
        return await async_tiff.TIFF.open(str(task.path), store=store)

    return in_loop(work)


def _tifffile(task: Task, _: int) -> Call:
    tifffile = library("tifffile")

    def call() -> list[Any]:
        with tifffile.TiffFile(task.path) as file:
            pages = list(file.pages)
            for page in pages:
                _ = page.dataoffsets, page.databytecounts  # read when asked for
            return pages

    return call


def _rasterio(task: Task, _: int) -> Call:
    rasterio = library("rasterio")

    def call() -> tuple[int, int]:
        with (
            rasterio.Env(GDAL_PAM_ENABLED=False, GDAL_DISABLE_READDIR_ON_OPEN="EMPTY_DIR"),
            rasterio.open(task.path, driver="GTiff") as source,
        ):
            return source.width, source.height

    return call


def _ifd_facts(ifds: tuple[Ifd, ...]) -> dict[str, int]:
    counts = [ifd.values(tile_tags(ifd)[1]) for ifd in ifds]
    return {
        "width": ifds[0].integer(256, 0),
        "height": ifds[0].integer(257, 0),
        "ifds": sum(ifd.parent is None for ifd in ifds),
        "tiles": sum(0 if count is None else len(count) for count in counts),
        "stored bytes": sum(0 if count is None else int(count.sum()) for count in counts),
    }


def _page_facts(pages: list[Any]) -> dict[str, int]:
    return {
        "width": pages[0].imagewidth,
        "height": pages[0].imagelength,
        "ifds": len(pages),
        "tiles": sum(len(page.dataoffsets) for page in pages),
        "stored bytes": sum(sum(page.databytecounts) for page in pages),
    }


def _async_tiff_facts(tiff: Any) -> dict[str, int]:  # noqa: ANN401
    ifds = tiff.ifds
    return {"width": ifds[0].image_width, "height": ifds[0].image_height, "ifds": len(ifds)}


def _store_facts(store: Any) -> dict[str, int]:  # noqa: ANN401
    arrays = store._group.arrays  # noqa: SLF001 - the manifest has no public way out of the store
    manifest = next(array for array in arrays.values() if array.ndim > 1).manifest
    lengths: Any = manifest._lengths  # noqa: SLF001
    return {"referenced tiles": int((lengths > 0).sum()), "referenced bytes": int(lengths.sum())}


HEADER_READERS: Final[tuple[Reader, ...]] = (
    Reader(
        name="tifffile", kind="headers", scope=ALL, prepare=_tifffile, needs=("tifffile",), baseline=True,
        inspect=_page_facts,
    ),
    Reader(
        name="virtual-cog, bytes in memory", kind="headers", scope=ALL, prepare=_memory, ours=True, inspect=_ifd_facts,
    ),
    Reader(name="virtual-cog, obstore", kind="headers", scope=ALL, prepare=_obstore, ours=True, inspect=_ifd_facts),
    Reader(
        name="async-tiff", kind="headers", scope=ALL, prepare=_async_tiff, needs=("async_tiff",), risky=True,
        inspect=_async_tiff_facts,
    ),
    Reader(
        name="rasterio open", kind="headers", scope=OPEN, prepare=_rasterio, needs=("rasterio",),
        inspect=lambda size: dict(zip(("width", "height"), size, strict=True)),
    ),
    Reader(
        name="virtual-cog, ManifestStore", kind="headers", scope=REFERENCES, prepare=_references, ours=True,
        inspect=_store_facts,
    ),
    Reader(
        name="virtual-tiff, ManifestStore", kind="headers", scope=REFERENCES, prepare=_virtual_tiff,
        needs=("virtual_tiff",), risky=True, inspect=_store_facts,
    ),
)  # fmt: skip
"""In the order of reports."""
