"""Reading pixels of one image straight into a NumPy array, without Zarr in between."""

from __future__ import annotations

import os
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import numpy as np
from obstore.store import LocalStore

from tiff_codecs import fill_order
from tiff_codecs.errors import TiffDataError, TiffError, TiffOptionError, TiffUnsupportedError
from tiff_codecs.gpu.device import parse_device
from tiff_codecs.samples import decode_samples
from virtual_cog._codecs import check_readable, compression_of
from virtual_cog._image_codecs import image_codec
from virtual_cog._nodata import parse_nodata
from virtual_cog._plan import Job, Window, group, parse_window, plan
from virtual_cog._registry import resolve
from virtual_cog._scene import Scene, load_scene
from virtual_cog._tags import Tag

if TYPE_CHECKING:
    from collections.abc import Buffer, Sequence

    from obspec_utils.registry import ObjectStoreRegistry

    from virtual_cog._image import Image, YCbCr
    from virtual_cog._source import Source

LOCAL = {"gap": 0, "most": 128 * 1024}
REMOTE = {"gap": 64 * 1024, "most": 1024 * 1024}
"""How far tiles may lie apart, and how much one request may hold, for :func:`virtual_cog._plan.group`."""

REMOTE_THREADS = 16
"""Requests in flight to a remote store at least, whatever the number of cores."""


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
            and Cr, with shared chroma samples repeated.

    Returns:
        An array (NumPy's or CuPy's) of shape (bands, height, width) in the image's own type and native byte order.
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
    if threads is not None and threads < 1:
        raise TiffOptionError("bad number of threads", found=repr(threads), supported="1 or more")
    source = resolve(url, registry)
    scene = source.drive(load_scene(source.open(), ifd, overview_level)).with_ycbcr(ycbcr)
    if device != "cpu":
        from virtual_cog._read_gpu import read_scene_gpu

        return read_scene_gpu(source, scene, window, device=device, out=out)
    return read_scene(source, scene, window, threads)


def read_scene(
    source: Source, scene: Scene, window: Sequence[int] | None = None, threads: int | None = None
) -> np.ndarray:
    """Read the pixels of a loaded scene (see :func:`read`)."""
    image = scene.image
    wanted = parse_window(image, window)
    decoder = TileDecoder(image)
    try:
        out = np.empty((image.bands, wanted.height, wanted.width), decoder.layout.dtype)
    except (MemoryError, ValueError) as error:
        raise TiffUnsupportedError(
            "the image is larger than memory",
            url=image.url,
            ifd=image.ifd,
            found=f"{image.bands} bands of {wanted.width} x {wanted.height} pixels",
            way_out="read it by windows",
        ) from error
    fill = parse_nodata(scene.text(Tag.GDALNodata) or "", out.dtype)
    local = isinstance(source.store, LocalStore)
    cores = os.cpu_count() or 1
    groups = deque(group(plan(scene, wanted), **(LOCAL if local else REMOTE)))
    workers = min(threads or (cores if local else max(REMOTE_THREADS, cores)), len(groups))

    def work() -> None:
        while groups:
            try:
                jobs = groups.popleft()
            except IndexError:  # another thread took the last ones
                return
            try:
                _fetch_and_place(jobs, source, decoder, wanted, out, 0 if fill is None else fill)
            except BaseException:
                groups.clear()  # the other threads need not go on
                raise

    if workers <= 1:
        work()
    else:
        with ThreadPoolExecutor(workers, thread_name_prefix="virtual-cog") as pool:
            try:
                for done in [pool.submit(work) for _ in range(workers)]:
                    done.result()
            except BaseException:
                groups.clear()  # an interrupt need not wait for all tiles
                raise
    return out


def _fetch_and_place(
    jobs: list[Job],
    source: Source,
    decoder: TileDecoder,
    window: Window,
    out: np.ndarray,
    fill: Any,  # noqa: ANN401
) -> None:
    """Read the bytes of ``jobs`` with one request, decode them and copy their pixels into ``out``."""
    start, end = jobs[0].start, max(job.end for job in jobs)
    data = memoryview(source.read(start, end) if end > start else b"").cast("B")
    image = decoder.image
    for job in jobs:
        top = job.row * image.tile_height + job.first
        left = job.col * image.tile_width
        y0, y1 = max(top, window.row), min(top + job.rows, window.row + window.height)
        x0, x1 = max(left, window.col), min(left + image.tile_width, window.col + window.width)
        bands = slice(job.plane, job.plane + 1) if image.planar else slice(None)
        target = out[bands, y0 - window.row : y1 - window.row, x0 - window.col : x1 - window.col]
        if job.start == job.end:
            target[...] = fill
            continue
        try:
            pixels = decoder.decode(data[job.start - start : job.end - start], job.rows)
        except TiffError as error:
            place = (job.plane, job.row, job.col)
            raise error.with_context(url=image.url, ifd=image.ifd, tile=place) from error
        target[...] = pixels[:, y0 - top : y1 - top, x0 - left : x1 - left]


class TileDecoder:
    """Decodes the tiles of one image: what its tags say is looked up once."""

    def __init__(self, image: Image) -> None:
        """Look up the decoder of ``image``.

        Raises:
            TiffUnsupportedError: its pixels are not read; says why.
        """
        self.image = image
        self.layout = check_readable(image)
        self._decompress = compression_of(image).decode
        self._codec = image_codec(image)

    def decode(self, data: Buffer, rows: int) -> np.ndarray:
        """Decode one tile's bytes as the file has them.

        Args:
            data: the tile's bytes.
            rows: rows the tile holds: fewer than the image's tile height in a short last strip.

        Returns:
            Pixels of shape (bands in the tile, rows, tile width), maybe a view of ``data``.

        Raises:
            TiffDataError: the bytes do not decode, or to too few pixels.
        """
        cols, bands = self.image.tile_width, self.image.tile_bands
        size = self.layout.tile_bytes(rows, cols, bands)
        if self.image.fill_order != 1:
            data = fill_order.decode(data, memoryview(data).nbytes)
        raw = data if self._decompress is None else self._decompress(data, size)
        if self._codec is not None:
            whole = self.image.tile_height
            return self._codec.decode_tile(raw, self.layout.dtype, rows=whole, cols=cols, bands=bands, short=rows)
        if memoryview(raw).nbytes < size:
            # also where a whole strip decodes to as many rows as the short last one has
            raise TiffDataError("a tile decodes to too few bytes", found=memoryview(raw).nbytes, supported=size)
        return decode_samples(raw, self.layout, rows=rows, cols=cols, bands=bands)
