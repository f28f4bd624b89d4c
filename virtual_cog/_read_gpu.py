"""Reading pixels of one image into device memory: the window's tiles as a plan for the GPU."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from tiff_codecs.gpu.device import Device, parse_device
from tiff_codecs.gpu.engine import execute
from tiff_codecs.gpu.plan import ReadPlan, Target
from virtual_cog._codecs import check_readable, compression_of
from virtual_cog._image_codecs import image_codec
from virtual_cog._nodata import parse_nodata
from virtual_cog._plan import Window, parse_window, plan_volume
from virtual_cog._tags import Tag

if TYPE_CHECKING:
    from collections.abc import Sequence

    import cupy
    from numpy.typing import NDArray

    from virtual_cog._scene import Scene
    from virtual_cog._source import Source


def read_scene_gpu(
    source: Source,
    scene: Scene,
    window: Sequence[int] | None = None,
    *,
    device: str = "gpu",
    out: Any = None,  # noqa: ANN401 - a CuPy array
) -> cupy.ndarray:
    """Read the pixels of a loaded scene into device memory (see :func:`virtual_cog.read`)."""
    image = scene.image
    wanted = parse_window(image, window)
    layout = check_readable(image)
    where = parse_device(device)
    with where.current():
        out = where.output((*image.shape[:-2], wanted.height, wanted.width), layout.dtype, out)
        _read_into(out[None], source, [scene], wanted, where)
    return out


def read_pages_gpu(
    source: Source,
    pages: Sequence[Scene],
    window: Sequence[int] | None = None,
    *,
    device: str = "gpu",
    out: Any = None,  # noqa: ANN401 - a CuPy array
) -> cupy.ndarray:
    """Read the pixels of the pages of a stack into device memory: shape (pages, bands, height, width)."""
    image = pages[0].image
    wanted = parse_window(image, window)
    layout = check_readable(image)
    where = parse_device(device)
    with where.current():
        out = where.output((len(pages), *image.shape[:-2], wanted.height, wanted.width), layout.dtype, out)
        _read_into(out, source, pages, wanted, where)
    return out


def _read_into(out: cupy.ndarray, source: Source, pages: Sequence[Scene], window: Window, where: Device) -> None:
    """Read ``window`` of all pages, each to its part of ``out``; the device is the current one."""
    nodata = parse_nodata(pages[0].text(Tag.GDALNodata) or "", out.dtype)
    fill = 0 if nodata is None else nodata
    if pages[0].image.is_volume:
        for page, part in zip(pages, out, strict=True):
            _read_volume(source, page, window, part, where, fill)
        return
    plans, whole = zip(*(plan_scene(source, page, window, out[n]) for n, page in enumerate(pages)), strict=True)
    if not all(whole):
        out[...] = fill
    with where.stream() as stream:
        plan = plans[0] if len(plans) == 1 else _joined(plans, out.strides[0])
        execute(plan, out[0], stream, memory_limit=where.memory_limit, strict=where.strict)


def _joined(plans: Sequence[ReadPlan], page_bytes: int) -> ReadPlan:
    """The plans of the pages of a stack as one, whose result begins with the first page."""

    def column(name: str) -> Any:  # noqa: ANN401 - an array
        return np.concatenate([getattr(plan, name) for plan in plans])

    pages = [np.full(len(plan), number) for number, plan in enumerate(plans)]
    targets = {name: np.concatenate([getattr(plan.target, name) for plan in plans]) for name in Target.__slots__}
    targets["offset"] += np.concatenate(pages) * page_bytes
    names = ("file", "offset", "length", "stored_rows")
    place = np.column_stack([np.concatenate(pages), column("place")])
    return replace(plans[0], target=Target(**targets), place=place, **{name: column(name) for name in names})


def plan_scene(source: Source, scene: Scene, window: Window, out: cupy.ndarray) -> tuple[ReadPlan, bool]:
    """The tiles that ``window`` touches, and whether they cover all of it."""
    image = scene.image
    layout, compression = check_readable(image), compression_of(image)
    height, width = image.tile_height, image.tile_width
    rows = np.arange(window.row // height, (window.row + window.height - 1) // height + 1)
    cols = np.arange(window.col // width, (window.col + window.width - 1) // width + 1)
    part = np.s_[:, rows[0] : rows[-1] + 1, cols[0] : cols[-1] + 1]
    counts = scene.tiles.counts[part]
    present = counts > 0
    plane, row, col = (index[present] for index in np.broadcast_arrays(*np.ix_(np.arange(image.grid[0]), rows, cols)))
    offset, length = scene.tiles.offsets[part][present].astype(np.int64), counts[present].astype(np.int64)
    top, left = row * height, col * width
    y0, y1 = np.maximum(top, window.row), np.minimum(top + height, window.row + window.height)
    x0, x1 = np.maximum(left, window.col), np.minimum(left + width, window.col + window.width)
    first_row = y0 - top
    stored_rows = np.minimum(height, image.height - top) if not image.tiled else np.full(len(top), height)
    codec = image_codec(image)
    if compression.is_stored and codec is None:
        # rows of an uncompressed tile stand by themselves: only those that are wanted are read
        row_bytes = layout.row_bytes(width, image.tile_bands)
        offset, stored_rows = offset + first_row * row_bytes, y1 - y0
        length, first_row = stored_rows * row_bytes, np.zeros_like(first_row)
    bands = np.zeros(len(top), np.int32), np.full(len(top), image.tile_bands, np.int32)
    strides = out.strides
    target = (
        (plane if image.planar else 0) * strides[0] + (y0 - window.row) * strides[1] + (x0 - window.col) * strides[2]
    )
    plan = ReadPlan(
        compression=compression,
        fill_order=image.fill_order,
        layout=layout,
        codec=codec,
        tile_rows=height,
        tile_cols=width,
        tile_bands=image.tile_bands,
        files=(source,),
        file=np.zeros(len(offset), np.int32),
        offset=offset,
        length=length,
        stored_rows=stored_rows.astype(np.int32),
        target=Target(np.asarray(target, np.int64), _i4(first_row), _i4(y1 - y0), _i4(x0 - left), _i4(x1 - x0), *bands),
        place=np.stack([plane, row, col], axis=1),
    )
    return plan, bool(present.all())


def _read_volume(
    source: Source,
    scene: Scene,
    window: Window,
    out: cupy.ndarray,
    where: Device,
    fill: Any,  # noqa: ANN401 - a scalar
) -> None:
    """Decode the tiles of a volume one behind the other, and copy from each what is wanted of its slices."""
    image = scene.image
    tiles = list(plan_volume(source, scene, window, out))
    present = [tile for tile in tiles if tile.file is not None]
    if len(present) < len(tiles):
        out[...] = fill
    if not present:
        return
    number = len(present)
    bands, rows, cols = image.tile_bands, image.tile_depth * image.tile_height, image.tile_width
    place = np.array([tile.place for tile in present])
    stored = np.full(number, rows)
    if image.last_strip_rows is not None:
        stored[place[:, 2] == image.grid[2] - 1] = image.last_strip_rows
    pixels = where.output((number, bands, rows, cols), out.dtype)
    each, zero = np.full(number, 1, np.int32), np.zeros(number, np.int32)
    plan = ReadPlan(
        compression=compression_of(image),
        fill_order=image.fill_order,
        layout=image.layout,
        tile_rows=rows,
        tile_cols=cols,
        tile_bands=bands,
        files=(source,),
        file=zero,
        offset=np.array([tile.start for tile in present], np.int64),
        length=np.array([tile.end - tile.start for tile in present], np.int64),
        stored_rows=_i4(stored),
        target=Target(
            np.arange(number, dtype=np.int64) * pixels.strides[0],
            zero,
            _i4(stored),
            zero,
            each * cols,
            zero,
            each * bands,
        ),
        place=place,
    )
    with where.stream() as stream:
        execute(plan, pixels[0], stream, memory_limit=where.memory_limit, strict=where.strict)
    for tile, decoded in zip(present, pixels, strict=True):
        tile.target(decoded)  # type: ignore[operator]


def _i4(values: NDArray[Any]) -> NDArray[np.int32]:
    return values.astype(np.int32)
