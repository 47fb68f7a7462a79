"""Which window the report is about: with calls of Python where they cost little, or
without them.
"""

from __future__ import annotations

from typing import Protocol, TypeGuard

import msgspec

from tfadvisor.act.record.rounds import ProgramLoop
from tfadvisor.act.record.tracing_cost import cost_of_calls, cost_without_calls
from tfadvisor.act.record.window import NoWindow, RecordedWindow

COST_LIMIT = 0.05
"""Share of a step that recording may cost by the estimate, with calls of Python; beyond
it these are left out. On a machine that others slowed, steps were measured to lose up
to twice as much: 10%."""
MEASURED_LIMIT = 0.1
"""The same, by the length of the steps with them and without."""
_FIRST_LOOK_SECONDS = 0.2
"""Short: nobody knows yet how much a profiler writes down of this program."""
_SHORTEST_WINDOW_SECONDS = 1.0
"""In which what takes 5% of the time meets eight samples, the fewest that name a line.
"""
_FEWEST_STEPS = 2
"""Of a window that is no look."""
_PART = 0.5
"""What takes less of a step is a part of it."""


class RecordRequest(msgspec.Struct, frozen=True):
    """What to record."""

    after_seconds: float | None
    """Since the program began; None: when it has settled."""
    steps: int
    """How many at least, where the program goes on for as long."""
    step: str = ""
    """What is the step: a function or marker by its name, or FILE:LINE in a function;
    "" for what repeats.
    """
    python_tracer: bool = True
    """Whether calls of Python functions are recorded where that costs little."""
    shortest_seconds: float = _SHORTEST_WINDOW_SECONDS
    """Of a window that is recorded, where a profiler bears it."""
    first_look_seconds: float = _FIRST_LOOK_SECONDS
    """Where the step's length is known, a look can be so long that it holds the wanted
    steps.
    """

    def names(self, window: RecordedWindow) -> bool:
        """Whether a window's steps are what was asked for by name."""
        if not self.step or window.pace is None:
            return False
        return window.pace.about.startswith(self.step)


class RecordedRun(msgspec.Struct, frozen=True):
    """The window that the report is about, and what it was compared with. Each None
    where there was none.
    """

    chosen: RecordedWindow
    before: RecordedWindow | None
    """A look that came before it, without calls of Python."""
    cost: float | None = None
    """What tracing calls of Python adds to a step, as a share of it: the larger one of
    what their number and what the length of the steps say. None where it was not tried.
    """
    rounds: tuple[ProgramLoop | None, ProgramLoop | None] = (None, None)
    """The program's loop before recording and after."""
    wanted: RecordRequest | None = None
    """What was to be recorded."""
    inside: str = ""
    """The line of the one call in which the program was all the time, "" for a loop."""


class OpensWindows(Protocol):
    """Opens one window."""

    def __call__(
        self, seconds: float, *, python_tracer: bool
    ) -> RecordedWindow | NoWindow:
        """As record_window."""


def record_steps(
    record: OpensWindows,
    look: RecordedWindow,
    wanted: RecordRequest,
    loop: ProgramLoop | None = None,
) -> RecordedRun:
    """One window: with calls of Python where these cost little, else without them. The
    look itself where it holds the wanted steps, or more than the program still made.

    loop: the program's, before the look.
    """
    full: RecordedWindow | NoWindow | None = None
    if wanted.python_tracer:
        full = record(_longer(look, wanted, loop), python_tracer=True)
    if full is None or not _has_steps(full):
        return RecordedRun(_plain_window(record, look, wanted, loop), look)
    if not full.python_tracer:  # the framework has none, or the program has its own
        return RecordedRun(_better(full, look, wanted), look)
    if _is_part(full, look) and not wanted.names(full):
        return RecordedRun(_plain_window(record, look, wanted, loop), look)
    return _cheaper(record, full, look, wanted, loop)


def _cheaper(
    record: OpensWindows,
    full: RecordedWindow,
    look: RecordedWindow,
    wanted: RecordRequest,
    loop: ProgramLoop | None,
) -> RecordedRun:
    """full: with calls of Python."""
    counted = cost_of_calls(full)
    within = counted + cost_without_calls(look) <= COST_LIMIT
    if within and _slower(full, look) <= MEASURED_LIMIT:
        return RecordedRun(full, look, max(counted, _slower(full, look)))

    plain = _plain_window(record, look, wanted, loop)
    cost = max(counted, min(_slower(full, look), _slower(full, plain)))
    names_step = wanted.names(full) and not wanted.names(plain)
    if names_step or (within and cost <= MEASURED_LIMIT):
        return RecordedRun(full, plain, cost)
    return RecordedRun(plain, look, cost)


def _slower(full: RecordedWindow, plain: RecordedWindow) -> float:
    """By how much a step takes longer with calls of Python, as a share of it; 0 where
    it does not.
    """
    if full.pace is None or plain.pace is None:
        return 0.0
    return max(full.pace.median_ms / plain.pace.median_ms - 1, 0.0)


def _plain_window(
    record: OpensWindows,
    look: RecordedWindow,
    wanted: RecordRequest,
    loop: ProgramLoop | None,
) -> RecordedWindow:
    is_enough = look.steps >= wanted.steps and look.seconds >= wanted.shortest_seconds
    if is_enough or look.shortened:
        return look
    longer = record(_longer(look, wanted, loop), python_tracer=False)
    return _better(longer, look, wanted)


def _better(
    longer: RecordedWindow | NoWindow,
    look: RecordedWindow,
    wanted: RecordRequest,
) -> RecordedWindow:
    if not _has_steps(longer):
        return look
    enough = min(wanted.steps, look.steps)
    return longer if longer.steps >= enough else look


def _has_steps(found: RecordedWindow | NoWindow) -> TypeGuard[RecordedWindow]:
    """Whether it is a window that holds steps that are settled."""
    return isinstance(found, RecordedWindow) and found.steps >= _FEWEST_STEPS


def _is_part(window: RecordedWindow, look: RecordedWindow) -> bool:
    """Whether what repeats in it is a part of the look's step: it was too short for
    whole ones, since calls write down much.
    """
    if look.pace is None or window.pace is None:
        return False
    return window.pace.median_ms < _PART * look.pace.median_ms


def _longer(
    look: RecordedWindow,
    wanted: RecordRequest,
    loop: ProgramLoop | None = None,
) -> float:
    """How many seconds the next window is open."""
    period_ms = look.pace.median_ms if look.pace is not None else 0.0
    if wanted.step and loop is not None:
        # The look has no calls of Python, so the step may be another in it.
        period_ms = max(period_ms, loop.median_ms)
    return window_seconds(period_ms, wanted)


def window_seconds(step_ms: float, wanted: RecordRequest) -> float:
    """How long a window must be open to hold the wanted steps whole."""
    return max(wanted.shortest_seconds, (wanted.steps + 1.5) * step_ms / 1000)
