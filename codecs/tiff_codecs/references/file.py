"""A file that tiles lie in, and what may go wrong with it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import quote

from tiff_codecs.errors import TiffAccessError

if TYPE_CHECKING:
    from collections.abc import Buffer

__all__ = ["FileReference", "StoreFile", "http_url", "local_path", "short", "unreadable"]


class FileReference(Protocol):
    """A file that tiles lie in."""

    @property
    def url(self) -> str:
        """Its name in messages."""
        ...

    @property
    def local_path(self) -> str | None:
        """Its path in the file system, None for a file elsewhere."""
        ...

    @property
    def http_url(self) -> str | None:
        """Its URL where plain http(s) requests get it, else None."""
        ...

    def read(self, start: int, end: int) -> Buffer:
        """Read bytes [start, end) into host memory."""
        ...


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


def short(file: FileReference, got: int, wanted: int) -> TiffAccessError:
    """The error for a read that gave too little."""
    return TiffAccessError(
        "the file gave fewer bytes than were asked for",
        url=file.url,
        found=f"{got} of {wanted} bytes",
        way_out="the file changed or was cut while it was read: open it again",
    )


def unreadable(file: FileReference, error: Exception) -> TiffAccessError:
    """The error for a file that cannot be read."""
    return TiffAccessError(
        "the file cannot be read",
        url=file.url,
        found=str(error).split("\n", 1)[0] or type(error).__name__,
        way_out="check the path and its permissions",
    )
