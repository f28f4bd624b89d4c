"""What bands show, and the colours of a palette: PhotometricInterpretation, ExtraSamples, ColorMap (TIFF 6.0).

GDAL's words for it and its reading of the tags, oddities included: an image whose white is 0, or that is of one bit, is
a palette to it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from virtual_cog._image import Image

MIN_IS_WHITE: Final = 0
MIN_IS_BLACK: Final = 1
YCBCR: Final = 6

BASE_BANDS: Final[dict[int, tuple[str, ...]]] = {
    MIN_IS_BLACK: ("gray",),
    2: ("red", "green", "blue"),
    5: ("cyan", "magenta", "yellow", "black"),
    YCBCR: ("Y", "Cb", "Cr"),
}
"""The first bands by PhotometricInterpretation, in rasterio's words."""

ALPHAS: Final = (1, 2)
"""Values of ExtraSamples for transparency: associated and unassociated."""

COLOR_NAMES: Final = frozenset(
    (
        "undefined", "gray", "palette", "red", "green", "blue", "alpha", "hue", "saturation", "lightness", "cyan",
        "magenta", "yellow", "black", "pan", "coastal", "rededge", "nir", "swir", "mwir", "lwir", "tir", "otherir",
        "sar_ka", "sar_k", "sar_ku", "sar_x", "sar_c", "sar_s", "sar_l", "sar_p",
    )
)  # fmt: skip
"""GDAL's words, in small letters; what else a file says is no colour."""

OTHER_NAMES: Final = {"ycbcr_y": "Y", "ycbcr_cb": "Cb", "ycbcr_cr": "Cr", "otherir": "other_ir"}
"""Where rasterio's word is not GDAL's in small letters."""

JPEGS: Final = (6, 7)

MOST_BITS: Final = 16
"""Bits of a palette's pixels: GDAL, too, reads no larger one."""

MOST_GRAYS: Final = 8
"""Bits up to which a palette of greys is written out where white is 0."""


def color_interpretation(image: Image, named: Sequence[str | None], *, has_colormap: bool) -> list[str]:
    """What each band shows, in rasterio's words: ``"red"``, ``"alpha"``, ``"undefined"``.

    Args:
        image: gives the tags.
        named: what GDAL_METADATA says of each band, in GDAL's words; None where it does not.
        has_colormap: whether there is a palette.
    """
    if image.bands == 1 and image.bits_per_sample == (1,):
        return ["palette"]
    photometric = MIN_IS_BLACK if image.photometric is None else image.photometric
    if has_colormap or (photometric == MIN_IS_WHITE and image.bits_per_sample[0] <= MOST_BITS):
        base: tuple[str, ...] = ("palette",)
    elif photometric == YCBCR and image.compression in JPEGS and image.ycbcr == "rgb":
        base = BASE_BANDS[2]
    else:
        base = BASE_BANDS.get(photometric, ())
    found = [*base[: image.bands], *["undefined"] * (image.bands - len(base))]
    first_extra = image.bands - len(image.extra_samples)
    for at, kind in enumerate(image.extra_samples):
        if kind in ALPHAS and first_extra + at >= len(base):
            found[first_extra + at] = "alpha"
    for band, name in enumerate(named):
        word = (name or "").lower()
        if word in COLOR_NAMES or word in OTHER_NAMES:
            found[band] = OTHER_NAMES.get(word, word)
    return found


def colormap(image: Image, values: np.ndarray | None, nodata: int | None) -> list[str] | None:
    """The colours of a palette, ``"#rrggbbaa"`` by pixel value; None without one.

    Args:
        image: gives the tags.
        values: the numbers of ColorMap: all reds, all greens, all blues, of 16 bits.
        nodata: the value that is transparent.
    """
    bits = image.bits_per_sample[0]
    size = 1 << min(bits, MOST_BITS)
    if bits > MOST_BITS:
        return None
    if values is not None and len(values) == 3 * size and values.dtype.kind in "ui":
        colors = _eight_bits(values.astype(np.int64)).reshape(3, size).T
    elif image.photometric == MIN_IS_WHITE and bits <= MOST_GRAYS:
        colors = np.repeat(255 * np.arange(size - 1, -1, -1) // (size - 1), 3).reshape(size, 3)
    elif bits == image.bands == 1:
        colors = np.array([[0] * 3, [255] * 3])
    else:
        return None
    rgba = np.full((size, 4), 255, np.uint8)
    rgba[:, :3] = colors
    if nodata is not None and 0 <= nodata < size:
        rgba[nodata, 3] = 0
    text = rgba.tobytes().hex()
    return [f"#{text[at : at + 8]}" for at in range(0, len(text), 8)]


def _eight_bits(values: np.ndarray) -> np.ndarray:
    """Colours from 0 to 255. Files have them times 257, times 256, or by mistake as they are; so GDAL tells them."""
    if values.max() < 256:
        return np.clip(values, 0, 255)
    factor = 256 if not (values % 256).any() else 257
    return np.clip(values // factor, 0, 255)
