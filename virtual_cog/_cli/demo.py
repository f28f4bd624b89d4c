"""``virtual-cog demo``: a tour of all that the package does, on a file made for it or on one that is given."""

from __future__ import annotations

import contextlib
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast
from urllib.parse import urlsplit

from cyclopts import Parameter

from tiff_codecs.errors import TiffError
from virtual_cog._cli._output import byte_text, console, need, plural, printable, progress, quiet_icechunk, time_text

if TYPE_CHECKING:
    from collections.abc import Generator

    import numpy as np
    from rich.console import Console

    from virtual_cog._file_info import FileInfo
    from virtual_cog._icechunk import Reference


def demo(
    url: str | None = None, /, *, output: Annotated[Path | None, Parameter(alias="-o", metavar="DIR")] = None
) -> int:
    """Take a tour: from a COG to Zarr and back, each step timed and its outcome checked.

    Makes a small COG, turns it into a virtual dataset with VirtualiZarr, commits that to Icechunk, reads it back
    in a process that knows nothing of virtual-cog, compares every bit with GDAL, and draws a picture.

    Args:
        url: Use this file instead: a local path or a URL (http, https, s3, gs, az).
        output: Folder for what is made: new or empty. By default a new temporary folder.
    """
    need("icechunk", "matplotlib", "rasterio")
    quiet_icechunk()
    from virtual_cog._icechunk import check_directory

    if output is None:
        folder = Path(tempfile.mkdtemp(prefix="virtual-cog-demo-"))
    else:
        check_directory(output)
        output.mkdir(exist_ok=True)
        folder = output.absolute()
    out = console()
    tour = Tour(out)
    try:
        same = _take(tour, url, folder)
    finally:
        tour.print_table()
        if output is None and not any(folder.iterdir()):
            folder.rmdir()
    for name, path in tour.made.items():
        out.print(f"{name:10}  {path}")
    if tour.code:
        out.print("\nopen the references, wherever virtual-cog is installed:\n")
        out.print(tour.code, end="")
    return 0 if same else 1


@dataclass(slots=True)
class Tour:
    """The steps taken so far."""

    out: Console
    rows: list[tuple[str, str, str, str]] = field(default_factory=list[tuple[str, str, str, str]])
    """What was done, how long it took, what came out, and the style of that."""
    made: dict[str, Path] = field(default_factory=dict[str, Path])
    code: str = ""

    @contextlib.contextmanager
    def step(self, what: str) -> Generator[list[str]]:
        """Time a step; what it appends to the list is its outcome, and a second item the style of it."""
        outcome: list[str] = []
        started = time.perf_counter()
        try:
            with progress(what):
                yield outcome
        except BaseException:
            self.rows.append((what, "", "failed", "red"))
            raise
        said, style = [*outcome, "", ""][:2]
        self.rows.append((what, time_text(time.perf_counter() - started), said, style))

    def print_table(self) -> None:
        """Print all steps."""
        from rich import box
        from rich.table import Table
        from rich.text import Text

        table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0), show_edge=False)
        table.add_column("step", no_wrap=True)
        table.add_column("time", justify="right", no_wrap=True)
        table.add_column("outcome", overflow="fold")
        for what, took, outcome, style in self.rows:
            table.add_row(printable(what), took, Text(printable(outcome), style))
        self.out.print(table)
        self.out.print()


def _take(tour: Tour, url: str | None, folder: Path) -> bool:
    """Go through all steps; returns whether the pixels are right."""
    from virtual_cog._cli._demo_check import read_in_fresh_process, window_to_check
    from virtual_cog._icechunk import open_reference, write_repository
    from virtual_cog._info import describe

    with tour.step("load VirtualiZarr and Icechunk") as said:
        import icechunk
        import virtualizarr

        said.append(f"VirtualiZarr {virtualizarr.__version__}, Icechunk {icechunk.__version__}")
    if url is None:
        with tour.step("make a COG") as said:
            from virtual_cog._cli._demo_scene import write_cog

            tour.made["COG"] = folder / "scene.tif"
            write_cog(tour.made["COG"])
            url = str(tour.made["COG"])
            said.append("a landscape, by GDAL's COG driver")
    with tour.step("read its IFDs") as said:
        described = describe(url)
        said.append(_summary(described))
    image = described.ifds[0]
    with tour.step("make a virtual dataset") as said:
        reference = open_reference(url)
        sizes = ", ".join(f"{name} {size}" for name, size in reference.dataset.sizes.items())
        said.append(f"open_virtual_dataset(..., parser=COGParser()): {sizes}")
    with tour.step("commit it to Icechunk") as said:
        written = write_repository([reference], folder / "references.icechunk", message="virtual-cog demo")
        tour.made["references"], tour.code = written.path, written.how_to_open()
        tiles = (image.tile_count or 0) - (image.missing_tiles or 0)
        said.append(f"{plural(tiles, 'tile')} referred to, no pixel copied")
    window = window_to_check(image)
    whole = window[2:] == (image.width, image.height)
    part = "all pixels" if whole else f"a window of {window[2]} x {window[3]} pixels of {image.width} x {image.height}"
    with tour.step("read it in a fresh process") as said:
        fresh = read_in_fresh_process(tour.code, window, folder)
        if fresh.facts["imported_virtual_cog"]:
            raise TiffError("the fresh process imported virtual_cog", way_out="report this: it must not need it")
        took = time_text(fresh.facts["read_seconds"])
        said.append(f"{part} in {took} by Zarr alone, through {', '.join(fresh.facts['codecs'])}")
    same = _compare(tour, reference.url, fresh.pixels, window)
    with tour.step("draw a picture") as said:
        tour.made["picture"] = folder / "scene.png"
        said.append(_draw(described, reference, fresh.pixels, window, tour.made["picture"]))
    return _show_gpu(tour, fresh.facts["gpu"], part) and same


def _show_gpu(tour: Tour, found: dict[str, Any], part: str) -> bool:
    """Say what the fresh process read on the GPU, if there is one; returns whether that was right."""
    if "reason" in found:
        tour.rows.append(("read it on the GPU", "", f"no GPU used: {found['reason']}", ""))
        return True
    wrong = found["differing_bytes"]
    outcome = f"{part} to {found['device']}, by Zarr with tiff_codecs.gpu; {wrong:,} bytes differ from the CPU's"
    tour.rows.append(("read it on the GPU", time_text(found["seconds"]), outcome, "red" if wrong else "green"))
    return not wrong


def _summary(described: FileInfo) -> str:
    image = described.ifds[0]
    kind = "COG" if described.cog.is_cog else "TIFF"
    crs = "no CRS" if described.crs is None else described.crs.name
    compression = image.compression_name or f"compression {image.compression}"
    size = f"{image.width} x {image.height} x {image.bands} {image.dtype}"
    return f"{kind} of {byte_text(described.size)}, {plural(len(described.ifds), 'IFD')}; {size}, {compression}, {crs}"


def _compare(tour: Tour, url: str, pixels: np.ndarray, window: tuple[int, int, int, int]) -> bool:
    """Compare with GDAL; where GDAL does not read the file nothing is proved, and that is said."""
    import rasterio
    from rasterio.errors import RasterioError

    from virtual_cog._cli._demo_check import count_differences, read_with_rasterio

    with tour.step("compare with rasterio") as said:
        try:
            theirs = read_with_rasterio(url, window)
        except RasterioError as error:
            said += [f"not compared: rasterio does not read it ({' '.join(str(error).split())})", "yellow"]
            return True
        wrong = count_differences(pixels, theirs)
        gdal: str = rasterio.__gdal_version__  # pyright: ignore[reportUnknownVariableType]
        said += [f"{wrong:,} of {pixels.size:,} values differ (GDAL {gdal})", "red" if wrong else "green"]
    return not wrong


def _draw(
    described: FileInfo, reference: Reference, pixels: np.ndarray, window: tuple[int, int, int, int], path: Path
) -> str:
    from virtual_cog._cli import _demo_picture as pictures
    from virtual_cog._read import read

    image = described.ifds[0]
    source = "" if window[2:] == (image.width, image.height) else "; a part of it"
    overview = pictures.overview_for(described)
    if overview is not None and (source or max(pixels.shape[1:]) > pictures.LARGE_SIDE):
        source = f"; its overview of {overview.width} x {overview.height} pixels"
        pixels = read(described.url, ifd=overview.index)
        window = (0, 0, image.width or 1, image.height or 1)
    attributes: dict[str, Any] = reference.dataset["band_data"].attrs
    named: Any = attributes.get("long_name")
    names = [str(name) for name in cast("list[Any]", named)] if isinstance(named, list) else []
    bands = pictures.choose_bands(len(pixels), image.photometric, names)
    labels = [names[band] if band < len(names) and names[band] else f"band {band + 1}" for band in bands]
    name = urlsplit(described.url).path.rsplit("/", 1)[-1]
    picture = pictures.Picture(
        pixels=pictures.thin_out(pixels[list(bands)]),
        window=window,
        title=f"{name}: {', '.join(labels)}{source}",
        palette=pictures.palette_of(described.url) if image.photometric == pictures.PALETTE else None,
    )
    pictures.draw(picture, described, path)
    return f"{', '.join(labels)}{source}"
