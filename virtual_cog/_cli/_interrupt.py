"""Ctrl-C while a store is waited for: its calls do not return to Python, which alone would see it."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path

GRACE: Final = 1.0
"""Seconds in which the program may end by itself."""

INTERRUPTED: Final = 130

unfinished: set[Path] = set()
"""Files to be removed when the program is ended in the middle."""


@contextlib.contextmanager
def prompt_interrupts() -> Generator[None]:
    """End the process a second after SIGINT, if it has not ended by then."""
    if os.name != "posix" or threading.current_thread() is not threading.main_thread():
        yield
        return
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    done = threading.Event()

    def watch() -> None:
        while received := os.read(reading, 1):
            if received[0] == signal.SIGINT and not done.wait(GRACE):
                for path in tuple(unfinished):
                    path.unlink(missing_ok=True)
                os._exit(INTERRUPTED)
        os.close(reading)

    before = signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    threading.Thread(target=watch, name="interrupts", daemon=True).start()
    try:
        yield
    finally:
        done.set()
        signal.set_wakeup_fd(before)
        os.close(writing)
