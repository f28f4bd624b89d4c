"""Whether readers return the same: only then are their times worth comparing."""

from __future__ import annotations

from typing import Any, cast

import numpy as np

type Facts = dict[str, Any]

BLOCK = 16 * 2**20
"""Bytes compared at once."""


def disagreement(reference: Any, found: Any) -> str | None:  # noqa: ANN401
    """Say how ``found`` differs from ``reference``: pixels, or facts by name; None when it does not.

    Pixels are the same when shape, type and every bit are. Of facts, those are compared that both have.
    """
    if isinstance(reference, dict):
        return _facts(cast("Facts", reference), found)
    if reference.shape != found.shape or reference.dtype != found.dtype:
        return f"returns {found.dtype} {found.shape} instead of {reference.dtype} {reference.shape}"
    differing = sum(_differing(a, b) for a, b in zip(reference, found, strict=True))
    return f"{differing} of {reference.size} values differ" if differing else None


def widen(reference: Any, found: Any) -> Any:  # noqa: ANN401
    """Add facts to those that the next reader's are compared with; pixels stay as they are."""
    if reference is None:
        return found
    return cast("Facts", found) | cast("Facts", reference) if isinstance(reference, dict) else reference


def _facts(reference: Facts, found: Facts) -> str | None:
    wrong = [name for name in reference if name in found and reference[name] != found[name]]
    return "; ".join(f"{name}: {found[name]} instead of {reference[name]}" for name in wrong) or None


def _differing(reference: np.ndarray, found: np.ndarray) -> int:
    """How many values of a band differ in any bit, compared in blocks of rows."""
    step = max(1, BLOCK // max(1, reference[:1].nbytes))
    total = 0
    for row in range(0, len(reference), step):
        pair = [np.ascontiguousarray(pixels[row : row + step]) for pixels in (reference, found)]
        if pair[0].tobytes() == pair[1].tobytes():
            continue
        words = [block.view(np.uint8).reshape(block.size, -1) for block in pair]
        total += int((words[0] != words[1]).any(axis=1).sum())
    return total
