# ruff: noqa: INP001 - scripts, not a package
"""The examples on a page: run them, and see that they print what the page says.

    python docs/_examples.py docs/tutorial/*.md docs/how-to/*.md            # compare
    python docs/_examples.py --write docs/tutorial/*.md docs/how-to/*.md    # write what is printed into the pages

The blocks of a page run from top to bottom, in a folder of the page's own. A ``python`` block with a title is a
file of that name; one without is typed into an interpreter that lasts for the page. ``sh`` blocks run in bash; what
one exports is there for the next. A ``text`` block right behind shows what is printed. ``<!-- skip -->`` above a
block leaves it out; ``<!-- needs a GPU -->`` anywhere leaves the page out where there is none.
"""

from __future__ import annotations

import argparse
import difflib
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Final, Self

from tiff_codecs.gpu import why_no_device

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

NEEDS_GPU: Final = "<!-- needs a GPU -->"

HOME: Final = "/home/you/scenes"
"""What pages say in place of the folder that the examples run in."""

BLOCK: Final = re.compile(
    r'(?P<skip><!-- skip -->\n)?^```(?P<language>python|sh)(?: title="(?P<title>[^"]+)")?\n(?P<code>.*?)^```\n'
    r"(?:\n```text\n(?P<shown>.*?)^```\n)?",
    re.MULTILINE | re.DOTALL,
)

VARYING: Final = re.compile(
    r"\b\d[\d.,]*(?= (?:s|ms|MB/s|GB/s|bytes|B|kB|MB|files?)\b)"  # times, and sizes that a compressor decides on
    r"|(?<=\()\d+ bytes|1:\d[\d.]*|\b[0-9A-Z]{20}\b|\b\d+\.\d+\.\d+\b|(?<=: )\d+(?=, 'length': \d+)|(?<='length': )\d+"
)
"""What differs from run to run or between versions of other libraries: sizes, times, snapshots, versions."""

INTERPRETER: Final = """
import ast, contextlib, io, json, sys, warnings
warnings.formatwarning = lambda message, category, *_: f"{category.__name__}: {message}\\n"
names = {"__name__": "__main__"}
for line in sys.stdin:
    tree, printed = ast.parse(json.loads(line)), io.StringIO()
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
        try:
            exec(compile(tree, "<page>", "exec"), names)
            value = eval(compile(ast.Expression(last.value), "<page>", "eval"), names) if last else None
            if value is not None:
                print(repr(value))
        except Exception as error:
            print(f"{type(error).__name__}: {error}")
    print(json.dumps(printed.getvalue()), flush=True)
"""


@dataclass(frozen=True, slots=True)
class Example:
    """A block of a page."""

    language: str
    title: str | None
    code: str
    shown: str | None
    """What the page says is printed; None where it says nothing."""
    place: tuple[int, int]
    """Where that stands in the page, or would stand."""


def examples(page: str) -> Iterator[Example]:
    """The blocks of a page that are to be run, in order."""
    for found in BLOCK.finditer(page):
        if not found["skip"]:
            place = found.span("shown") if found["shown"] is not None else (found.end(), found.end())
            yield Example(found["language"], found["title"], found["code"], found["shown"], place)


class Shell:
    """A folder with a bash and an interpreter, for the examples of one page."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder.resolve()
        self._scenes, tools = self.folder / "scenes", self.folder / "tools"
        self._state = self.folder / "exported"
        self._scenes.mkdir()
        tools.mkdir()
        for name, arguments in (("python", ""), ("virtual-cog", " -m virtual_cog")):
            (tools / name).write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)}{arguments} "$@"\n')
            (tools / name).chmod(0o755)
        self._environment = {
            name: value for name, value in os.environ.items() if name not in {"COLUMNS", "FORCE_COLOR"}
        }
        self._environment |= {"PATH": f"{tools}{os.pathsep}{os.environ['PATH']}", "PYTHONDONTWRITEBYTECODE": "1"}
        self._environment |= {"NO_COLOR": "1", "ICECHUNK_LOG": "error"}
        self._interpreter: subprocess.Popen[str] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._interpreter is not None:
            self._interpreter.communicate(timeout=60)

    def run(self, example: Example) -> str:
        """Run a block; returns what it prints, with the folder under another name.

        Raises:
            RuntimeError: a command failed.
        """
        if example.title is not None:
            (self._scenes / example.title).write_text(example.code)
            return ""
        printed = self._python(example.code) if example.language == "python" else self._bash(example.code)
        lines = [line.rstrip() for line in printed.replace(str(self._scenes), HOME).splitlines()]
        return "".join(f"{line}\n" for line in lines)

    def _bash(self, code: str) -> str:
        whole = f'[[ ! -e "{self._state}" ]] || source "{self._state}"\n{code}\nexport -p >"{self._state}"\n'
        done = subprocess.run(  # noqa: S603 - the repository's own pages
            ["/bin/bash", "-euo", "pipefail", "-c", whole],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            cwd=self._scenes,
            env=self._environment,
            timeout=300,
        )
        if done.returncode:
            message = f"exit code {done.returncode} of\n{code}\n{done.stdout}"
            raise RuntimeError(message)
        return done.stdout

    def _python(self, code: str) -> str:
        if self._interpreter is None:
            self._interpreter = subprocess.Popen(  # noqa: S603 - as above
                [sys.executable, "-c", INTERPRETER],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                cwd=self._scenes,
                env=self._environment,
            )
        asked, answered = _pipes(self._interpreter)
        asked.write(json.dumps(code) + "\n")
        asked.flush()
        return json.loads(answered.readline())


def _pipes(process: subprocess.Popen[str]) -> tuple[IO[str], IO[str]]:
    if process.stdin is None or process.stdout is None:
        message = "the interpreter has no pipes"
        raise RuntimeError(message)
    return process.stdin, process.stdout


def rerun(page: str) -> str:
    """The page with what its examples print now."""
    with tempfile.TemporaryDirectory() as folder, Shell(Path(folder)) as shell:
        printed = [(example, shell.run(example)) for example in examples(page)]
    for example, now in reversed(printed):
        start, end = example.place
        if example.shown is not None:
            page = page[:start] + now + page[end:]
        elif now:
            page = f"{page[:start]}\n```text\n{now}```\n{page[end:]}"
    return page


def differences(page: str) -> str:
    """What the examples of a page print against what it says, as a diff; empty when it is the same."""
    said, printed = _comparable(page), _comparable(rerun(page))
    return "\n".join(difflib.unified_diff(said, printed, "the page", "what is printed", lineterm=""))


def _comparable(page: str) -> list[str]:
    # columns of a table move with what is in them
    return [re.sub(r"(?<=\S)[ ─]{2,}", "  ", line).rstrip() for line in VARYING.sub("#", page).splitlines()]


def main(arguments: Sequence[str] | None = None) -> int:
    """Compare or write pages; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pages", nargs="+", type=Path)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args(arguments)
    failed = False
    for path in options.pages:
        page = path.read_text(encoding="utf-8")
        if NEEDS_GPU in page and (reason := why_no_device()):
            sys.stdout.write(f"{path}: left out: {reason}\n")
        elif options.write:
            path.write_text(rerun(page), encoding="utf-8")
        elif found := differences(page):
            failed = True
            sys.stdout.write(f"{path}:\n{found}\n")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
