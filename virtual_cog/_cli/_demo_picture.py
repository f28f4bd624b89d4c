"""The demo's picture: some bands of an image, in the colours and coordinates that a map would have."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from virtual_cog._file_info import FileInfo, IfdInfo

type Extent = tuple[float, float, float, float]
"""Left, right, bottom and top edges."""

LARGE_SIDE: Final = 2048
"""A picture has no use for more pixels."""

LARGE_BYTES: Final = 64 * 2**20
RGB, PALETTE = 2, 3
PERCENTILES: Final = (2, 98)
LONGEST: Final = 8
"""Times as long as it is wide."""

POLAR: Final = 85
"""Degrees of latitude beyond which degrees of longitude are drawn as they are."""

GOOD_NAMES: Final = (
    ("red", "green", "blue"),
    ("b04", "b03", "b02"),
    ("b4", "b3", "b2"),
)
"""Names of bands that together make a picture in natural colours (the numbers are Sentinel-2's and Landsat's)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """What is drawn."""

    pixels: np.ndarray
    """Of shape (bands, rows, columns): three bands for red, green and blue, or one."""
    window: tuple[int, int, int, int]
    """The part of the full image that it shows: column, row, width, height."""
    title: str
    palette: NDArray[np.float64] | None = None
    """Colours of shape (entries, 3), 0 to 1, for one band of indices."""


def overview_for(described: FileInfo) -> IfdInfo | None:
    """The largest overview of the first image that is no larger than a picture needs, or the smallest there is."""
    levels = [
        ifd
        for ifd in described.ifds
        if ifd.role == "overview" and ifd.main == 0 and ifd.decoder and not ifd.damage and ifd.pixel_bytes
    ]
    levels.sort(key=lambda ifd: ifd.pixel_bytes or 0)
    fitting = [
        ifd
        for ifd in levels
        if max(ifd.width or 0, ifd.height or 0) <= LARGE_SIDE and (ifd.pixel_bytes or 0) <= LARGE_BYTES
    ]
    return fitting[-1] if fitting else (levels[0] if levels and (levels[0].pixel_bytes or 0) <= LARGE_BYTES else None)


def choose_bands(bands: int, photometric: int | None, names: Sequence[str]) -> tuple[int, ...]:
    """Three bands for red, green and blue, or one for shades; counted from 0.

    Bands named so come first, then the first three, or the one there is.
    """
    lowered = [name.lower() for name in names]
    for wanted in GOOD_NAMES:
        if all(name in lowered for name in wanted):
            return tuple(lowered.index(name) for name in wanted)
    if bands >= 3 and photometric != PALETTE:
        return (0, 1, 2)
    return (0,)


def to_colours(
    pixels: np.ndarray, photometric: int | None, nodata: float | None, palette: NDArray[np.float64] | None
) -> tuple[NDArray[Any], tuple[float, float] | None]:
    """Turn one or three bands into what matplotlib draws.

    Args:
        pixels: of shape (bands, rows, columns).
        photometric: PhotometricInterpretation: 8-bit RGB is shown as it is, all else is stretched.
        nodata: pixels with this value are left out.
        palette: colours of shape (entries, 3), 0 to 1, for one band of indices.

    Returns:
        RGBA of shape (rows, columns, 4) and None; or shades (rows, columns), masked, and their limits.
    """
    if np.iscomplexobj(pixels):
        pixels = np.abs(pixels)
    valid = np.isfinite(pixels) if pixels.dtype.kind == "f" else np.ones(pixels.shape, bool)
    if nodata is not None and not math.isnan(nodata):
        valid &= pixels != nodata
    if palette is not None and len(pixels) == 1:
        colours = palette[np.minimum(pixels[0].astype(np.int64), len(palette) - 1)]
        return np.dstack([colours, valid[0]]), None
    if len(pixels) == 1:
        return np.ma.masked_array(pixels[0], ~valid[0]), _limits(pixels[0], valid[0])
    as_is = photometric == RGB and pixels.dtype == np.uint8
    bands = [
        band / 255 if as_is else _stretch(band.astype(np.float64), _limits(band, ok))
        for band, ok in zip(pixels, valid, strict=True)
    ]
    # where all bands are nodata there is nothing; where one is, the others count
    return np.dstack([*(np.where(ok, band, 0) for band, ok in zip(bands, valid, strict=True)), valid.any(axis=0)]), None


def _limits(band: np.ndarray, valid: NDArray[np.bool_]) -> tuple[float, float]:
    values = band[valid]
    if not values.size:
        return (0.0, 1.0)
    low, high = (float(v) for v in np.percentile(values, PERCENTILES))
    return (low, high) if high > low else (float(values.min()), float(values.max()) or 1.0)


def _stretch(band: NDArray[np.float64], limits: tuple[float, float]) -> NDArray[np.float64]:
    low, high = limits
    with np.errstate(invalid="ignore"):
        return np.clip((band - low) / ((high - low) or 1.0), 0, 1)


def extent_of(described: FileInfo, window: tuple[int, int, int, int]) -> Extent | None:
    """The edges of a window in the coordinates of the CRS; None where the grid is rotated or not known."""
    if described.transform is None:
        return None
    c, a, b, f, d, e = described.transform
    if b or d:
        return None
    col, row, width, height = window
    return (c + a * col, c + a * (col + width), f + e * (row + height), f + e * row)


def thin_out(pixels: np.ndarray) -> np.ndarray:
    """Every second, third, ... pixel, so that no side is longer than a picture needs."""
    step = -(-max(pixels.shape[1:]) // LARGE_SIDE)
    return pixels[:, ::step, ::step]


def draw(picture: Picture, described: FileInfo, path: Path) -> None:
    """Draw a picture of the first image of a file into a PNG file, with the axes of its CRS."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    image = described.ifds[0]
    colours, limits = to_colours(picture.pixels, image.photometric, image.nodata, picture.palette)
    extent = extent_of(described, picture.window)
    col, row, width, height = picture.window
    figure = Figure(figsize=(8, 8), dpi=120, layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    shades: dict[str, Any] = {}
    if limits is not None:
        photograph = {0: "gray_r", 1: "gray"} if described.crs is None else {}
        colour_map = photograph.get(-1 if image.photometric is None else image.photometric, "viridis")
        shades = {"cmap": colour_map, "vmin": limits[0], "vmax": limits[1]}
    edges = extent or (col, col + width, row + height, row)
    shown = axes.imshow(colours, extent=edges, interpolation="nearest", **shades)
    if extent is not None:
        axes.set_xlim(min(extent[:2]), max(extent[:2]))
        axes.set_ylim(min(extent[2:]), max(extent[2:]))
    axes.set_aspect(_aspect(described, edges, picture.pixels.shape))
    axes.ticklabel_format(useOffset=False, style="plain")
    axes.locator_params(nbins=5)
    axes.tick_params(labelsize=8)
    unit = _unit(described)
    axes.set_xlabel("column" if extent is None else f"x ({unit})")
    axes.set_ylabel("row" if extent is None else f"y ({unit})")
    axes.set_title(f"{picture.title}\n{_crs_text(described)}", fontsize=9, parse_math=False, wrap=True)
    if limits is not None:
        figure.colorbar(shown, ax=axes, shrink=0.8)
    figure.savefig(path)


def _aspect(described: FileInfo, edges: Extent, shape: tuple[int, ...]) -> float | Literal["auto", "equal"]:
    """Equal lengths on the ground; of a very long strip, what fits the page."""
    if not 1 / LONGEST <= shape[1] / shape[2] <= LONGEST:
        return "auto"
    middle = (edges[2] + edges[3]) / 2
    if described.transform is not None and _is_geographic(described) and abs(middle) < POLAR:
        return 1 / math.cos(math.radians(middle))
    return "equal"


def _is_geographic(described: FileInfo) -> bool:
    return described.crs is not None and described.crs.wkt.startswith("GEOG")


def _unit(described: FileInfo) -> str:
    if described.crs is None:
        return "no CRS"
    from pyproj import CRS

    return CRS.from_wkt(described.crs.wkt).axis_info[0].unit_name


def _crs_text(described: FileInfo) -> str:
    if described.crs is None:
        return "no CRS"
    return described.crs.name + (f" (EPSG:{described.crs.epsg})" if described.crs.epsg else "")


def palette_of(url: str) -> NDArray[np.float64] | None:
    """The colours of the first image's ColorMap (tag 320), of shape (entries, 3), 0 to 1."""
    from virtual_cog._registry import resolve
    from virtual_cog._scene import load_scene
    from virtual_cog._tags import Tag

    source = resolve(url)
    values = source.drive(load_scene(source.open(), 0)).numbers(Tag.ColorMap)
    if values is None or len(values) < 3:
        return None
    entries = len(values) // 3
    return values[: 3 * entries].reshape(3, entries).T / 65_535
