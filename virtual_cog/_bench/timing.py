"""Timing calls in turn, so that whatever else the machine does befalls all of them alike."""

from __future__ import annotations

import gc
import random
import statistics
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

SHORTEST: Final = 0.02
"""Seconds of one sample at least: a shorter call is repeated, and the sample is the mean."""

ROUNDS: Final = 7
SECONDS: Final = 120.0


@dataclass(slots=True)
class Timing:
    """The samples of one call, in seconds a call."""

    loops: int
    """Calls in one sample."""
    wall: list[float] = field(default_factory=list[float])
    cpu: list[float] = field(default_factory=list[float])
    """User and system time of all threads of the process: hardly touched by what other processes do."""
    error: str | None = None
    """Why it stopped: it raised."""

    @property
    def median(self) -> float:
        """The median of the wall times."""
        return statistics.median(self.wall)

    @property
    def quartiles(self) -> tuple[float, float]:
        """The first and the third quartile of the wall times."""
        if len(self.wall) == 1:
            return (self.wall[0], self.wall[0])
        first, _, third = statistics.quantiles(self.wall, n=4, method="inclusive")
        return (first, third)


def one_sample(call: Callable[[], Any], loops: int) -> tuple[float, float]:
    """Time ``loops`` calls; what they return is dropped after the clock has stopped, the last one's at least.

    Returns:
        Wall and CPU seconds of one call.
    """
    gc.collect(1)  # what the last call left; all objects would take longer than many a call
    gc.disable()
    result: Any = None
    try:
        cpu, wall = time.process_time(), time.perf_counter()
        for _ in range(loops):
            result = call()
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    finally:
        gc.enable()
    del result
    return wall / loops, cpu / loops


def measure(
    calls: Mapping[str, Callable[[], Any]],
    *,
    known: Mapping[str, float] | None = None,
    rounds: int = ROUNDS,
    seconds: float = SECONDS,
    advance: Callable[[float], None] = lambda _: None,
    seed: int = 0,
) -> dict[str, Timing]:
    """Time calls in rounds: each once in every round, in another order every time.

    Args:
        calls: by name; each has been called before and works.
        known: how many seconds that took, by name: long calls are not tried once more to find out.
        rounds: how many; all are done unless the time runs out.
        seconds: after so long no further round is started. One is always done.
        advance: told the part of the work that is done, after every sample; the parts add up to 1.
        seed: of the orders.

    Returns:
        The samples by name. A call that raises keeps those from before, with the error.
    """
    guesses = known or {}
    timings = {name: Timing(_loops(call, guesses.get(name, 0.0))) for name, call in calls.items()}
    order = random.Random(seed)  # noqa: S311 - not a secret
    until = time.perf_counter() + seconds
    done = 0
    while done < rounds and (not done or time.perf_counter() < until):
        for name in order.sample(list(calls), len(calls)):
            timing = timings[name]
            if timing.error is None:
                try:
                    wall, cpu = one_sample(calls[name], timing.loops)
                except Exception as error:  # noqa: BLE001 - whatever another library raises
                    timing.error = f"{type(error).__name__}: {error}"
                else:
                    timing.wall.append(wall)
                    timing.cpu.append(cpu)
            advance(1 / (rounds * len(calls)))
        done += 1
    return timings


def _loops(call: Callable[[], Any], known: float) -> int:
    """Find how many calls fill a sample; short calls are warmed up by it."""
    if known > 4 * SHORTEST:
        return 1
    try:
        wall = min(one_sample(call, 1)[0] for _ in range(3))
    except Exception:  # noqa: BLE001 - it raises again when it is timed
        return 1
    return max(1, min(1000, round(SHORTEST / max(wall, 1e-6))))
