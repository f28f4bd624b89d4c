"""Rational polynomial coefficients: RPCCoefficientTag (50844), from places on the ground to pixels.

The tag is of the GeoTIFF working group (http://geotiff.maptools.org/rpc_prop.html): 92 numbers.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import numpy as np

type Rpcs = dict[str, float | list[float]]

NUMBERS: Final = (
    "err_bias", "err_rand", "line_off", "samp_off", "lat_off", "long_off", "height_off", "line_scale", "samp_scale",
    "lat_scale", "long_scale", "height_scale",
)  # fmt: skip
"""The first numbers, by the names of ``rasterio.rpc.RPC``, which are GDAL's in small letters."""

POLYNOMIALS: Final = ("line_num_coeff", "line_den_coeff", "samp_num_coeff", "samp_den_coeff")
TERMS: Final = 20
"""Coefficients of each polynomial."""

LENGTH: Final = len(NUMBERS) + TERMS * len(POLYNOMIALS)


def rpcs_from_tag(values: np.ndarray | None, across: float = 1.0, down: float = 1.0) -> Rpcs | None:
    """Read the tag.

    Args:
        values: its numbers.
        across: the width of the full image divided by the overview's, which the result is of.
        down: the same for the heights.

    Returns:
        The arguments of ``rasterio.rpc.RPC``: offsets and scales in pixels (counted from the centre of the
        first), degrees and metres. None where the tag does not have 92 finite numbers, or all are 0.
    """
    if values is None or values.size < LENGTH:
        return None
    numbers = [float(value) for value in values[:LENGTH].tolist()]
    if not all(map(math.isfinite, numbers)) or not any(numbers):
        return None
    found: Rpcs = dict(zip(NUMBERS, numbers, strict=False))
    for index, name in enumerate(POLYNOMIALS):
        start = len(NUMBERS) + TERMS * index
        found[name] = numbers[start : start + TERMS]
    if (across, down) != (1.0, 1.0):
        line_off, samp_off, line_scale, samp_scale = numbers[2], numbers[3], numbers[7], numbers[8]
        found |= {"line_off": (line_off + 0.5) / down - 0.5, "samp_off": (samp_off + 0.5) / across - 0.5}
        found |= {"line_scale": line_scale / down, "samp_scale": samp_scale / across}
    return found
