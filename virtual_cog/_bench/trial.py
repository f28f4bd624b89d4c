"""One read in a process of its own: whether the reader survives it, and how much memory it takes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from virtual_cog._bench.readers import DeclinedError, all_readers
from virtual_cog._bench.task import Task

if TYPE_CHECKING:
    from virtual_cog._bench.readers import Reader

MODULE: Final = ("-m", "virtual_cog._bench.trial")

TIMEOUT: Final = 300.0
"""Seconds after which a reader is taken to hang."""

MARK: Final = "trial result: "
"""Begins the line of the answer: libraries print lines of their own."""


@dataclass(frozen=True, slots=True)
class Trial:
    """What came of one read."""

    reason: str | None = None
    """Why it failed; None when it did not."""
    declined: bool = False
    output_bytes: int = 0
    extra_bytes: int | None = None
    """Memory at its highest above what the process had before and the output takes; None when not known."""


def try_alone(reader: Reader, task: Task, timeout: float = TIMEOUT) -> Trial:
    """Let a reader do its task once in a new process."""
    request = json.dumps({"kind": reader.kind, "key": reader.key, "task": task.to_json()})
    try:
        done = subprocess.run(  # noqa: S603 - this interpreter, on this module
            [sys.executable, "-P", *MODULE],
            input=request,
            capture_output=True,
            text=True,
            check=False,
            timeout=timeout,
        )
    except subprocess.TimeoutExpired:
        return Trial(f"no end after {timeout:.0f} s")
    answers = [line for line in done.stdout.splitlines() if line.startswith(MARK)]
    if done.returncode or not answers:
        return Trial(_death(done.returncode, done.stderr))
    return Trial(**json.loads(answers[-1].removeprefix(MARK)))


def _death(code: int, stderr: str) -> str:
    lines = [line.strip() for line in stderr.splitlines() if line.strip()]
    last = f": {lines[-1][:200]}" if lines else ""
    return (f"ends its process with signal {-code}" if code < 0 else f"ends its process with code {code}") + last


def _attempt(kind: str, key: str, task: Task) -> dict[str, Any]:
    reader = next(r for r in all_readers() if r.kind == kind and r.key == key)
    try:
        call = reader.start(task)
        before = _memory("VmRSS")
        result = reader.inspect(call())
        peak = _memory("VmHWM")
    except DeclinedError as error:
        return {"reason": str(error), "declined": True}
    except Exception as error:  # noqa: BLE001 - whatever another library raises
        return {"reason": f"{type(error).__name__}: {error}"}
    size = int(getattr(result, "nbytes", 0))
    extra = None if before is None or peak is None else max(0, peak - before - size)
    return {"output_bytes": size, "extra_bytes": extra}


def _memory(name: str) -> int | None:
    """A figure of this process in bytes: VmRSS is what it has now, VmHWM the most it had."""
    status = Path("/proc/self/status")
    if not status.is_file():
        return None  # only Linux says
    for line in status.read_text().splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1]) * 1024
    return None


if __name__ == "__main__":
    wanted = json.loads(sys.stdin.read())
    answer = _attempt(wanted["kind"], wanted["key"], Task.from_json(wanted["task"]))
    sys.stdout.write(f"{MARK}{json.dumps(answer)}\n")
    sys.stdout.flush()
    os._exit(0)  # libraries with threads of their own may crash while the interpreter ends: no matter here
