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
BLIND_LIMIT = 1.0
"""Calls of Python that cost less leave findings to be believed in the second window;
others, only lines of the program.
"""
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
    """The window that the report is about, and those that it was compared with. Each
    None where there was none.
    """

    chosen: RecordedWindow
    before: RecordedWindow | None
    """Recorded without the Python tracer."""
    with_lines: RecordedWindow | None
    """Recorded with it."""
    cost: float | None
    """What the Python tracer adds to a step, as a share of it."""
    rounds: tuple[ProgramLoop | None, ProgramLoop | None, ProgramLoop | None] = (
        None,
        None,
        None,
    )
    """The program's loop before recording, while recorded and after."""
    step: str = ""
    """As wanted."""
    inside: str = ""
    """The line of the one call in which the program was all the time, "" for a loop."""

    @property
    def second(self) -> RecordedWindow | None:
        """The one with the Python tracer, where the report is about another."""
        return None if self.with_lines is self.chosen else self.with_lines

    @property
    def second_tells_findings(self) -> bool:
        """Whether Python is not slowed too much in it."""
        return self.cost is not None and self.cost < BLIND_LIMIT


class OpensWindows(Protocol):
    """Opens one window."""

    def __call__(
        self, seconds: float, *, python_tracer: bool
    ) -> RecordedWindow | NoWindow:
        """As record_window."""


def record_plainly(
    record: OpensWindows, look: RecordedWindow, wanted: RecordRequest
) -> RecordedRun:
    """Without the Python tracer; the look itself where it holds the wanted steps, or
    more than the program still made.
    """
    chosen = _plain_window(record, look, wanted)
    return RecordedRun(chosen, chosen, None, None)


def _plain_window(
    record: OpensWindows, look: RecordedWindow, wanted: RecordRequest
) -> RecordedWindow:
    # Rounds are counted in a look, which slows Python: it is the better one only where
    # the program ended soon after it.
    if look.steps >= wanted.steps and look.loop is None:
        return look

    longer = record(window_seconds(look, wanted), python_tracer=False)
    if not _has_steps(longer):
        return look
    enough = min(wanted.steps, look.steps)
    return longer if longer.steps >= enough else look


def record_fully(
    record: OpensWindows, look: RecordedWindow, wanted: RecordRequest
) -> RecordedRun:
    """With the Python tracer; without it where it costs too much, and then with a
    second, short window that has it.
    """
    full = record(window_seconds(look, wanted), python_tracer=True)
    if not _has_steps(full):
        return record_plainly(record, look, wanted)
    if _is_part(full, look) and not wanted.names(full):
        return record_plainly(record, look, wanted)

    cost = cost_of_calls(full)
    if cost + cost_without_calls(look) <= COST_LIMIT:
        return RecordedRun(full, look, full, cost)

    plain = _plain_window(record, look, wanted)
    if wanted.names(full) and not wanted.names(plain):
        return RecordedRun(full, look, full, cost)
    return RecordedRun(plain, plain, full, cost)


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


def window_seconds(look: RecordedWindow, wanted: RecordRequest) -> float:
    """How long a window must be open to hold the wanted steps whole."""
    period_ms = look.pace.median_ms if look.pace is not None else 0.0
    if wanted.step and look.loop is not None:
        # The look has no calls of Python, so the step may be another in it.
        period_ms = max(period_ms, look.loop.median_ms)
    return max(_SHORTEST_WINDOW_SECONDS, (wanted.steps + 1.5) * period_ms / 1000)
