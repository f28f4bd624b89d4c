"""Checks of arguments: what has no meaning is refused before anything is read."""

from __future__ import annotations

import operator
from typing import Any, SupportsIndex

from tiff_codecs.errors import TiffOptionError


def whole_number(value: Any, what: str, *, least: int | None = None, most: int | None = None) -> int:  # noqa: ANN401
    """Return ``value`` as an int.

    Args:
        value: what the caller gave: an int, or NumPy's or another type that is one.
        what: names it in the error.
        least: the smallest allowed; None takes any.
        most: the largest allowed; None takes any.

    Raises:
        TiffOptionError: it is no whole number, or out of range.
    """
    number = operator.index(value) if isinstance(value, SupportsIndex) else None
    if number is None or (least is not None and number < least) or (most is not None and number > most):
        first = 0 if least is None else least
        raise TiffOptionError(
            f"bad {what}",
            found=repr(value),
            supported=f"{first}, {first + 1}, ..." + ("" if most is None else f", {most}"),
        )
    return number
