"""The exceptions and the warning that every part of the package raises.

All of them derive from `TiffError` and, besides, from the builtin exception that a caller who has
never heard of this package would catch (`ValueError`, `NotImplementedError`, `OSError`, ...).
"""

from __future__ import annotations

import re
from typing import Final, Self

__all__ = [
    "TiffAccessError",
    "TiffDataError",
    "TiffError",
    "TiffFormatError",
    "TiffNotFoundError",
    "TiffOptionError",
    "TiffSelectionError",
    "TiffUnsupportedError",
    "TiffWarning",
]


_USER: Final = re.compile(r"(\w://)[^/\s@]+@")
_SECRET: Final = re.compile(
    r"([?&](?:sig|signature|token|sas|key|secret|password|access_token|api_?key|x-(?:amz|goog)-[\w-]+)=)[^&\s]+",
    re.IGNORECASE,
)


class TiffError(Exception):
    """Something about a TIFF, or a request for one, is not as it must be.

    The message is one line: the problem, where it is, what was found, what is supported, and the way
    out. Parts that are not known are left out; a caller who knows more adds it with `with_context`.

    Args:
        problem: What is wrong, without a full stop.
        url: The file, as the caller named it.
        ifd: Index of the image file directory, or a path of indexes for SubIFDs.
        tag: The tag at fault, by name and number.
        tile: The tile or strip at fault: its index, or its position in the grid.
        found: What the file or the caller has there.
        supported: What would have been accepted.
        way_out: What the reader of the message can do about it.
    """

    def __init__(
        self,
        problem: str,
        *,
        url: str | None = None,
        ifd: object = None,
        tag: object = None,
        tile: object = None,
        found: object = None,
        supported: object = None,
        way_out: str | None = None,
    ) -> None:
        super().__init__(problem)
        self.problem = problem
        self.url = url
        self.ifd = ifd
        self.tag = tag
        self.tile = tile
        self.found = found
        self.supported = supported
        self.way_out = way_out

    @property
    def context(self) -> dict[str, object]:
        """The keyword arguments of the constructor, with their present values."""
        return {
            "url": self.url,
            "ifd": self.ifd,
            "tag": self.tag,
            "tile": self.tile,
            "found": self.found,
            "supported": self.supported,
            "way_out": self.way_out,
        }

    def with_context(self, **fields: object) -> Self:
        """Copy the error, filling in fields that are still None.

        Args:
            **fields: Any of the constructor's keyword arguments. A field that already has a value
                keeps it: whoever was nearest to the problem knows best.

        Returns:
            An error of the same class, with the same traceback, cause and notes.

        Raises:
            TypeError: For a field that errors do not have.
        """
        merged = self.context
        for name, value in fields.items():
            if name not in merged:
                message = f"{type(self).__name__} has no field {name!r}; it has {', '.join(merged)}"
                raise TypeError(message)
            if merged[name] is None:
                merged[name] = value
        copied = _rebuild(type(self), self.problem, merged)
        copied.__cause__ = self.__cause__
        copied.__context__ = self.__context__
        copied.__suppress_context__ = self.__suppress_context__
        for note in getattr(self, "__notes__", ()):
            copied.add_note(note)
        return copied.with_traceback(self.__traceback__)

    def __str__(self) -> str:
        place = [
            part
            for part in (
                self.url,
                None if self.ifd is None else f"IFD {self.ifd}",
                None if self.tag is None else f"tag {self.tag}",
                None if self.tile is None else f"tile {self.tile}",
            )
            if part is not None
        ]
        details = [
            f"{label} {value}"
            for label, value in (
                ("found", self.found),
                ("supported:", self.supported),
                ("way out:", self.way_out),
            )
            if value is not None
        ]
        text = self.problem
        if place:
            text += f" ({', '.join(place)})"
        if details:
            text += f": {'; '.join(details)}"
        # One line whatever a file puts into its tags: a log keeps one record per error.
        line = " ".join(text.split()).encode("utf-8", "backslashreplace").decode()
        return _without_secrets(line)

    def __reduce__(self) -> tuple[object, ...]:
        # The default of BaseException (and OSError's own) forgets keyword arguments.
        return (_rebuild, (type(self), self.problem, self.context))


def _without_secrets(text: str) -> str:
    """Blot out what URLs carry for the server alone: messages go to logs."""
    return _SECRET.sub(r"\1***", _USER.sub(r"\1***@", text)) if "://" in text else text


def _rebuild[ErrorT: TiffError](cls: type[ErrorT], problem: str, context: dict[str, object]) -> ErrorT:
    return cls(problem, **context)  # pyright: ignore[reportArgumentType]


class TiffFormatError(TiffError, ValueError):
    """The file is malformed or truncated."""


class TiffUnsupportedError(TiffError, NotImplementedError):
    """The file or the metadata is valid, but outside what is read here."""


class TiffDataError(TiffError, ValueError):
    """The bytes of one tile or strip do not decode."""


class TiffAccessError(TiffError, OSError):
    """The bytes of the file cannot be had."""


class TiffNotFoundError(TiffAccessError, FileNotFoundError):
    """There is no file of that name."""


class TiffSelectionError(TiffError, IndexError):
    """An IFD, a band or a window that is not there was asked for."""


class TiffOptionError(TiffError, ValueError):
    """An argument or a configuration has a value that has no meaning."""


class TiffWarning(UserWarning):
    """Something was passed over: what is read is right, but not everything was understood."""
