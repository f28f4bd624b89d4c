"""GDAL_NODATA (tag 42113): the pixel value that means "no data", written as text, as a value of the pixels' type."""

from __future__ import annotations

import math
import re
import warnings
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tiff_codecs.errors import TiffWarning

if TYPE_CHECKING:
    from numpy.typing import DTypeLike

_NUMBER: Final = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,9})?", re.ASCII)
_SPECIAL: Final = re.compile(
    r"(?P<sign>[+-]?)(?:(?P<nan>nan|1\.#(?:q?nan|snan|ind)\d*)|(?:inf(?:inity)?|1\.#inf\d*))", re.IGNORECASE
)
_DOUBLE_MAX: Final = Decimal(np.finfo(np.float64).max)
_NEAR: Final = Decimal("1e-13")


def parse_nodata(text: str, dtype: DTypeLike) -> np.generic[Any] | None:
    """Read the text of GDAL_NODATA.

    Integers are exact up to 64 bits and may be written as ``0.0`` or ``1e3``. A float32 takes the float nearest to
    the text, so that ``-3.40282346600000016e+38`` is the lowest one; a value beyond all float32 or float64 is
    infinite there, as in GDAL. A complex type takes the number as its real part.

    Args:
        text: the tag's text; spaces and NULs around it do not count.
        dtype: the type of the decoded pixels.

    Returns:
        A scalar of ``dtype``, or None when the text is empty or no pixel can have the value.

    Warns:
        TiffWarning: the text is not a number, or not a value of ``dtype``.
    """
    dtype = np.dtype(dtype)
    stripped = text.strip("\0 \t\r\n\f\v")
    if not stripped:
        return None
    value = _number(stripped)
    if value is None:
        return _refuse(text, "is not a number")
    found = _integer(value, dtype) if dtype.kind in "iu" else _inexact(value, dtype)
    return _refuse(text, f"is not a value of {dtype.name} pixels") if found is None else found


def _refuse(text: str, why: str) -> None:
    shown = text if len(text) <= 40 else f"{text[:40]}..."
    warnings.warn(f"GDAL_NODATA {shown!r} {why}: no value is taken as nodata", TiffWarning, stacklevel=3)


def _number(text: str) -> Decimal | float | None:
    """Return the number exactly; NaN and infinities as floats."""
    values = {_one_number(word) for word in text.split()}
    return values.pop() if len(values) == 1 else None  # one value a band, all the same, counts as one


def _one_number(word: str) -> Decimal | float | None:
    if word.count(",") == 1 and "." not in word:
        word = word.replace(",", ".")  # written under a locale with a decimal comma
    if _NUMBER.fullmatch(word):
        return Decimal(word)
    special = _SPECIAL.fullmatch(word)
    if special is None:
        return None
    if special["nan"]:
        return math.nan
    return -math.inf if special["sign"] == "-" else math.inf


def _integer(value: Decimal | float, dtype: np.dtype[Any]) -> np.generic[Any] | None:
    # 25 digits are more than 64 bits hold; int() of a Decimal like 1e999999999 would fill the memory
    if not isinstance(value, Decimal) or value.adjusted() > 25 or value != value.to_integral_value():
        return None
    limits = np.iinfo(dtype)
    return dtype.type(int(value)) if limits.min <= value <= limits.max else None


def _inexact(value: Decimal | float, dtype: np.dtype[Any]) -> np.generic[Any] | None:
    number = float(value)
    if isinstance(value, Decimal) and math.isinf(number) and value.copy_abs() <= _DOUBLE_MAX * (1 + _NEAR):
        # -1.79769313486232e+308: the lowest double, rounded by a writer to more than it is
        number = math.copysign(float(_DOUBLE_MAX), number)
    with np.errstate(over="ignore", under="ignore"):
        found = dtype.type(number)
    saturates = dtype.kind == "f" and dtype.itemsize >= 4
    if isinstance(value, Decimal) and np.isinf(found) and not saturates:
        return None
    return found
