"""What a report says of how its program was recorded: what that cost, and how the steps
go with the rounds of the program's loop.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property

import msgspec

from tfadvisor.act.record.choosing import RecordedRun
from tfadvisor.act.record.pace import Pace
from tfadvisor.act.record.rounds import ProgramLoop, timed_rounds
from tfadvisor.act.record.tracing_cost import cost_without_calls
from tfadvisor.advice.findings import CaptureNote

_NOTABLE = 0.1
"""From this share on it is said that the profiler's events make a step longer."""
_ALIKE = 0.2
"""By which share a step may differ from a round that was watched."""
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

    @cached_property
    def slower(self) -> float:
        """By the profiler's own events, as a share of the step."""
        return cost_without_calls(self.recorded.chosen)

    @property
    def step(self) -> str:
        """As it was asked for, "" where it was not."""
        wanted = self.recorded.wanted
        return wanted.step if wanted is not None else ""

    @property
    def is_named_step(self) -> bool:
        """Whether the steps are what was asked for, if anything was."""
        return not self.step or (
            self.pace is not None and self.pace.about.startswith(self.step)
        )

    @property
    def loop(self) -> ProgramLoop | None:
        """The program's, before recording or else after."""
        return next(filter(None, self.recorded.rounds), None)

    @property
    def round_ms(self) -> list[float]:
        """As long as a round of it took, unrecorded."""
        return [rounds.median_ms for rounds in timed_rounds(self.recorded.rounds)]

    @property
    def of_a_round(self) -> float | None:
        """How many times as long as a round the step is; None for not known, and for a
        step as long as one was.
        """
        rounds, pace = self.round_ms, self.pace
        if not rounds or pace is None or not pace.median_ms:
            return None
        if (1 - _ALIKE) * min(rounds) <= pace.median_ms <= (1 + _ALIKE) * max(rounds):
            return None
        return pace.median_ms / rounds[0]


def _cost(facts: _Facts) -> str:
    recorded = facts.recorded
    window, cost = recorded.chosen, recorded.cost
    head = f"Recorded by tfadvisor: {window.steps:,} steps in {window.seconds:.1f} s"
    if not window.python_tracer:
        would = f", which would make a step {cost:.0%} longer" if cost else ""
        return f"{head}, without calls of Python functions{would}."
    if cost is None:
        return f"{head}. Its cost was not measured."

    share = f"{max(cost, 0.01):.0%}"
    about = "less than" if cost < 0.01 else "about"
    return f"{head}. Tracing calls of Python functions adds {about} {share} to a step."


def _no_such_step(facts: _Facts) -> str:
    found = facts.pace.about if facts.pace is not None else "none"
    return (
        f"--step-is {facts.step} is no function, marker or line that the "
        f"trace holds twice. The step is what was found: {found}."
    )


def _has_fewer(facts: _Facts) -> bool:
    wanted = facts.recorded.wanted
    return wanted is not None and facts.recorded.chosen.steps < wanted.steps


def _fewer(facts: _Facts) -> str:
    window, wanted = facts.recorded.chosen, facts.recorded.wanted
    assert wanted is not None
    why = "the program made no more of them"
    if window.cut:
        why = "its memory grew while it was recorded"
    elif window.shortened:
        why = "a longer window would have held more than a profiler writes in seconds"
    return f"Of the {wanted.steps:,} steps asked for, {window.steps:,} are here: {why}."


def _adapts(facts: _Facts) -> bool:
    return facts.loop is not None and facts.loop.prepares


def _too_late(facts: _Facts) -> str:
    assert facts.loop is not None
    return (
        f"This is the loop at {facts.loop.place} in which a layer adapts to the "
        "data: training came too late."
    )


def _in_one_call(facts: _Facts) -> str:
    return (
        f"The program is in one call, {facts.recorded.inside}, all the time: the step "
        "is what repeats inside of it."
    )


def _costs_much(facts: _Facts) -> bool:
    """And no rounds tell what recording really costs."""
    return not facts.round_ms and facts.slower > _NOTABLE


def _events_cost(facts: _Facts) -> str:
    return (
        f"The profiler's own events make a step about {facts.slower:.0%} longer, by "
        f"their number. {_OF_RECORDED}"
    )


def _is_slowed(facts: _Facts) -> bool:
    times = facts.of_a_round
    return times is not None and 1 / _OTHER_STEP < times < _OTHER_STEP


def _is_other_step(facts: _Facts) -> bool:
    return facts.of_a_round is not None and not _is_slowed(facts)


def _round_times(facts: _Facts) -> str:
    pace, loop = facts.pace, facts.loop
    assert pace is not None
    assert loop is not None
    times = " and ".join(f"{duration:.3g} ms" for duration in facts.round_ms)
    return (
        f"A round of the loop at {loop.place} takes {times} unrecorded, a step "
        f"{pace.median_ms:.3g} ms in the recording. {_OF_RECORDED}"
    )


def _step_and_round(facts: _Facts) -> str:
    pace, loop = facts.pace, facts.loop
    assert pace is not None
    assert loop is not None
    return (
        f"What is taken for the step ({pace.about or 'markers'}) takes "
        f"{pace.median_ms:.3g} ms, a round of the loop at {loop.place} "
        f"{facts.round_ms[0]:.3g} ms."
    )


_Applies = Callable[[_Facts], bool]
_Text = Callable[[_Facts], str]
_NOTES: Sequence[tuple[_Applies, _Text, str]] = (
    (lambda _facts: True, _cost, ""),
    (lambda facts: not facts.is_named_step, _no_such_step, ""),
    (_has_fewer, _fewer, ""),
    (_adapts, _too_late, "Record once training runs: --after SECONDS."),
    (lambda facts: bool(facts.recorded.inside), _in_one_call, ""),
    (_costs_much, _events_cost, ""),
    (_is_slowed, _round_times, ""),
    (
        _is_other_step,
        _step_and_round,
        "Say which is the step: --step-is NAME.",
    ),
)
"""(when it is said, what, what helps), in the order in which they are said."""
