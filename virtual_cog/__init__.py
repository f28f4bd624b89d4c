"""Open GeoTIFFs and COGs as Zarr without copying a pixel.

`COGParser` is a VirtualiZarr parser, `open_store` the shortest way to a Zarr store of one file, and
`read` reads pixels straight into a NumPy array.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from tiff_codecs.errors import (
    TiffAccessError,
    TiffDataError,
    TiffError,
    TiffFormatError,
    TiffNotFoundError,
    TiffOptionError,
    TiffSelectionError,
    TiffUnsupportedError,
    TiffWarning,
)

if TYPE_CHECKING:
    from virtual_cog._file_info import FileInfo
    from virtual_cog._info import describe
    from virtual_cog._parser import COGParser, open_store
    from virtual_cog._read import read

__all__ = [
    "COGParser",
    "FileInfo",
    "TiffAccessError",
    "TiffDataError",
    "TiffError",
    "TiffFormatError",
    "TiffNotFoundError",
    "TiffOptionError",
    "TiffSelectionError",
    "TiffUnsupportedError",
    "TiffWarning",
    "describe",
    "open_store",
    "read",
]

_HOMES = {
    "COGParser": "virtual_cog._parser",
    "FileInfo": "virtual_cog._file_info",
    "describe": "virtual_cog._info",
    "open_store": "virtual_cog._parser",
    "read": "virtual_cog._read",
}
"""Public names that are imported when first used: VirtualiZarr brings xarray, which takes a second to load."""


def __getattr__(name: str) -> object:
    home = _HOMES.get(name)
    if home is None:
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message)
    value: object = getattr(importlib.import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
