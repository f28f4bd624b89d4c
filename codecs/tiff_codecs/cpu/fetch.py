"""Bytes of tiles into memory that a thread uses again and again."""

from __future__ import annotations

from contextlib import suppress
from io import FileIO
from typing import TYPE_CHECKING, Self

import numpy as np

from tiff_codecs.errors import TiffError, TiffNotFoundError
from tiff_codecs.references.file import short, unreadable

if TYPE_CHECKING:
    from types import TracebackType

    from tiff_codecs.references.file import FileReference

__all__ = ["Fetcher"]


class Fetcher:
    """What one thread reads with: a buffer that grows to the largest request, and the local file it read last."""

    def __init__(self) -> None:
        self._buffer = np.empty(0, np.uint8)
        self._file: FileReference | None = None
        self._handle: FileIO | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._close()

    def fetch(self, file: FileReference, start: int, end: int) -> memoryview:
        """Read bytes [start, end) of a file; they are overwritten by the next call.

        Raises:
            TiffNotFoundError: it is not there.
            TiffAccessError: it cannot be read, or is shorter.
        """
        size = end - start
        data = self._fetch_local(file, start, size)
        if data is None:
            try:
                data = memoryview(file.read(start, end)).cast("B")
            except TiffError:
                raise
            except FileNotFoundError as error:
                raise TiffNotFoundError("there is no such file", url=file.url) from error
            except Exception as error:
                raise unreadable(file, error) from error
        if len(data) != size:
            raise short(file, len(data), size)
        return data

    def _fetch_local(self, file: FileReference, start: int, size: int) -> memoryview | None:
        """Read past the store, without a copy; None where that does not work: the store then says why."""
        if file is not self._file:
            self._close()
            self._file = file
            if file.local_path is not None:
                with suppress(OSError):
                    self._handle = FileIO(file.local_path)
        if self._handle is None:
            return None
        if self._buffer.size < size:
            self._buffer = np.empty(0, np.uint8)  # the old one goes before the new one comes
            self._buffer = np.empty(size, np.uint8)
        data = memoryview(self._buffer)[:size]
        filled = 0
        try:
            self._handle.seek(start)
            while filled < size and (count := self._handle.readinto(data[filled:])):
                filled += count
        except OSError:
            return None
        return data[:filled]

    def _close(self) -> None:
        if self._handle is not None:
            self._handle.close()
        self._file = self._handle = None
