"""When base and head have been recorded often enough: on verdicts and times that are
made up.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence

import pytest
from msgspec.structs import replace
from support.made_runs import QUIET, snapshot
from support.trace_builder import trace

from tfadvisor.act.against.turns import LOOKS, Turn, decided, in_turns
from tfadvisor.comparison.baseline.snapshot import Baseline
from tfadvisor.comparison.gate.config import Relative
from tfadvisor.comparison.gate.judge import judge
from tfadvisor.comparison.gate.result import Check, GateResult, Outcome
from tfadvisor.errors import TraceError

REPORT = trace().step(0, 100).report()


class Clock:
    """Time passes only when something is recorded."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def result(*checks: Check, outcome: Outcome = Outcome.PASS) -> GateResult:
    one = snapshot(100.0)
    found = judge(QUIET, [REPORT], [one], Baseline((), (), (), ()), today=None)  # type: ignore[arg-type]
    return replace(found, checks=checks, outcome=outcome)


def check(outcome: Outcome, value: float | None = 1.0) -> Check:
    return Check("relative", "step_time_ms", "error", outcome, "", value=value)


class Played:
    """Turns of ten seconds; what is judged, and what was asked of it."""

    def __init__(self, verdict: Callable[[int], GateResult]) -> None:
        self.clock = Clock()
        self.recorded: list[int] = []
        self.judged: list[tuple[int, float]] = []
        self.told: list[str] = []
        self.failing: set[int] = set()
        self._verdict = verdict

    def record(self, number: int, seconds: float) -> Turn:
        self.clock.now += 10
        self.recorded.append(number)
        if number in self.failing:
            raise TraceError("train.py", "ended.", "Look.")
        return Turn(REPORT, REPORT)

    def judge(self, turns: list[Turn], share: float) -> GateResult:
        self.judged.append((len(turns), share))
        return self._verdict(len(turns))

    def play(self, seconds: float) -> GateResult:
        return in_turns(
            self.record, self.judge, seconds, tell=self.told.append, clock=self.clock
        )


def undecided(_number: int) -> GateResult:
    return result(check(Outcome.CANNOT_TELL))


def test_it_ends_with_the_first_look_that_is_sure() -> None:
    played = Played(lambda _: result(check(Outcome.PASS)))

    played.play(600)

    assert played.judged == [(11, 0.25)]


def test_it_ends_with_the_budget() -> None:
    """Turns of 10 s: the eighth ends at 80 s, and a ninth would not end within 85."""
    played = Played(undecided)

    played.play(85)

    assert len(played.recorded) == 8
    assert played.judged == [(8, 0.5)]


def test_looks_share_the_rate_of_false_alarms() -> None:
    """Looks after 11, 16, 24, 36 and 54 turns, and one after the 60 that ten minutes
    hold: less than one in all.
    """
    played = Played(undecided)

    played.play(600)

    assert played.judged == [
        (11, 1 / 4),
        (16, 1 / 8),
        (24, 1 / 16),
        (36, 1 / 32),
        (54, 1 / 64),
        (60, 1 / 2),
    ]
    assert sum(0.5 ** (number + 2) for number in range(len(LOOKS))) + 0.5 < 1


def test_one_turn_is_recorded_whatever_the_budget() -> None:
    played = Played(undecided)

    played.play(0.001)

    assert played.recorded == [0]


def test_a_first_turn_that_fails_ends_it() -> None:
    played = Played(undecided)
    played.failing = {0}

    with pytest.raises(TraceError):
        played.play(600)

    assert played.recorded == [0]


def test_later_turns_that_fail_are_left_out_and_told() -> None:
    played = Played(undecided)
    played.failing = {2, 4}

    played.play(60)

    assert played.judged == [(4, 0.5)]
    assert [line.split(":")[0] for line in played.told[1:]] == [
        "turn 3 is left out",
        "turn 5 is left out",
    ]


def test_a_program_that_goes_on_failing_ends_it() -> None:
    played = Played(undecided)
    played.failing = {1, 2, 3, 4}

    with pytest.raises(TraceError):
        played.play(600)

    assert played.recorded == [0, 1, 2, 3, 4]


@pytest.mark.parametrize(
    ("found", "sure"),
    [
        (result(check(Outcome.PASS)), True),
        (result(check(Outcome.FAIL), outcome=Outcome.FAIL), True),
        (result(check(Outcome.CANNOT_TELL)), False),
        (
            result(check(Outcome.CANNOT_TELL, value=None)),
            True,
        ),  # no number of turns gives a metric that is not there
    ],
)
def test_what_is_sure(found: GateResult, sure: bool) -> None:
    assert decided(found) is sure


def test_pairs_see_what_moves_with_the_machine() -> None:
    """The machine's speed doubles and halves; each head is 6 to 8% slower than the base
    beside it. Unpaired nobody can tell.
    """
    speeds = (1.0, 2.0, 0.5, 1.5, 0.7, 1.2, 1.9, 0.6, 1.1, 0.9, 1.7, 1.3)
    base = [snapshot(100.0 * speed) for speed in speeds]
    head = [
        snapshot(100.0 * speed * (1.06 + 0.02 * (at % 2)))
        for at, speed in enumerate(speeds)
    ]
    config = replace(
        QUIET, relative=(Relative("step_time_ms", 0.05, None, None, "error", 0),)
    )

    def outcome(*, in_turns: bool) -> Outcome:
        baseline = Baseline(tuple(base), (), (), (), in_turns=in_turns)
        (found,) = judge(config, [REPORT], head, baseline, today=None).checks  # type: ignore[arg-type]
        return found.outcome

    assert outcome(in_turns=True) is Outcome.FAIL
    assert outcome(in_turns=False) is Outcome.CANNOT_TELL


def paired(
    base: Sequence[float], head: Sequence[float], worse: str | None = None
) -> Check:
    """The step's check of these turns: 5% are allowed."""
    config = replace(
        QUIET, relative=(Relative("step_time_ms", 0.05, None, worse, "error", 0),)
    )
    baseline = Baseline(tuple(snapshot(one) for one in base), (), (), (), in_turns=True)
    found = judge(
        config, [REPORT], [snapshot(one) for one in head], baseline, today=None
    )  # type: ignore[arg-type]
    return found.checks[0]


@pytest.mark.parametrize("turns", [1, 2, 3, 6])
def test_few_turns_never_fail_by_time(turns: int) -> None:
    """Six heads that are all slower have a probability of 1/64, and 1% is allowed."""
    found = paired([100.0] * turns, [200.0] * turns)

    assert found.outcome is Outcome.CANNOT_TELL
    assert (
        "cannot show yet how much runs differ. Use a longer --budget" in found.message
    )


def test_seven_turns_can() -> None:
    assert (
        paired([100.0] * 7, [200.0, 201.0, 199.0, 205.0, 203.0, 190.0, 210.0]).outcome
        is Outcome.FAIL
    )


def test_a_change_within_the_limit_is_surely_within_it() -> None:
    """Each head is 1 to 2% slower."""
    found = paired([100.0] * 10, [101.0 + number / 10 for number in range(10)])

    assert found.outcome is Outcome.PASS
    assert "rose by 1.5%" in found.message or "rose by 1.4%" in found.message


def test_turns_in_which_either_way_is_worse() -> None:
    base = [100.0 + number for number in range(10)]

    assert (
        paired(base, [one * 0.7 for one in base], worse="both").outcome is Outcome.FAIL
    )
    assert (
        paired(base, [one * 1.4 for one in base], worse="both").outcome is Outcome.FAIL
    )
    assert paired(base, [one * 0.7 for one in base]).outcome is Outcome.PASS


def test_turns_of_an_unchanged_program_rarely_fail() -> None:
    """A machine whose runs scatter by half: of 400 trials of 12 turns 1% may fail, and
    9 or more would in 2% of studies.
    """
    draw = random.Random(7)
    red = 0
    for _ in range(400):
        base, head = (
            [100 * math.exp(draw.gauss(0, 0.5)) for _ in range(12)] for _ in range(2)
        )
        red += paired(base, head).outcome is Outcome.FAIL

    assert red <= 8


@pytest.mark.parametrize("in_turns", [True, False])
def test_a_faster_head_is_told_and_only_a_store_can_take_it(in_turns: bool) -> None:
    config = replace(
        QUIET, relative=(Relative("step_time_ms", 0.05, None, None, "error", 0),)
    )
    runs = [snapshot(100.0 + number / 10) for number in range(12)]
    baseline = Baseline(tuple(runs), (), (), (), in_turns=in_turns)
    head = [snapshot(50.0 + number / 10) for number in range(12)]

    found = judge(config, [REPORT], head, baseline, today=None)  # type: ignore[arg-type]

    (told,) = (one for one in found.notices if "better than noise" in one)
    assert told.endswith("better than noise explains.") is in_turns
    assert ("baseline accept" in told) is not in_turns


def test_a_budget_below_eleven_turns_is_told_which_would_do() -> None:
    """Turns of ten seconds: eleven take 1.8 minutes; a fifth more is in three."""
    played = Played(lambda turns: result(check(Outcome.CANNOT_TELL)))

    played.play(60)

    assert played.told == [
        "a turn takes 10 s; the verdict can be sure after 11 turns, about 1.8 minutes: "
        "the budget is too small for that, --budget 3m would do"
    ]
