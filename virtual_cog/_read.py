"""Reading pixels of one image straight into a NumPy array, without Zarr in between."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from tiff_codecs.cpu.decoder import TileDecoder
from tiff_codecs.cpu.engine import execute
from tiff_codecs.errors import TiffError, TiffOptionError, TiffUnsupportedError
from tiff_codecs.gpu.device import parse_device
from virtual_cog._codecs import check_readable, compression_of
from virtual_cog._image_codecs import image_codec
from virtual_cog._nodata import parse_nodata
from virtual_cog._options import whole_number
from virtual_cog._plan import Window, parse_window, plan, plan_volume
from virtual_cog._registry import resolve
from virtual_cog._scene import PIXEL_TAGS, load_scene
from virtual_cog._stack import STACK_TAGS, load_stack
from virtual_cog._tags import Tag

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Sequence

    from obspec_utils.registry import ObjectStoreRegistry

    from tiff_codecs.cpu.plan import TileRead
    from virtual_cog._image import YCbCr
    from virtual_cog._scene import Scene
    from virtual_cog._source import Source


def read(
    url: str | os.PathLike[str],
    *,
    ifd: int = 0,
    overview_level: int | None = None,
    window: Sequence[int] | None = None,
    device: str = "cpu",
    out: Any = None,  # noqa: ANN401 - a CuPy array
    registry: ObjectStoreRegistry[Any] | None = None,
    threads: int | None = None,
    ycbcr: YCbCr = "rgb",
    layout: Literal["image", "stack"] = "image",
) -> Any:  # noqa: ANN401 - NumPy's array or CuPy's
    """Read the pixels of one image of a TIFF.

    Args:
        url: a local path, or a URL that ``registry`` (or the environment) has a store for.
        ifd: index of the image: 0 is the first; `virtual-cog info` lists them.
        overview_level: which overview of that image to read: 0 is the finest, None the image itself.
        window: (column, row, width, height) in pixels of what is read; None reads the whole image.
        device: ``"cpu"`` gives a NumPy array; ``"gpu"`` (the current CUDA device) or ``"cuda:1"`` a CuPy array:
            tiles then go to the device as they are in the file, and are decoded there.
        out: a CuPy array of the result's shape and dtype to read into, with any strides; for a GPU alone.
        registry: stores by URL prefix; None makes one for local files, http(s), and object stores
            that the environment has credentials for.
        threads: how many tiles are decoded at once; None takes the number of cores.
        ycbcr: what YCbCr pixels in JPEG come out as: ``"rgb"`` converts them, as GDAL does; ``"stored"`` gives Y, Cb
            and Cr, chroma that pixels share interpolated as libjpeg does.
        layout: ``"image"`` reads one image; ``"stack"`` all pages from ``ifd`` on, which must have the same size, type
            and codecs (see :class:`COGParser`).

    Returns:
        An array (NumPy's or CuPy's) of shape (bands, height, width) in the image's own type and native byte order;
        a volume's shape is (bands, depth, height, width), and pages of a stack stand in an axis in front.
        Pixels are as stored: no scaling, masking or colour conversion, but that of ``ycbcr``. Missing tiles read as
        nodata, else 0.

    Raises:
        TiffNotFoundError: there is no such file.
        TiffAccessError: the store does not give the bytes.
        TiffFormatError: the file is damaged or cut short.
        TiffUnsupportedError: the pixels are stored in a way that is not read; says which.
        TiffDataError: a tile does not decode.
        TiffSelectionError: no such IFD or overview, or the window is not inside the image.
        TiffOptionError: a bad argument.
    """
    if device == "cpu" and out is not None:
        raise TiffOptionError("out is for reading to a GPU", found=type(out).__name__, way_out='pass device="gpu"')
    if device != "cpu":
        parse_device(device)  # before anything is read
    if threads is not None:
        threads = whole_number(threads, "number of threads", least=1)
    if layout not in ("image", "stack"):
        raise TiffOptionError("unknown layout", found=repr(layout), supported='"image" or "stack"')
    if layout == "stack" and overview_level is not None:
        raise TiffOptionError("a stack is of full images", found=f"overview_level={overview_level!r}")
    source = resolve(url, registry)
    directory = source.open()
    if layout == "stack":
        pages = source.drive(load_stack(directory, ifd, metadata=STACK_TAGS)).with_ycbcr(ycbcr).pages
    else:
        scene = source.drive(load_scene(directory, ifd, overview_level, metadata=PIXEL_TAGS))
        pages = (scene.with_ycbcr(ycbcr),)
    if device != "cpu":
        from virtual_cog._read_gpu import read_pages_gpu, read_scene_gpu

        if layout == "stack":
            return read_pages_gpu(source, pages, window, device=device, out=out)
        return read_scene_gpu(source, pages[0], window, device=device, out=out)
    return (
        read_pages(source, pages, window, threads)
        if layout == "stack"
        else read_scene(source, pages[0], window, threads)
    )


def read_scene(
    source: Source, scene: Scene, window: Sequence[int] | None = None, threads: int | None = None
) -> np.ndarray:
    """Read the pixels of a loaded scene (see :func:`read`)."""
    return read_pages(source, [scene], window, threads)[0]


def read_pages(
    source: Source, pages: Sequence[Scene], window: Sequence[int] | None = None, threads: int | None = None
) -> np.ndarray:
    """Read the pixels of loaded scenes that have all in common but where their tiles lie (see :func:`read`).

    Returns:
        Shape (pages, bands, height, width).
    """
    image = pages[0].image
    wanted = parse_window(image, window)
    layout, compression = check_readable(image), compression_of(image)
    tile = image.tile_depth * image.tile_height, image.tile_width, image.tile_bands
    decoder = TileDecoder(compression, image.fill_order, layout, *tile, image_codec(image))
    shape = (len(pages), *image.shape[:-2], wanted.height, wanted.width)
    try:
        out = np.empty(shape, layout.dtype)
    except (MemoryError, ValueError) as error:
        raise TiffUnsupportedError(
            "the image is larger than memory",
            url=image.url,
            ifd=image.ifd,
            found=f"{math.prod(shape[:-2])} bands of {wanted.width} x {wanted.height} pixels",
            way_out="read it by windows",
        ) from error
    fill = parse_nodata(pages[0].text(Tag.GDALNodata) or "", out.dtype)
    try:
        execute(_tiles(source, pages, wanted, out), decoder, fill_value=0 if fill is None else fill, threads=threads)
    except TiffError as error:
        raise error.with_context(ifd=image.ifd if len(pages) == 1 else None) from error.__cause__
    return out


def _tiles(source: Source, pages: Sequence[Scene], window: Window, out: np.ndarray) -> Iterator[TileRead]:
    """The tiles that fill ``window`` of all pages; of several, a tile's place begins with the number of its page."""
    for number, (page, part) in enumerate(zip(pages, out, strict=True)):
        tiles = (plan_volume if page.image.is_volume else plan)(source, page, window, part)
        for tile in tiles:
            yield tile if len(pages) == 1 else replace(tile, place=(number, *tile.place))
