"""Byte ranges of files that chunks lie in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from tiff_codecs.references.file import StoreFile

__all__ = ["MISSING", "OTHERWISE", "References"]

MISSING: Final = -1
OTHERWISE: Final = -2


@dataclass(frozen=True, slots=True)
class References:
    """Byte ranges of chunks, as columns of length (chunks,)."""

    files: tuple[StoreFile, ...]
    file: NDArray[np.int32]
    """Index into `files`; `MISSING` for a chunk that is not there, `OTHERWISE` for one that the store itself must read
    (inlined or native)."""
    offset: NDArray[np.int64]
    length: NDArray[np.int64]
