"""A comparison of readers on one file: who can, whether they agree, how long they take."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal

from virtual_cog._bench.agreement import disagreement, widen
from virtual_cog._bench.readers import DeclinedError, Kind, select
from virtual_cog._bench.timing import ROUNDS, SECONDS, Timing, measure
from virtual_cog._bench.trial import Trial, try_alone

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from virtual_cog._bench.readers import Call, Reader
    from virtual_cog._bench.task import Task

type Status = Literal["timed", "missing", "declined", "failed", "differs"]

CHECK_PART: Final = 0.2
"""How much of the work the first call of each reader is taken to be, for the progress bar."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """How to compare."""

    kinds: Sequence[Kind] = ("headers", "pixels")
    rounds: int = ROUNDS
    seconds: float = SECONDS
    """For each kind."""
    memory: bool = False
    """Read once more in a process of its own, to see how much memory that takes."""


@dataclass(slots=True)
class Outcome:
    """What came of one reader."""

    reader: Reader
    status: Status = "timed"
    reason: str | None = None
    """Why it was not timed."""
    timing: Timing | None = None
    trial: Trial | None = None
    ratio: float | None = None
    """Its median over that of the baseline with the same threads."""


@dataclass(slots=True)
class Comparison:
    """What came of all readers of one kind."""

    kind: Kind
    outcomes: list[Outcome] = field(default_factory=list[Outcome])
    output_bytes: int = 0
    """Of the pixels that all of them return."""
    agreed: int = 0
    """How many readers returned the same."""

    @property
    def ours_failed(self) -> bool:
        """Whether a reader of this library was to be timed, and could not."""
        return any(outcome.reader.ours and outcome.status not in {"timed", "declined"} for outcome in self.outcomes)


def compare(
    task: Task,
    kind: Kind,
    options: Options,
    advance: Callable[[float], None] = lambda _: None,
    readers: Sequence[Reader] | None = None,
) -> Comparison:
    """Compare all readers of a kind.

    Args:
        task: what each of them reads.
        kind: which readers.
        options: how.
        advance: told the part of the work that is done; the parts add up to 1.
        readers: instead of all that there are.
    """
    chosen = select([kind], task.threads) if readers is None else list(readers)
    comparison = Comparison(kind, [Outcome(reader) for reader in chosen])
    ready: dict[str, tuple[Outcome, Call, float]] = {}
    reference: Any = None
    for outcome in comparison.outcomes:
        started = _first_call(outcome, task, options)
        if started is not None:
            call, found, seconds = started
            if reference is None:
                comparison.output_bytes = int(getattr(found, "nbytes", 0))
            reference = widen(reference, found)
            difference = disagreement(reference, found)
            if difference is not None:
                outcome.status, outcome.reason = "differs", difference
            else:
                ready[outcome.reader.key] = (outcome, call, seconds)
            del found, started
        advance(CHECK_PART / len(chosen))
    del reference
    comparison.agreed = len(ready)
    timings = measure(
        {key: call for key, (_, call, _) in ready.items()},
        known={key: seconds for key, (_, _, seconds) in ready.items()},
        rounds=options.rounds,
        seconds=options.seconds,
        advance=lambda part: advance(part * (1 - CHECK_PART)),
    )
    for key, timing in timings.items():
        outcome = ready[key][0]
        if timing.error is not None:
            outcome.status, outcome.reason = "failed", timing.error
        else:
            outcome.timing = timing
    _set_ratios(comparison.outcomes, task.threads)
    return comparison


def _first_call(outcome: Outcome, task: Task, options: Options) -> tuple[Call, Any, float] | None:
    """Let a reader do the task once; returns the call, what is to be compared, and the seconds it took."""
    reader = outcome.reader
    missing = reader.available()
    if missing is not None:
        outcome.status, outcome.reason = "missing", missing
        return None
    if reader.risky or (options.memory and reader.kind == "pixels"):
        outcome.trial = try_alone(reader, task)
        if outcome.trial.reason is not None:
            outcome.status = "declined" if outcome.trial.declined else "failed"
            outcome.reason = outcome.trial.reason
            return None
    try:
        call = reader.start(task)
        started = time.perf_counter()
        result = call()
        seconds = time.perf_counter() - started
        return call, reader.inspect(result), seconds
    except DeclinedError as error:
        outcome.status, outcome.reason = "declined", str(error)
    except Exception as error:  # noqa: BLE001 - whatever another library raises
        outcome.status, outcome.reason = "failed", f"{type(error).__name__}: {error}"
    return None


def _set_ratios(outcomes: list[Outcome], threads: int) -> None:
    """Compare each with the baseline that uses as many threads."""
    bases = {o.reader.count(threads): o.timing.median for o in outcomes if o.reader.baseline and o.timing is not None}
    for outcome in outcomes:
        base = bases.get(outcome.reader.count(threads))
        if outcome.timing is not None and base:
            outcome.ratio = outcome.timing.median / base
