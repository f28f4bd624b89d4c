"""A made-up landscape as a COG: what the demo shows when it is given no file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, cast

import numpy as np

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

SIDE: Final = 1024
PIXEL: Final = 10.0
"""Metres."""
CRS: Final = "EPSG:32632"
CORNER: Final = (600_000.0, 5_250_000.0)
"""Easting and northing of the upper left corner: in the Alps, where such a lake could lie."""

LAKE: Final = 0.30
"""Heights are 0 to 1; what is lower is under water."""

COLOURS: Final = (
    (0.00, (10, 38, 74)),
    (0.22, (22, 78, 122)),
    (LAKE, (72, 150, 172)),
    (LAKE + 0.006, (214, 200, 152)),
    (0.36, (112, 142, 70)),
    (0.50, (50, 98, 46)),
    (0.62, (96, 104, 62)),
    (0.72, (134, 118, 96)),
    (0.82, (158, 150, 142)),
    (0.88, (244, 246, 250)),
    (1.00, (255, 255, 255)),
)
"""Colours by height: deep and shallow water, shore, meadow, wood, scrub, rock, snow."""


def landscape(side: int = SIDE, seed: int = 7) -> NDArray[np.uint8]:
    """Draw a landscape from above, lit from the north-west.

    Args:
        side: width and height in pixels.
        seed: of the random numbers; the same seed gives the same landscape.

    Returns:
        Red, green and blue, of shape (3, side, side).
    """
    random = np.random.default_rng(seed)
    broad, fine = _fractal(random, side, 2.3), _fractal(random, side, 1.7)
    ridges = 1 - np.abs(2 * _fractal(random, side, 2.1) - 1)
    height = _stretch(0.62 * broad + 0.30 * broad * ridges + 0.08 * fine)
    water = height < LAKE
    ground = np.where(water, LAKE, height)
    south, east = np.gradient(ground * side * 0.16)
    light = (1.0 + 0.75 * (south + east)) / np.sqrt(1 + south**2 + east**2)
    light = np.where(water, 1.0, np.clip(light, 0.45, 1.5))
    stops = np.array([stop for stop, _ in COLOURS])
    mottled = height + np.where(water, 0.0, 0.035 * (fine - 0.5))
    bands = [np.interp(mottled, stops, [colour[band] for _, colour in COLOURS]) * light for band in range(3)]
    return np.clip(np.stack(bands), 0, 255).astype(np.uint8)


def _fractal(random: np.random.Generator, side: int, roughness: float) -> NDArray[np.float64]:
    """Noise whose power falls with frequency as mountains' does, stretched to 0 to 1."""
    frequency = np.hypot(np.fft.fftfreq(side)[:, None], np.fft.rfftfreq(side)[None, :]) * side
    frequency[0, 0] = 1
    phases = np.exp(2j * np.pi * random.random(frequency.shape))
    spectrum = phases * random.normal(1, 0.25, frequency.shape) / frequency**roughness
    return _stretch(np.fft.irfft2(spectrum, (side, side)))


def _stretch(values: NDArray[np.float64]) -> NDArray[np.float64]:
    return (values - values.min()) / np.ptp(values)


def write_cog(path: Path) -> None:
    """Write the landscape as the public Sentinel-2 COGs are written: DEFLATE, predictor 2, tiles, overviews."""
    import rasterio

    pixels = landscape()
    profile: dict[str, Any] = {
        "driver": "COG",
        "dtype": "uint8",
        "count": 3,
        "width": SIDE,
        "height": SIDE,
        "crs": CRS,
        "transform": rasterio.Affine(PIXEL, 0, CORNER[0], 0, -PIXEL, CORNER[1]),
        "photometric": "RGB",
        "compress": "DEFLATE",
        "predictor": "STANDARD",
        "blocksize": 256,
        "overview_resampling": "AVERAGE",
    }
    with cast("Any", rasterio).open(path, "w", **profile) as target:
        target.write(pixels)
