"""From pixels to coordinates: the affine grid, or ground control points (OGC 19-008 section 7.2).

Three tags say where pixels lie: ModelPixelScaleTag (33550) with ModelTiepointTag (33922), or
ModelTransformationTag (34264). All are read as GDAL reads them, its oddities included, since files are
written to be read by it.
"""

from __future__ import annotations

import math
from dataclasses import astuple, dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    type Numbers = Sequence[float] | NDArray[np.generic]


@dataclass(frozen=True, slots=True)
class GeoTransform:
    """The affine transform of a grid, its numbers in GDAL's order.

    ``x = c + a * column + b * row`` and ``y = f + d * column + e * row``, where column and row count from
    the outer corner of the first pixel: the centre of that pixel is (0.5, 0.5). In the units of the CRS.
    """

    c: float
    a: float
    b: float
    f: float
    d: float
    e: float

    @property
    def is_rotated(self) -> bool:
        """Whether x or y depends on row and column both, so that there are no one-dimensional coordinates."""
        return self.b != 0 or self.d != 0

    def to_gdal(self) -> tuple[float, float, float, float, float, float]:
        """Return ``(c, a, b, f, d, e)``: GDAL's order."""
        return astuple(self)

    def to_affine(self) -> tuple[float, float, float, float, float, float]:
        """Return ``(a, b, c, d, e, f)``: the order of ``affine.Affine``, rasterio and ``spatial:transform``."""
        return (self.a, self.b, self.c, self.d, self.e, self.f)

    def x_coordinates(self, width: int) -> NDArray[np.float64]:
        """The x of the pixel centres of row 0, float64 of shape (width,), equal to rioxarray's to the last bit."""
        return np.arange(width, dtype=np.float64) * self.a + (self.a * 0.5 + self.b * 0.5 + self.c)

    def y_coordinates(self, height: int) -> NDArray[np.float64]:
        """The y of the pixel centres of column 0, float64 of shape (height,), equal to rioxarray's to the last bit."""
        return np.arange(height, dtype=np.float64) * self.e + (self.d * 0.5 + self.e * 0.5 + self.f)

    def bounds(self, width: int, height: int) -> tuple[float, float, float, float]:
        """The smallest and largest coordinates of the grid's four outer corners: ``(xmin, ymin, xmax, ymax)``."""
        corners = ((0, 0), (width, 0), (0, height), (width, height))
        xs = [self.c + self.a * column + self.b * row for column, row in corners]
        ys = [self.f + self.d * column + self.e * row for column, row in corners]
        return (min(xs), min(ys), max(xs), max(ys))

    def scaled(self, width_ratio: float, height_ratio: float) -> GeoTransform:
        """The transform of a grid over the same area with larger pixels: an overview.

        Args:
            width_ratio: the full image's width divided by the overview's.
            height_ratio: the full image's height divided by the overview's.
        """
        return GeoTransform(
            c=self.c,
            a=self.a * width_ratio,
            b=self.b * height_ratio,
            f=self.f,
            d=self.d * width_ratio,
            e=self.e * height_ratio,
        )


FAR: Final = 1e100
"""No place is so far off: larger numbers are damage, and would overflow when multiplied."""

_IDENTITY: Final = GeoTransform(0.0, 1.0, 0.0, 0.0, 0.0, 1.0)


@dataclass(frozen=True, slots=True)
class GroundControlPoint:
    """A place in the image whose coordinates are known. Column and row count from the first pixel's outer corner."""

    column: float
    row: float
    x: float
    y: float
    z: float


def transform_from_tags(
    pixel_scale: Numbers | None,
    tiepoints: Numbers | None,
    matrix: Numbers | None,
    *,
    pixel_is_point: bool,
) -> GeoTransform | None:
    """Build the transform of the pixels' corners from the tags' numbers.

    A scale in y is taken as positive, whatever its sign: an image with rows that run north is
    written with a matrix. Of several tiepoints beside a scale the first counts.

    Args:
        pixel_scale: ModelPixelScaleTag: the size of a pixel in x, y (and z).
        tiepoints: ModelTiepointTag: six numbers a point: column, row, level, x, y, z.
        matrix: ModelTransformationTag: 16 numbers, row by row.
        pixel_is_point: whether GTRasterTypeGeoKey says that coordinates are those of pixel centres: the
            result is moved by half a pixel, so that it is one of corners all the same.

    Returns:
        None when the tags give no affine transform, or one that places no pixel: it is not finite, maps all
        pixels to one line, or is the identity, with which files (and GDAL) say that there is none. Then there may be
        ground control points (:func:`gcps`).
    """
    scale, points, terms = _numbers(pixel_scale), _numbers(tiepoints), _numbers(matrix)
    has_scale, has_tiepoint = len(scale) >= 2 and scale[0] != 0 and scale[1] != 0, len(points) >= 6
    if has_scale and (has_tiepoint or len(terms) < 16):
        a, e = scale[0], -abs(scale[1])
        column, row, _, x, y, _ = points[:6] if has_tiepoint else (0.0,) * 6
        found = GeoTransform(x - column * a, a, 0.0, y - row * e, 0.0, e)
        pixel_is_point = pixel_is_point and has_tiepoint
    elif len(terms) >= 16:
        found = GeoTransform(terms[3], terms[0], terms[1], terms[7], terms[4], terms[5])
    else:
        return None
    if pixel_is_point:
        # in GDAL's order of operations, so that the last bit is the same
        c = found.c - (found.a * 0.5 + found.b * 0.5)
        f = found.f - (found.d * 0.5 + found.e * 0.5)
        found = GeoTransform(c, found.a, found.b, f, found.d, found.e)
    usable = all(abs(number) < FAR for number in found.to_gdal()) and found.a * found.e != found.b * found.d
    return found if usable and found != _IDENTITY else None


def gcps(tiepoints: Numbers | None, *, pixel_is_point: bool = False) -> tuple[GroundControlPoint, ...]:
    """Read the tiepoints of an image without a transform as ground control points.

    Args:
        tiepoints: ModelTiepointTag: six numbers a point; what is left over is dropped.
        pixel_is_point: whether GTRasterTypeGeoKey says that column and row are those of pixel centres.
    """
    points = _numbers(tiepoints)
    if not all(map(math.isfinite, points)):
        return ()
    shift = 0.5 if pixel_is_point else 0.0
    return tuple(
        GroundControlPoint(points[at] + shift, points[at + 1] + shift, *points[at + 3 : at + 6])
        for at in range(0, len(points) - 5, 6)
    )


def _numbers(values: Numbers | None) -> list[float]:
    return [] if values is None else np.asarray(values, np.float64).ravel().tolist()
