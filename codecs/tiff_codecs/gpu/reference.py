"""Byte ranges of files that chunks lie in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

if TYPE_CHECKING:
    from collections.abc import Buffer

    import numpy as np
    from numpy.typing import NDArray

__all__ = ["MISSING", "OTHERWISE", "References", "StoreFile", "http_url", "local_path"]

MISSING: Final = -1
OTHERWISE: Final = -2


def http_url(store: Any, path: str) -> str | None:  # noqa: ANN401 - any store
    """The URL of a file in obstore's HTTPStore that asks for nothing but the file; None for any other store.

    None too where the path leads out of the store, which then refuses it.
    """
    if type(store).__name__ != "HTTPStore" or not type(store).__module__.startswith("obstore") or _leads_out(path):
        return None
    options: dict[str, Any] = dict(store.client_options or {})
    if options.keys() & {"default_headers", "proxy_url", "proxy_ca_certificate"}:
        return None
    return f"{store.url.rstrip('/')}/{quote(path)}"


def local_path(store: Any, path: str) -> str | None:  # noqa: ANN401 - any store
    """The path in the file system of a file in obstore's LocalStore, below its prefix; None for any other store.

    None too where the path leads out of the store, which then refuses it.
    """
    from obstore.store import LocalStore

    if not isinstance(store, LocalStore) or _leads_out(path):
        return None
    return f"{str(store.prefix or '').rstrip('/')}/{path.lstrip('/')}"


def _leads_out(path: str) -> bool:
    return ".." in path.split("/")


@dataclass(frozen=True, slots=True)
class StoreFile:
    """A file in an object store, or in the file system."""

    url: str
    local_path: str | None
    store: Any
    path: str

    @property
    def http_url(self) -> str | None:
        """Its URL where plain http(s) requests get it, else None."""
        return http_url(self.store, self.path)

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
