"""Exact-range reads of one object in a store: the only place of the parser that does I/O."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from tiff_codecs.errors import TiffAccessError, TiffError, TiffFormatError, TiffNotFoundError
from tiff_codecs.references.file import http_url, local_path
from virtual_cog._directory import Directory

if TYPE_CHECKING:
    from collections.abc import Buffer, Sequence

    from virtual_cog._segments import Range, Steps

PREFETCH = 24 * 1024
"""Bytes of the first request: holds the IFDs of an ordinary COG (2,000 tiles and their overviews)."""


FILE_KINDS = {stat.S_IFIFO: "a pipe", stat.S_IFDIR: "a folder", stat.S_IFSOCK: "a socket", stat.S_IFCHR: "a device"}

_users: list[int] = []
"""The process that has first read through obstore."""


class Store(Protocol):
    """What a store must do: the part of obspec's protocols that is used here. Every obstore store does."""

    def get(self, path: str, *, options: Any = None) -> Any: ...  # noqa: ANN401 - differs by store
    async def get_async(self, path: str, *, options: Any = None) -> Any: ...  # noqa: ANN401
    def get_range(self, path: str, *, start: int, end: int) -> Buffer: ...
    async def get_range_async(self, path: str, *, start: int, end: int) -> Buffer: ...
    def get_ranges(self, path: str, *, starts: Sequence[int], ends: Sequence[int]) -> Sequence[Buffer]: ...
    async def get_ranges_async(self, path: str, *, starts: Sequence[int], ends: Sequence[int]) -> Sequence[Buffer]: ...


@dataclass(frozen=True, slots=True)
class Source:
    """One TIFF file in a store."""

    url: str
    """The file's name in messages and in chunk manifests."""
    store: Store
    path: str
    """The file's path within ``store``."""

    @property
    def local_path(self) -> str | None:
        """The file's path in the file system; None for one elsewhere."""
        return local_path(self.store, self.path)

    @property
    def http_url(self) -> str | None:
        """Its URL where plain http(s) requests get it, else None."""
        return http_url(self.store, self.path)

    def open(self, prefetch: int = PREFETCH) -> Directory:
        """Read the first ``prefetch`` bytes (one request, which also tells the size).

        Raises:
            TiffNotFoundError: nothing is there.
            TiffAccessError: the store does not give it.
            TiffFormatError: it is no TIFF.
        """
        self._check()
        try:
            result = self.store.get(self.path, options={"range": (0, prefetch)})
            head, size = result.buffer(), int(result.meta["size"])
        except Exception as error:
            raise self._explain(error, self._is_empty(error)) from error
        return Directory(self.url, head, size)

    async def open_async(self, prefetch: int = PREFETCH) -> Directory:
        """Do as :meth:`open` does, asynchronously."""
        self._check()
        try:
            result = await self.store.get_async(self.path, options={"range": (0, prefetch)})
            head, size = await result.buffer_async(), int(result.meta["size"])
        except Exception as error:
            raise self._explain(error, self._is_empty(error)) from error
        return Directory(self.url, head, size)

    def drive[T](self, steps: Steps[T]) -> T:
        """Run parsing steps, reading what they ask for.

        Raises:
            TiffError: what the steps raise, or a TiffAccessError from the store.
        """
        try:
            ranges = next(steps)
            while True:
                ranges = steps.send(self._read(ranges))
        except StopIteration as done:
            return done.value

    async def drive_async[T](self, steps: Steps[T]) -> T:
        """Do as :meth:`drive` does, asynchronously."""
        try:
            ranges = next(steps)
            while True:
                ranges = steps.send(await self._read_async(ranges))
        except StopIteration as done:
            return done.value

    def read(self, start: int, end: int) -> Buffer:
        """Read bytes [start, end); the caller has checked that they lie within the file.

        Raises:
            TiffAccessError: the store does not give them, or gives fewer.
        """
        return self._read([(start, end)])[0]

    def _check(self) -> None:
        """Refuse what would wait for ever, or be called missing though it is there.

        Raises:
            TiffAccessError: the path is a pipe or another thing that is no file, or has a name that stores do not take.
        """
        _check_process(self.url)
        path = self.local_path
        if path is None:
            return
        try:
            mode = os.stat(path).st_mode  # noqa: PTH116
        except (OSError, ValueError):
            return  # the store says what it is
        if not stat.S_ISREG(mode):
            raise TiffAccessError(
                "not a regular file",
                url=self.url,
                found=FILE_KINDS.get(stat.S_IFMT(mode), "something else"),
                way_out="name a file in it" if stat.S_ISDIR(mode) else "copy the bytes to a file",
            )
        if any("\ud800" <= character <= "\udfff" for character in path):
            raise TiffAccessError(
                "a file whose name is not UTF-8", url=self.url, way_out="rename it, or make a link to it"
            )

    def _read(self, ranges: list[Range]) -> list[Buffer]:
        _check_process(self.url)
        try:
            if len(ranges) == 1:
                ((start, end),) = ranges
                data = [self.store.get_range(self.path, start=start, end=end)]
            else:
                data = list(self.store.get_ranges(self.path, **_columns(ranges, self.store)))
        except Exception as error:
            raise self._explain(error) from error
        return self._whole(ranges, data)

    async def _read_async(self, ranges: list[Range]) -> list[Buffer]:
        _check_process(self.url)
        try:
            if len(ranges) == 1:
                ((start, end),) = ranges
                data = [await self.store.get_range_async(self.path, start=start, end=end)]
            else:
                data = list(await self.store.get_ranges_async(self.path, **_columns(ranges, self.store)))
        except Exception as error:
            raise self._explain(error) from error
        return self._whole(ranges, data)

    def _whole(self, ranges: list[Range], data: list[Buffer]) -> list[Buffer]:
        """Let no short answer pass: it would read as something else further on."""
        for (start, end), piece in zip(ranges, data, strict=True):
            if memoryview(piece).nbytes != end - start:
                raise TiffAccessError(
                    "the store gave fewer bytes than were asked for",
                    url=self.url,
                    found=f"{memoryview(piece).nbytes} bytes of [{start}, {end})",
                    way_out="the file changed or was cut while it was read: open it again",
                )
        return data

    def _is_empty(self, error: Exception) -> bool:
        """Whether the object exists with length 0: stores answer a range request for it with an error."""
        if "range" not in str(error).lower():
            return False
        try:
            return int(self.store.get(self.path).meta["size"]) == 0
        except Exception:  # noqa: BLE001 - the first error is the one to report
            return False

    def _explain(self, error: Exception, empty: bool = False) -> TiffError:  # noqa: FBT001, FBT002
        if isinstance(error, TiffError):
            return error
        reason = str(error).split("\n", 1)[0] or type(error).__name__
        if empty:
            return TiffFormatError("not a TIFF file", url=self.url, found="an empty file")
        if isinstance(error, FileNotFoundError):
            return TiffNotFoundError(
                "there is no such file", url=self.url, found=reason, way_out="check the path or URL"
            )
        return TiffAccessError(
            "the file cannot be read",
            url=self.url,
            found=reason,
            way_out="check the network, the permissions and the credentials of the store",
        )


def _check_process(url: str) -> None:
    """Refuse to read in a process forked from one that has: without obstore's threads it would wait for ever.

    Raises:
        TiffAccessError: it is one.
    """
    if not _users:
        _users.append(os.getpid())
    elif os.getpid() != _users[0]:
        raise TiffAccessError(
            "no reads in a process forked from one that has read",
            url=url,
            way_out='start it with the method "spawn" or "forkserver", e.g. multiprocessing.get_context("spawn")',
        )


def _columns(ranges: list[Range], store: Store) -> dict[str, Any]:
    columns: dict[str, Any] = {"starts": [s for s, _ in ranges], "ends": [e for _, e in ranges]}
    if type(store).__module__.startswith("obstore"):
        columns["coalesce"] = 0  # what lies near has been joined; obstore would join up to 1 MiB apart
    return columns
