"""The commands, and the one place where their outcome becomes an exit code and a line on stderr."""

from __future__ import annotations

import contextlib
import importlib.metadata
import io
import os
import sys
import warnings
from typing import TYPE_CHECKING, Any, Final

from cyclopts import App, CycloptsError

from tiff_codecs.errors import TiffError, TiffWarning
from virtual_cog._cli._interrupt import INTERRUPTED, prompt_interrupts
from virtual_cog._cli._output import printable, write_line
from virtual_cog._cli.bench import bench
from virtual_cog._cli.demo import demo
from virtual_cog._cli.info import info
from virtual_cog._cli.read import read
from virtual_cog._cli.refs import refs

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

FAILED: Final = 1
USAGE: Final = 2
PIPE_CLOSED: Final = 141
"""What shells report of a program that SIGPIPE has ended."""

DEBUG: Final = "--debug"


def version() -> str:
    """The installed version."""
    try:
        return importlib.metadata.version("virtual-cog")
    except importlib.metadata.PackageNotFoundError:
        return "not installed (running from its sources)"


app = App(
    name="virtual-cog",
    help="Open GeoTIFFs and COGs as Zarr, without copying a pixel.",
    help_epilogue=f"{DEBUG}, before or after the command, shows tracebacks and every warning.",
    help_format="markdown",
    version=version,
    result_action="return_value",
    print_error=False,
    exit_on_error=False,
    suppress_keyboard_interrupt=False,
)
for _at, _command in enumerate((info, read, refs, bench, demo)):
    app.command(_command, sort_key=_at)


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command.

    Args:
        argv: the arguments behind the program's name; None takes those of the process.

    Returns:
        The exit code: 0, 1 (failed), 2 (wrong arguments), 130 (interrupted) or 141 (the reader of
        stdout is gone).
    """
    tokens, debug = _take_debug(sys.argv[1:] if argv is None else argv)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a name that the terminal cannot show is no error
    try:
        with _warnings_as_lines(debug=debug), prompt_interrupts():
            code = _run(tokens, debug=debug)
            sys.stdout.flush()
    except SystemExit as stop:  # how rich leaves when a pipe closes under its help page
        return stop.code if isinstance(stop.code, int) else FAILED
    except BrokenPipeError:
        # what is left in the buffers must not raise again when the interpreter ends
        with contextlib.suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return PIPE_CLOSED
    return code


def _run(tokens: list[str], *, debug: bool) -> int:
    try:
        result: Any = app(tokens)
    except (BrokenPipeError, SystemExit):
        raise
    except KeyboardInterrupt:
        return INTERRUPTED
    except Exception as error:  # noqa: BLE001 - whatever it is, the user gets one line
        if debug:
            import traceback

            traceback.print_exception(error)
        message, code = _explain(error, debug=debug)
        write_line(sys.stderr, f"error: {printable(message)}")
        return code
    return result if isinstance(result, int) else 0


def _explain(error: Exception, *, debug: bool) -> tuple[str, int]:
    """The line for the user, and the exit code."""
    words = " ".join(str(error).split())
    if isinstance(error, CycloptsError):
        command = " ".join(["virtual-cog", *map(str, error.command_chain or ())])
        return f"{words.rstrip('.')}; way out: {command} --help", USAGE
    if isinstance(error, TiffError):
        return words, FAILED
    if isinstance(error, MemoryError):
        return "out of memory; way out: read the image by windows (--window)", FAILED
    hint = "" if debug else f"; way out: run it again with {DEBUG} and report what it prints"
    return f"this is a bug in virtual-cog: {type(error).__name__}: {words}{hint}", FAILED


def _take_debug(argv: Sequence[str]) -> tuple[list[str], bool]:
    """Split the global flag off, wherever it stands before ``--``."""
    tokens = list(argv)
    end = tokens.index("--") if "--" in tokens else len(tokens)
    kept = [token for token in tokens[:end] if token != DEBUG]
    return kept + tokens[end:], len(kept) != end


@contextlib.contextmanager
def _warnings_as_lines(*, debug: bool) -> Generator[None]:
    """Print each of our warnings once, on one line; those of other libraries are for developers."""
    seen: set[str] = set()

    def show(message: Warning | str, category: type[Warning], *_: Any) -> None:  # noqa: ANN401
        text = printable(" ".join(str(message).split()))
        text = text if issubclass(category, TiffWarning) else f"{category.__name__}: {text}"
        if text not in seen:
            seen.add(text)
            write_line(sys.stderr, f"warning: {text}")

    with warnings.catch_warnings():
        warnings.simplefilter("always" if debug else "ignore")
        warnings.simplefilter("always", TiffWarning)
        warnings.showwarning = show
        yield
