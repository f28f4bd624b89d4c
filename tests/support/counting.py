"""A store that counts what it is asked for."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from obstore.store import LocalStore

if TYPE_CHECKING:
    from pathlib import Path


@dataclass
class CountingStore:
    """Files of a folder; `ranges` holds (path, start, end) of every request."""

    folder: Path
    ranges: list[tuple[str, int, int]] = field(default_factory=list)
    others: list[str] = field(default_factory=list)
    """Requests that are not for a range of bytes."""

    def __post_init__(self) -> None:
        self._store: Any = LocalStore(self.folder)

    @property
    def requests(self) -> int:
        return len(self.ranges) + len(self.others)

    @property
    def bytes_read(self) -> int:
        return sum(end - start for _, start, end in self.ranges)

    def clear(self) -> None:
        self.ranges.clear()
        self.others.clear()

    def get(self, path: str, *, options: Any = None) -> Any:
        result = self._store.get(path, options=options)
        if options is None:
            self.others.append(path)
        else:
            self.ranges.append((path, *result.range))
        return result

    async def get_async(self, path: str, *, options: Any = None) -> Any:
        result = await self._store.get_async(path, options=options)
        if options is None:
            self.others.append(path)
        else:
            self.ranges.append((path, *result.range))
        return result

    def get_range(self, path: str, *, start: int, end: int) -> Any:
        self.ranges.append((path, start, end))
        return self._store.get_range(path, start=start, end=end)

    async def get_range_async(self, path: str, *, start: int, end: int) -> Any:
        self.ranges.append((path, start, end))
        return await self._store.get_range_async(path, start=start, end=end)

    def get_ranges(self, path: str, *, starts: Any, ends: Any) -> Any:
        self.ranges.extend((path, start, end) for start, end in zip(starts, ends, strict=True))
        return self._store.get_ranges(path, starts=starts, ends=ends, coalesce=0)

    async def get_ranges_async(self, path: str, *, starts: Any, ends: Any) -> Any:
        self.ranges.extend((path, start, end) for start, end in zip(starts, ends, strict=True))
        return await self._store.get_ranges_async(path, starts=starts, ends=ends, coalesce=0)

    def head(self, path: str) -> Any:
        self.others.append(path)
        return self._store.head(path)

    async def head_async(self, path: str) -> Any:
        self.others.append(path)
        return await self._store.head_async(path)
