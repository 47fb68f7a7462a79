"""What a report says of how its program was recorded: what that cost, and how the steps
go with the rounds of the program's loop.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property

import msgspec

from tfadvisor.act.record.choosing import RecordedRun
from tfadvisor.act.record.pace import Pace
from tfadvisor.act.record.rounds import ProgramLoop
from tfadvisor.act.record.tracing_cost import cost_without_calls
from tfadvisor.advice.findings import CaptureNote

_NOTABLE = 0.1
"""From this share on it is said that a round takes longer while it is recorded, or that
a step is another than a round.
"""
_OTHER_STEP = 3.0
"""A loaded machine alone makes a factor of two."""
_OF_RECORDED = (
    "Times and shares below are those of the recorded program, not of the unrecorded "
    "one."
)


def notes_of(recorded: RecordedRun) -> list[CaptureNote]:
    """Each that applies."""
    facts = _Facts(recorded)
    return [
        CaptureNote("recorded", text(facts), remedy, "")
        for applies, text, remedy in _NOTES
        if applies(facts)
    ]


class _Facts(msgspec.Struct, frozen=True, dict=True):
    """What notes are made of."""

    recorded: RecordedRun

    @property
    def pace(self) -> Pace | None:
        """Of the steps."""
        return self.recorded.chosen.pace

    @property
    def before(self) -> ProgramLoop | None:
        """Recording."""
        return self.recorded.rounds[0]

    @property
    def during(self) -> ProgramLoop | None:
        """Recording."""
        return self.recorded.rounds[1]

    @property
    def loop(self) -> ProgramLoop | None:
        """The one that is reported."""
        return self.during or self.before

    @cached_property
    def slower(self) -> float:
        """By the profiler's own events, as a share of the step."""
        return cost_without_calls(self.recorded.chosen)

    @property
    def is_named_step(self) -> bool:
        """Whether the steps are what was asked for, if anything was."""
        wanted, pace = self.recorded.step, self.pace
        return not wanted or (pace is not None and pace.about.startswith(wanted))

    @property
    def unrecorded_ms(self) -> list[float]:
        """A round of the loop, before and after."""
        before, during, after = self.recorded.rounds
        there = [one for one in (before, after) if one is not None]
        return [one.median_ms for one in there if one.is_of(during or one)]

    @property
    def is_slowed(self) -> bool:
        """Whether a round takes another time while it is recorded. What was counted in
        a first look tells less than the steps of the window.
        """
        unrecorded = self.unrecorded_ms
        if self.during is None or not unrecorded:
            return False

        least = min(unrecorded) * (1 - _NOTABLE)
        most = max(unrecorded) * (1 + _NOTABLE)
        if self.pace is not None and least <= self.pace.median_ms <= most:
            return False
        return not least <= self.during.median_ms <= most

    @property
    def is_other_step(self) -> bool:
        """Whether the step has another length than any round."""
        pace = self.pace
        if self.loop is None or pace is None or not pace.count:
            return False

        step_ms = max(pace.median_ms, 1e-9)
        rounds = [one for one in self.recorded.rounds if one is not None]
        ratios = [one.median_ms / step_ms for one in rounds]
        return not any(1 / _OTHER_STEP < one < _OTHER_STEP for one in ratios)


def _cost(facts: _Facts) -> str:
    recorded = facts.recorded
    window, cost = recorded.chosen, recorded.cost
    head = f"Recorded by tfadvisor: {window.steps:,} steps in {window.seconds:.1f} s"
    without = "" if window.python_tracer else ", without calls of Python functions"
    if cost is None:
        return f"{head}{without}. Its cost was not measured."

    share = f"{max(cost, 0.01):.0%}"
    if without:
        return f"{head}{without}: they make a step {share} longer, beside other events."

    about = "less than" if cost < 0.01 else "about"
    return f"{head}. Tracing calls of Python functions adds {about} {share} to a step."


def _no_such_step(facts: _Facts) -> str:
    found = facts.pace.about if facts.pace is not None else "none"
    return (
        f"--step {facts.recorded.step} is no function, marker or line that the trace "
        f"holds twice. The step is what was found: {found}."
    )


def _adapts(facts: _Facts) -> bool:
    return facts.before is not None and facts.before.prepares


def _too_late(facts: _Facts) -> str:
    assert facts.before is not None
    return (
        f"This is the loop at {facts.before.place} in which a layer adapts to the "
        "data: training came too late."
    )


def _in_one_call(facts: _Facts) -> str:
    return (
        f"The program is in one call, {facts.recorded.inside}, all the time: the step "
        "is what repeats inside of it."
    )


def _costs_much(facts: _Facts) -> bool:
    """And no rounds tell what recording really costs."""
    unknown = facts.before is None or facts.during is None
    return unknown and facts.slower > _NOTABLE


def _events_cost(facts: _Facts) -> str:
    return (
        f"The profiler's own events make a step about {facts.slower:.0%} longer, by "
        f"their number. {_OF_RECORDED}"
    )


def _round_times(facts: _Facts) -> str:
    during = facts.during
    assert during is not None
    names = ("before", "while recorded", "after")
    named = zip(
        names,
        facts.recorded.rounds,
        strict=True,
    )
    times = [
        f"{name} {one.median_ms:.3g} ms"
        for name, one in named
        if one is not None and one.is_of(during)
    ]
    return (
        f"A round of the loop at {during.place} takes {', '.join(times)}. "
        f"{_OF_RECORDED}"
    )


def _step_and_round(facts: _Facts) -> str:
    pace, loop = facts.pace, facts.loop
    assert pace is not None
    assert loop is not None
    return (
        f"What is taken for the step ({pace.about or 'markers'}) takes "
        f"{pace.median_ms:.3g} ms, a round of the loop at {loop.place} "
        f"{loop.median_ms:.3g} ms."
    )


_Applies = Callable[[_Facts], bool]
_Text = Callable[[_Facts], str]
_NOTES: Sequence[tuple[_Applies, _Text, str]] = (
    (lambda _facts: True, _cost, ""),
    (lambda facts: not facts.is_named_step, _no_such_step, ""),
    (_adapts, _too_late, "Record once training runs: --after SECONDS."),
    (lambda facts: bool(facts.recorded.inside), _in_one_call, ""),
    (_costs_much, _events_cost, ""),
    (lambda facts: facts.is_slowed, _round_times, ""),
    (
        lambda facts: facts.is_other_step,
        _step_and_round,
        "Say which is the step: --step NAME.",
    ),
)
"""(when it is said, what, what helps), in the order in which they are said."""
