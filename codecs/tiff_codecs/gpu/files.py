"""Open handles of files for kvikio; those of local files are kept between reads."""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from tiff_codecs.errors import TiffNotFoundError
from tiff_codecs.references.file import unreadable

if TYPE_CHECKING:
    from tiff_codecs.references.file import FileReference

__all__ = ["can_kvikio", "forget", "open_kvikio", "set_threads", "threads"]

MOST_HANDLES: Final = 128

_handles: OrderedDict[str, tuple[tuple[int, int, int], Any]] = OrderedDict()
_lock = threading.Lock()


@cache
def _kvikio() -> Any:  # noqa: ANN401 - a module without types
    try:
        import kvikio
        import kvikio.defaults  # pyright: ignore[reportUnusedImport] - makes the attribute
    except ImportError:
        return None
    return kvikio


def can_kvikio(file: FileReference) -> bool:
    """Whether kvikio is installed and reads `file`: from the file system, or over plain http(s)."""
    return (file.local_path is not None or file.http_url is not None) and _kvikio() is not None


def threads() -> int | None:
    """Kvikio's number of threads; None where it is not installed."""
    kvikio = _kvikio()
    return None if kvikio is None else int(kvikio.defaults.get("num_threads"))


def set_threads(number: int) -> None:
    """Set kvikio's number of threads for the whole process."""
    if number != threads() and (kvikio := _kvikio()) is not None:
        kvikio.defaults.set("num_threads", number)


def open_kvikio(file: FileReference, end: int) -> Any:  # noqa: ANN401 - kvikio.CuFile or kvikio.RemoteFile
    """Return an open handle; a local file that was replaced since is opened anew.

    Args:
        file: one that `can_kvikio`.
        end: where the last byte to be read ends: a remote file is then not asked for its length.

    Raises:
        TiffNotFoundError: it is not there.
        TiffAccessError: it cannot be opened.
    """
    if file.http_url is not None:
        try:
            return _kvikio().RemoteFile.open_http(file.http_url, nbytes=end)
        except Exception as error:
            raise unreadable(file, error) from error
    path = file.local_path
    assert path is not None  # noqa: S101 - can_kvikio() says so
    try:
        stat = os.stat(path)  # noqa: PTH116
    except FileNotFoundError as error:
        raise TiffNotFoundError("there is no such file", url=file.url) from error
    except OSError as error:
        raise unreadable(file, error) from error
    identity = (stat.st_ino, stat.st_mtime_ns, stat.st_size)
    with _lock:
        known = _handles.get(path)
        if known is not None and known[0] == identity and not known[1].closed:
            _handles.move_to_end(path)
            return known[1]
    try:
        handle = _kvikio().CuFile(path, "r")
    except Exception as error:
        raise unreadable(file, error) from error
    with _lock:
        # a handle that is dropped closes itself once no read holds it
        _handles[path] = (identity, handle)
        _handles.move_to_end(path)
        while len(_handles) > MOST_HANDLES:
            _handles.popitem(last=False)
    return handle


def forget(file: FileReference) -> None:
    """Drop the handle of a file that gave trouble."""
    with _lock:
        _handles.pop(file.local_path or "", None)
