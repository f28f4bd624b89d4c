"""``virtual-cog info``: what is in a file, and whether it can be read."""

from __future__ import annotations

import json
import sys
from textwrap import shorten
from typing import TYPE_CHECKING, Annotated, Final

from cyclopts import Parameter

from virtual_cog._cli._output import byte_text, console, plural, printable, write_line

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import Console

    from virtual_cog._file_info import FileInfo, IfdInfo


HEADINGS: Final = ("IFD", "role", "size", "type", "tiles", "compression", "layout", "nodata", "stored", "read on")
UNLIMITED: Final = 10_000
MOST_IFDS: Final = 200
"""Lines of the table at most; --json lists all."""

DAMAGED: Final = "damaged"
UNREAD: Final = "not read"
STYLES: Final = {"CPU": "green", "GPU": "green", UNREAD: "yellow", DAMAGED: "red"}


def info(url: str, /, *, json: Annotated[bool, Parameter(negative=(), show_default=False)] = False) -> int:
    """Show what a TIFF holds, and whether it can be read.

    The exit code is 1 when the file is damaged; what can be read of it is shown all the same.

    Args:
        url: A local path or a URL (http, https, s3, gs, az).
        json: Print one JSON document instead.
    """
    from virtual_cog._info import describe

    described = describe(url)
    if json:
        print_json(described)
    else:
        out = console()
        _print_file(described, out)
        if described.ifds:
            out.print()
            _print_ifds(described, out)
        for line in _notes(described):
            out.print(line)
    for problem in described.damage[:MOST_IFDS]:
        write_line(sys.stderr, f"error: {printable(described.url)}: {printable(problem)}")
    return 1 if described.damage else 0


def print_json(described: FileInfo) -> None:
    """Print the document of ``--json``."""
    sys.stdout.write(json.dumps(described.to_dict(), indent=2, allow_nan=False) + "\n")


def _print_file(described: FileInfo, out: Console) -> None:
    from rich.text import Text

    facts = list(_facts(described))
    width = max(len(name) for name, _ in facts)
    for name, value in facts:
        out.print(Text.assemble((f"{name:{width}}", "bold"), f"  {printable(value)}"))


def _facts(described: FileInfo) -> Iterator[tuple[str, str]]:
    yield "file", described.url
    yield "size", byte_text(described.size) + ("" if described.size < 1000 else f" ({described.size} bytes)")
    kind = "BigTIFF" if described.bigtiff else "classic TIFF"
    yield "format", f"{kind}, {described.byte_order}-endian"
    cog = described.cog
    yield "COG", "; ".join([f"no: {'; '.join(cog.problems)}"] if cog.problems else ["yes", *cog.hints])
    if cog.structure:
        yield "GDAL layout", ", ".join(f"{key}={value}" for key, value in cog.structure.items())
    crs = described.crs
    yield "CRS", "none" if crs is None else crs.name + (f" (EPSG:{crs.epsg})" if crs.epsg else "")
    if described.transform is not None:
        yield "transform", f"{_numbers(described.transform)} (GDAL's order)"
    if described.bounds is not None:
        yield "bounds", _numbers(described.bounds)
    if described.resolution is not None:
        yield "resolution", " x ".join(f"{value:.10g}" for value in described.resolution)
    if described.gcp_count:
        yield "GCPs", f"{described.gcp_count} ground control points"


def _numbers(values: tuple[float, ...]) -> str:
    return ", ".join(f"{value:.12g}" for value in values)


def _print_ifds(described: FileInfo, out: Console) -> None:
    """The first of them: a table, or a paragraph for each IFD where the terminal is too narrow for one."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    rows = [[printable(cell) for cell in _cells(ifd)] for ifd in described.ifds[:MOST_IFDS]]
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0), show_edge=False)
    for name in HEADINGS:
        table.add_column(name, justify="right" if name == "IFD" else "left", no_wrap=True)
    for row in rows:
        table.add_row(*row[:-1], Text(row[-1], STYLES.get(row[-1], "")))
    if out.measure(table, options=out.options.update(max_width=UNLIMITED)).maximum <= out.width:
        out.print(table)
        return
    for ifd, role, size, kind, tiles, compression, layout, nodata, stored, verdict in rows:
        out.print(Text.assemble((f"IFD {ifd}", "bold"), f"  {role}", f", {size} {kind}, {layout}" if size else ""))
        details = [tiles, compression, stored, f"nodata {nodata}" if nodata else ""]
        out.print(Text.assemble("    ", ", ".join(filter(None, details)), "  ", (verdict, STYLES.get(verdict, ""))))


def _cells(ifd: IfdInfo) -> tuple[str, ...]:
    role = ifd.role
    if ifd.main not in {None, ifd.index}:
        role += f" of {ifd.main}"
    if ifd.parent is not None and ifd.parent != ifd.main:
        role += f" below {ifd.parent}"
    if ifd.width is None:
        return (str(ifd.index), role, *[""] * 7, DAMAGED)
    bits = ifd.bits_per_sample or ()
    kind = ifd.dtype or "unknown"
    if ifd.dtype is None or not kind.endswith("/".join(map(str, bits))):
        kind += f" ({'/'.join(map(str, bits))} bit)"
    tiles = plural(ifd.tile_count or 0, "tile" if ifd.tiled else "strip")
    tiles += f" {ifd.tile_width}x{ifd.tile_height}" + (f", {ifd.missing_tiles} missing" if ifd.missing_tiles else "")
    compression = ifd.compression_name or f"number {ifd.compression}"
    if ifd.predictor != 1:
        compression += f", predictor {ifd.predictor}"
    layout = ifd.photometric_name or ("unknown" if ifd.photometric is None else f"photometric {ifd.photometric}")
    if ifd.bands != 1:
        layout += ", planar" if ifd.planar else ", chunky"
    stored = "" if ifd.stored_bytes is None else byte_text(ifd.stored_bytes)
    if ifd.ratio is not None:
        stored += f" (1:{ifd.ratio:.1f})"
    nodata = "" if ifd.nodata_text is None else shorten(ifd.nodata_text, 40, placeholder="...")
    verdict = DAMAGED if ifd.damage else ifd.decoder.upper() if ifd.decoder else UNREAD
    size = f"{ifd.width}x{ifd.height}x{ifd.bands}" + (f", {ifd.depth} slices" if ifd.depth != 1 else "")
    return (str(ifd.index), role, size, kind, tiles, compression, layout, nodata, stored, verdict)


def _notes(described: FileInfo) -> Iterator[str]:
    """What the table leaves out, and why images are not read; one line for all that share the reason."""
    if (left := len(described.ifds) - MOST_IFDS) > 0:
        yield f"... and {plural(left, 'IFD')} more, which --json lists"
    reasons: dict[str, list[int]] = {}
    for ifd in described.ifds:
        if ifd.reason is not None:
            reasons.setdefault(ifd.reason.replace(f"IFD {ifd.index}, ", ""), []).append(ifd.index)
    for reason, indices in reasons.items():
        shown = ", ".join(map(str, indices[:8])) + (", ..." if len(indices) > 8 else "")
        yield printable(f"IFD {shown} cannot be read: {reason}")
