"""Byte ranges of files that chunks lie in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Buffer

    import numpy as np
    from numpy.typing import NDArray

__all__ = ["MISSING", "OTHERWISE", "References", "StoreFile"]

MISSING: Final = -1
OTHERWISE: Final = -2


@dataclass(frozen=True, slots=True)
class StoreFile:
    """A file in an object store, or in the file system."""

    url: str
    local_path: str | None
    store: Any
    path: str

    def read(self, start: int, end: int) -> Buffer:
        """Read bytes [start, end) into host memory."""
        data: Buffer = self.store.get_range(self.path, start=start, end=end)
        return data


@dataclass(frozen=True, slots=True)
class References:
    """Byte ranges of chunks, as columns of length (chunks,)."""

    files: tuple[StoreFile, ...]
    file: NDArray[np.int32]
    """Index into `files`; `MISSING` for a chunk that is not there, `OTHERWISE` for one that the store itself must read
    (inlined or native)."""
    offset: NDArray[np.int64]
    length: NDArray[np.int64]
