"""From a path or URL to the store that holds the file."""

from __future__ import annotations

import os
from datetime import timedelta
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit, urlunsplit

from obspec_utils.registry import ObjectStoreRegistry
from obstore.store import HTTPStore, LocalStore, from_url

from tiff_codecs.errors import TiffOptionError
from virtual_cog._source import Source

if TYPE_CHECKING:
    from obstore.store import ClientConfig, RetryConfig

ENCODED_SCHEMES = frozenset(("file", "http", "https"))
"""Schemes whose paths are percent-encoded; an object store's keys are taken as they stand."""

CLIENT: ClientConfig = {
    "allow_http": True,
    "connect_timeout": timedelta(seconds=10),
    "read_timeout": timedelta(seconds=30),
    "timeout": timedelta(hours=1),
}
"""A connection that is silent for long is given up; one that is slow is not, however large the tile."""

RETRY: RetryConfig = {"max_retries": 3, "retry_timeout": timedelta(seconds=30)}
"""An unreachable host is reported within half a minute (the stores' own default is three)."""


def normalize_url(url: str | os.PathLike[str]) -> str:
    """Return an absolute URL for a local path or URL.

    Args:
        url: a local path (absolute or relative, with any characters), a ``file://`` URL, or a URL of
            another scheme, which is returned unchanged.

    Raises:
        TiffOptionError: it is neither, or a URL that cannot be one.
    """
    text = os.fspath(url) if isinstance(url, str | os.PathLike) else None  # pyright: ignore[reportUnnecessaryIsInstance]
    if not isinstance(text, str) or not text or "\0" in text:
        raise TiffOptionError("no path or URL", found=repr(url), supported="a str or a path of str")
    try:
        if "://" not in text:
            return Path(os.path.abspath(Path(text).expanduser())).as_uri()  # noqa: PTH100
        text.encode()
        parts = urlsplit(text)
        if parts.port == 0 or (parts.scheme in {"http", "https"} and not parts.hostname):
            raise _bad_url(text, "no host" if not parts.hostname else "port 0")
    except (ValueError, RuntimeError) as error:  # a path with a NUL; no such user's home; a bad port or IPv6 address
        if isinstance(error, TiffOptionError):
            raise
        raise _bad_url(text, str(error)) from error
    return text


def _bad_url(text: str, found: str) -> TiffOptionError:
    return TiffOptionError(
        "not a path or URL that can be opened",
        url=text.encode("utf-8", "backslashreplace").decode(),
        found=found,
        supported="local paths, file://, http://, https://, s3://, gs://, az://",
    )


def registry_for(url: str | os.PathLike[str]) -> ObjectStoreRegistry[Any]:
    """Make a registry with a store for ``url``: local files, http(s), and object stores by their environment.

    Raises:
        TiffOptionError: no store is known for the URL's scheme.
    """
    parts = urlsplit(normalize_url(url))
    prefix = f"{parts.scheme}://{parts.netloc}"
    return ObjectStoreRegistry({prefix: _store_for(prefix)})


@lru_cache(maxsize=64)
def _store_for(prefix: str) -> Any:  # noqa: ANN401 - one of obstore's store types
    scheme = urlsplit(prefix).scheme
    if scheme == "file":
        return LocalStore()
    try:
        if scheme in ("http", "https"):
            return HTTPStore.from_url(prefix, client_options=CLIENT, retry_config=RETRY)
        return from_url(prefix, client_options=CLIENT, retry_config=RETRY)
    except Exception as error:
        raise TiffOptionError(
            "no store for this URL",
            url=prefix,
            found=str(error).split("\n", 1)[0],
            supported="local paths, file://, http://, https://, s3://, gs://, az://",
            way_out="make an ObjectStoreRegistry with the store and its credentials, and pass registry=",
        ) from error


def resolve(url: str | os.PathLike[str], registry: ObjectStoreRegistry[Any] | None = None) -> Source:
    """Find the store and path of ``url`` in ``registry`` (None: in one made for it).

    Raises:
        TiffOptionError: the registry has no store for it, or the URL carries a query or fragment,
            which stores do not take.
    """
    full = normalize_url(url)
    parts = urlsplit(full)
    if parts.query or parts.fragment:
        raise TiffOptionError(
            "a URL with a query or a fragment",
            url=urlunsplit(parts._replace(query="", fragment="")),
            found=f"?{'...' if parts.query else ''}{'#' + parts.fragment if parts.fragment else ''}",
            supported="plain URLs; # and ? in a file:// URL percent-encoded",
            way_out="for a signed URL register a store with its credentials (e.g. obstore's AzureStore or "
            "S3Store) and pass registry=; for a local file pass its path",
        )
    stores = registry_for(full) if registry is None else registry
    if not hasattr(stores, "resolve"):
        raise TiffOptionError(
            "not a registry of stores", found=repr(registry), supported="an ObjectStoreRegistry, or None"
        )
    try:
        store, path = stores.resolve(full)
    except ValueError as error:
        raise TiffOptionError(
            "the registry has no store for this URL",
            url=full,
            found=str(error).split("\n", 1)[0],
            way_out=f'register one, e.g. registry.register("{parts.scheme}://{parts.netloc}", store)',
        ) from error
    if parts.scheme in ENCODED_SCHEMES:
        # bytes of a name that are no UTF-8 come back as they were, so that the file is at least named truly
        escapes = "surrogateescape" if parts.scheme == "file" else "replace"
        whole, path = unquote(parts.path, errors=escapes), unquote(path, errors=escapes)
        full = f"{parts.scheme}://{parts.netloc}{whole}"
    return Source(full, store, path)
