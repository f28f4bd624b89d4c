"""How the public names are used, for the type checker: run as a test, this only shows that they are there."""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_type

import virtual_cog
from virtual_cog import COGParser, FileInfo, TiffError

if TYPE_CHECKING:
    from virtualizarr.manifests import ManifestStore
    from virtualizarr.parsers.typing import Parser

    def a_parser() -> Parser:
        return COGParser(ifd=1, layout="image")

    def a_store() -> ManifestStore:
        return assert_type(virtual_cog.open_store("a.tif", layout="pyramid"), ManifestStore)

    def a_description() -> FileInfo:
        return assert_type(virtual_cog.describe("a.tif"), FileInfo)


def test_public_names() -> None:
    for name in virtual_cog.__all__:
        assert getattr(virtual_cog, name) is not None
    assert issubclass(virtual_cog.TiffFormatError, TiffError)
    assert issubclass(virtual_cog.TiffFormatError, ValueError)
