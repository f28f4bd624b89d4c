"""Icechunk's virtual chunk containers: what lets a repository read chunks of files outside of it.

Icechunk takes the location of a chunk as a URL, percent-encoded (VirtualiZarr's manifests hold it as it is),
and reads it only through a *virtual chunk container*: a URL prefix with the settings of the store behind it,
which is kept in the repository, and for which the reader gives credentials, which are not.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote, urlsplit

from tiff_codecs.errors import TiffOptionError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

SAFE: Final = "/:"
"""Characters that stay as they are in a location, besides letters, digits and ``_.-~``."""

PLAIN: Final = re.compile(r"[A-Za-z0-9_.~:-]+")
"""Names that are the same percent-encoded or not: Icechunk compares a container's prefix with either form."""


@dataclass(frozen=True, slots=True)
class Container:
    """A URL prefix that chunks are read from, and what a reader says to be let in."""

    prefix: str
    store: Any
    """Icechunk's settings of the store."""
    credentials: str
    """The Python expression for the credentials."""


def location(url: str) -> str:
    """A file's URL as Icechunk reads it: percent-encoded."""
    parts = urlsplit(url)
    root = f"{parts.scheme}://{parts.netloc}"
    return root + quote(url[len(root) :], safe=SAFE)


def container_prefix(url: str) -> str:
    """The URL prefix of the container for one file: its folder, or its bucket or host.

    Icechunk finds no container whose prefix holds a character that URLs encode, so of such a path it is
    the last folder before the first of these.

    Raises:
        TiffOptionError: there is none for such a path, or for such a URL.
    """
    parts = urlsplit(url)
    if parts.scheme not in {"file", *STORES}:
        raise TiffOptionError(
            "Icechunk has no store for this URL", url=url, supported=", ".join(f"{s}://" for s in ["file", *STORES])
        )
    if parts.username or parts.password:
        raise TiffOptionError(
            "a URL with a user name or a password",
            url=f"{parts.scheme}://{parts.hostname}{parts.path}",
            way_out="it would be written into the repository for everyone to see: use a URL without",
        )
    if parts.scheme != "file":
        return f"{parts.scheme}://{parts.netloc}/"
    folders: list[str] = []
    for name in url[len("file://") :].split("/")[1:-1]:
        if not PLAIN.fullmatch(name):
            break
        folders.append(name)
    if not folders:
        raise TiffOptionError(
            "Icechunk cannot refer to a file here",
            url=url,
            found="a folder at the top whose name has characters that URLs encode, or no folder at all",
            way_out="make a link with a plain name to the folder, e.g. /tmp/data, and name the file through it",
        )
    return f"file:///{'/'.join(folders)}/"


def containers_for(urls: Iterable[str]) -> tuple[Container, ...]:
    """The containers for files: one for the local ones where they share a folder, one a host or bucket."""
    prefixes = sorted({container_prefix(url) for url in urls})
    local = [prefix for prefix in prefixes if prefix.startswith("file://")]
    shared = _shared_folder(local) if len(local) > 1 else None
    if shared is not None:
        prefixes = [shared, *(prefix for prefix in prefixes if prefix not in local)]
    return tuple(_container(prefix) for prefix in prefixes)


def _shared_folder(prefixes: list[str]) -> str | None:
    """The folder that all of these lie in; None where that is the root, which Icechunk takes for none."""
    shared: list[str] = []
    for names in zip(*(prefix.split("/")[3:-1] for prefix in prefixes), strict=False):
        if len(set(names)) > 1:
            break
        shared.append(names[0])
    return f"file:///{'/'.join(shared)}/" if shared else None


def _container(prefix: str) -> Container:
    import icechunk

    scheme = urlsplit(prefix).scheme
    if scheme == "file":
        store = icechunk.local_filesystem_store(prefix[len("file://") :])
        return Container(prefix, store, "icechunk.credentials.LocalFileSystemAccess")
    return Container(prefix, *STORES[scheme](icechunk))


def _http(ic: Any) -> tuple[Any, str]:  # noqa: ANN401
    return ic.http_store(), "icechunk.credentials.HttpAccess"


def _s3(ic: Any) -> tuple[Any, str]:  # noqa: ANN401
    endpoint = _setting("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT")
    anonymous = _flag("AWS_SKIP_SIGNATURE")
    store = ic.s3_store(
        region=_setting("AWS_REGION", "AWS_DEFAULT_REGION") or "us-east-1",
        endpoint_url=endpoint,
        allow_http=bool(endpoint and endpoint.startswith("http://")),
        anonymous=anonymous,
        s3_compatible=endpoint is not None,
        force_path_style=endpoint is not None and not _flag("AWS_VIRTUAL_HOSTED_STYLE_REQUEST"),
        requester_pays=_flag("AWS_REQUEST_PAYER"),
    )
    return store, f"icechunk.s3_{'anonymous' if anonymous else 'from_env'}_credentials()"


def _gcs(ic: Any) -> tuple[Any, str]:  # noqa: ANN401
    if _flag("GOOGLE_SKIP_SIGNATURE"):
        return ic.gcs_store(), "icechunk.credentials.gcs_anonymous_credentials()"
    return ic.gcs_store(), "icechunk.gcs_from_env_credentials()"


def _azure(ic: Any) -> tuple[Any, str]:  # noqa: ANN401
    account = _setting("AZURE_STORAGE_ACCOUNT_NAME", "AZURE_STORAGE_ACCOUNT")
    if account is None:
        raise TiffOptionError(
            "Icechunk needs the name of the Azure storage account",
            way_out="set the environment variable AZURE_STORAGE_ACCOUNT_NAME",
        )
    anonymous = _flag("AZURE_SKIP_SIGNATURE")
    store = ic.ObjectStoreConfig.Azure({"account": account})
    return store, f"icechunk.azure_{'anonymous' if anonymous else 'from_env'}_credentials()"


def _setting(*names: str) -> str | None:
    return next((value for name in names if (value := os.environ.get(name))), None)


def _flag(name: str) -> bool:
    return os.environ.get(name, "").lower() in {"1", "true", "yes", "on", "requester"}


STORES: Final[dict[str, Callable[[Any], tuple[Any, str]]]] = {
    "http": _http,
    "https": _http,
    "s3": _s3,
    "gs": _gcs,
    "az": _azure,
}
"""What describes a store to Icechunk, from the same environment variables that obstore reads."""
