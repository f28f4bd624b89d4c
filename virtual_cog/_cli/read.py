"""``virtual-cog read``: the pixels of one image, to a NumPy file or to nowhere."""

from __future__ import annotations

import contextlib
import math
import os
import time
from importlib import import_module
from pathlib import Path  # noqa: TC003 - cyclopts resolves annotations
from typing import TYPE_CHECKING, Annotated, Any, BinaryIO, Final, Literal

from cyclopts import Parameter

from tiff_codecs.errors import TiffAccessError, TiffOptionError
from virtual_cog._cli._interrupt import unfinished
from virtual_cog._cli._output import byte_text, console, progress, rate_text

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Sequence

    import numpy as np
    from cyclopts import Token

    from virtual_cog._image import Image, YCbCr
    from virtual_cog._plan import Window

BLOCK_BYTES: Final = 256 * 2**20
"""Pixels in memory at once: a larger image is read in blocks of whole rows of tiles."""


def _to_window(_: Any, tokens: Sequence[Token]) -> tuple[int, int, int, int]:  # noqa: ANN401
    try:
        col, row, width, height = (int(part) for part in tokens[0].value.split(","))
    except ValueError:
        message = f'"{tokens[0].value}" is not COL,ROW,WIDTH,HEIGHT, e.g. --window 0,0,512,512'
        raise ValueError(message) from None
    return col, row, width, height


def _is_npy(_: Any, output: Path | None) -> None:  # noqa: ANN401
    if output is not None and output.suffix != ".npy":
        message = f'"{output}" is not a .npy file, the only format that is written'
        raise ValueError(message)


def read(
    url: str,
    /,
    *,
    output: Annotated[Path | None, Parameter(alias="-o", metavar="FILE.npy", validator=_is_npy)] = None,
    ifd: Annotated[int, Parameter(metavar="N")] = 0,
    overview_level: Annotated[int | None, Parameter(metavar="N")] = None,
    window: Annotated[
        tuple[int, int, int, int] | None,
        Parameter(
            converter=_to_window, n_tokens=1, metavar="COL,ROW,WIDTH,HEIGHT", allow_leading_hyphen=True, negative=()
        ),
    ] = None,
    device: Annotated[str, Parameter(metavar="NAME")] = "cpu",
    ycbcr: Annotated[Literal["rgb", "stored"], Parameter(show_choices=False, metavar="rgb|stored")] = "rgb",
    overwrite: Annotated[bool, Parameter(negative=(), show_default=False)] = False,
) -> None:
    """Decode an image, and say how fast.

    Pixels are as stored, in the order (bands, rows, columns): no scaling, masking or colour conversion,
    but for --ycbcr.

    Volumes have an axis of slices before the rows.

    Args:
        url: A local path or a URL (http, https, s3, gs, az).
        output: Write the pixels to this .npy file. Without it they are read and dropped.
        ifd: Index of the image; "virtual-cog info" lists them.
        overview_level: Read an overview in the image's place; 0 is the finest.
        window: Read a part, in pixels.
        device: What decodes, e.g. cpu.
        ycbcr: What YCbCr in JPEG comes out as.
        overwrite: Replace the output file if it is there.
    """
    from virtual_cog._plan import parse_window
    from virtual_cog._registry import resolve
    from virtual_cog._scene import find_image, load_image

    import_module("virtual_cog._read")  # what reading needs is imported before the clock starts
    replaces = output is not None and _check_output(output, overwrite=overwrite)
    started = time.perf_counter()
    source = resolve(url)
    directory = source.open()
    found, _ = source.drive(find_image(directory, ifd, overview_level))
    image, _, _ = source.drive(load_image(directory, found.index))
    wanted = parse_window(image, window)
    shape = (*image.shape[:-2], wanted.height, wanted.width)
    size = math.prod(shape) * image.dtype.itemsize
    with _npy(output, shape, image.dtype) as write, progress(f"read {url}", size) as advance:
        for first, block in _blocks(url, image, wanted, device, ycbcr):
            write(first, _on_host(block))
            advance(block.nbytes)
    seconds = time.perf_counter() - started
    out = console()
    out.print(f"{shape} {image.dtype.name}: {byte_text(size)} in {seconds:.3f} s, {rate_text(size, seconds)}")
    if output is None:
        out.print("the pixels were dropped: -o FILE.npy keeps them")
    else:
        out.print(f"{'replaced' if replaces else 'wrote'} {output}")


def _check_output(output: Path, *, overwrite: bool) -> bool:
    """Whether there is a file to be replaced.

    Raises:
        TiffOptionError: there is, but nobody said that it may be; or there is no folder for it.
    """
    if output.is_dir() or not output.parent.is_dir():
        raise TiffOptionError(
            "the output cannot be written",
            url=str(output),
            found="a folder of that name" if output.is_dir() else "no such folder",
            way_out="name a file in a folder that is there",
        )
    if output.exists() and not overwrite:
        raise TiffOptionError(
            "the output is there already", url=str(output), way_out="choose another name, or add --overwrite"
        )
    return output.exists()


def _blocks(url: str, image: Image, window: Window, device: str, ycbcr: YCbCr) -> Iterator[tuple[int, np.ndarray]]:
    """Read a window in parts that end where tiles do; yields the first row within the window, and the pixels."""
    from virtual_cog._read import read as read_pixels

    row_bytes = math.prod(image.shape[:-2]) * window.width * image.dtype.itemsize
    tile_rows = max(1, BLOCK_BYTES // (row_bytes * image.tile_height))
    row, end = window.row, window.row + window.height
    while row < end:
        stop = min((row // image.tile_height + tile_rows) * image.tile_height, end)
        part = (window.col, row, window.width, stop - row)
        yield row - window.row, read_pixels(url, ifd=image.ifd, window=part, device=device, ycbcr=ycbcr)
        row = stop


def _on_host(block: Any) -> np.ndarray:  # noqa: ANN401 - NumPy's array or CuPy's
    return block.get() if hasattr(block, "get") else block


class _Npy:
    """A .npy file that is written in blocks of rows."""

    def __init__(self, file: BinaryIO, shape: tuple[int, ...], dtype: np.dtype[np.generic]) -> None:
        from numpy.lib import format as npy

        self._file, self._height, self._row_bytes = file, shape[-2], shape[-1] * dtype.itemsize
        header = {"descr": npy.dtype_to_descr(dtype), "fortran_order": False, "shape": shape}
        npy.write_array_header_1_0(file, header)
        self._start = file.tell()

    def write(self, first: int, block: np.ndarray) -> None:
        for band, rows in enumerate(block.reshape(-1, *block.shape[-2:])):
            self._file.seek(self._start + (band * self._height + first) * self._row_bytes)
            self._file.write(rows.data if rows.flags.c_contiguous else rows.tobytes())


@contextlib.contextmanager
def _npy(
    output: Path | None, shape: tuple[int, ...], dtype: np.dtype[np.generic]
) -> Generator[Callable[[int, np.ndarray], object]]:
    """Write under another name first: a file of the right name is always whole.

    Raises:
        TiffAccessError: the disk does not take it.
    """
    if output is None:
        yield lambda _first, _block: None
        return
    partial = output.with_name(f".{output.name}.{os.getpid()}.partial")
    unfinished.add(partial)
    try:
        with partial.open("xb") as file:
            yield _Npy(file, shape, dtype).write
        partial.replace(output)
    except OSError as error:
        if isinstance(error, TiffAccessError):
            raise
        raise TiffAccessError(
            "the output cannot be written",
            url=str(output),
            found=error.strerror or str(error),
            way_out="check the permissions of its folder and the space on its disk",
        ) from error
    finally:
        partial.unlink(missing_ok=True)
        unfinished.discard(partial)
