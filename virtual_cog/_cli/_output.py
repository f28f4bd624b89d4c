"""How the commands write: consoles, progress, and numbers with units."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import sys
from typing import TYPE_CHECKING, Final, TextIO

from tiff_codecs.errors import TiffOptionError

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from rich.console import Console

WIDE: Final = 240
"""Columns of a table that goes to a file or a pipe: nobody wraps it there."""

UNITS: Final = ("bytes", "kB", "MB", "GB", "TB", "PB")


def console() -> Console:
    """A console on stdout that takes text as it is: file names may hold brackets and colons."""
    from rich.console import Console

    class OpenConsole(Console):
        def on_broken_pipe(self) -> None:
            raise BrokenPipeError

    made = OpenConsole(markup=False, highlight=False, emoji=False, soft_wrap=True)
    if not sys.stdout.isatty() and "COLUMNS" not in os.environ:
        made.width = WIDE
    return made


@contextlib.contextmanager
def progress(what: str, total: float | None = None) -> Generator[Callable[[float], None]]:
    """Show a bar on stderr while work goes on, if that is a terminal.

    Args:
        what: names the work.
        total: its amount, in any unit; None when it is not known: then the bar only moves.

    Yields:
        A function that adds to the amount that is done.
    """
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True, markup=False), transient=True) as bar:
        task = bar.add_task(printable(what), total=total)

        def advance(amount: float) -> None:
            bar.advance(task, amount)

        yield advance


def write_line(stream: TextIO, text: str) -> None:
    """Write one line at once; a stream that is closed takes none."""
    with contextlib.suppress(ValueError):
        stream.write(f"{text}\n")
        stream.flush()


def printable(text: str) -> str:
    """``text`` with control characters escaped: what stands in a file's tags must not steer the terminal."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def byte_text(count: float) -> str:
    """``1234567`` as ``1.2 MB``."""
    unit = 0
    while count >= 999.5 and unit < len(UNITS) - 1:
        count /= 1000
        unit += 1
    return f"{count:.0f} {UNITS[unit]}" if unit == 0 or count >= 99.5 else f"{count:.1f} {UNITS[unit]}"


def plural(count: int, noun: str) -> str:
    """``1 tile``, ``2 tiles``."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def time_text(seconds: float) -> str:
    """``0.0123`` as ``12 ms``."""
    return f"{seconds * 1000:.0f} ms" if seconds < 1 else f"{seconds:.1f} s"


def rate_text(count: float, seconds: float) -> str:
    """Bytes in a second, in MB/s; with decimals where there are few."""
    rate = count / 1e6 / max(seconds, 1e-6)
    return "less than 0.1 MB/s" if rate < 0.1 else f"{rate:.{1 if rate < 10 else 0}f} MB/s"


def need(*packages: str) -> None:
    """Check that optional packages are installed.

    Raises:
        TiffOptionError: one is not; says how to get it.
    """
    missing = [name for name in packages if importlib.util.find_spec(name) is None]
    if missing:
        raise TiffOptionError(
            f"this command needs {' and '.join(missing)}",
            found="not installed" if len(missing) == 1 else "none of them installed",
            way_out="install the extra demo: pip install '.[demo]' in a checkout of virtual-cog",
        )


def quiet_icechunk() -> None:
    """Keep Icechunk's log off stderr (it warns of every local repository), unless its own setting asks for it."""
    if "ICECHUNK_LOG" not in os.environ:
        import icechunk

        icechunk.set_logs_filter("error")
