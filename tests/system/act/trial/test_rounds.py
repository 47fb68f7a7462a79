"""Arms in turns: who is run, when it is enough, who wins."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping

from tfadvisor.act.trial.deciding import BASE, Enough, Rounds
from tfadvisor.act.trial.trial_result import BETTER, BROKEN, NOT_BETTER, OPEN


class Machine:
    """Gives each arm's step times one after another, and again from the first."""

    def __init__(self, **times: list[float | None]) -> None:
        self.times = {BASE: [10.0], **times}
        self.asked: Counter[str] = Counter()

    def measure(self, arm: str) -> float | None:
        number = self.asked[arm]
        self.asked[arm] += 1
        return self.times[arm][number % len(self.times[arm])]


def outcomes(
    machine: Machine, *, measure: Callable[[str], float | None] | None = None
) -> Mapping[str, str]:
    arms = [one for one in machine.times if one != BASE]
    standings = Rounds(arms, measure or machine.measure).decide()
    return {name: one.outcome for name, one in standings.arms.items()}


def test_twice_as_fast_is_seen_after_three_rounds() -> None:
    machine = Machine(fast=[5.0])

    assert outcomes(machine) == {"fast": BETTER}
    assert machine.asked == {BASE: 3, "fast": 3}


def test_a_form_that_is_alike_is_not_tried_to_the_end() -> None:
    """After five rounds the interval of ±1% leaves no gain of 2%."""
    machine = Machine(alike=[10.0])

    assert outcomes(machine) == {"alike": NOT_BETTER}
    assert machine.asked["alike"] == 5


def test_slower_is_dropped_at_the_first_look() -> None:
    machine = Machine(slow=[15.0], fast=[5.0])

    assert outcomes(machine) == {"slow": NOT_BETTER, "fast": BETTER}
    assert machine.asked["slow"] == 3


def test_a_gain_within_the_scatter_stays_open_after_twelve_rounds() -> None:
    machine = Machine(perhaps=[13.0, 6.0, 9.0])
    machine.times[BASE] = [7.0, 14.0]

    assert outcomes(machine) == {"perhaps": OPEN}
    assert machine.asked["perhaps"] == 12


def test_an_arm_that_breaks_is_run_no_more() -> None:
    machine = Machine(broken=[None], fast=[5.0])

    assert outcomes(machine) == {"broken": BROKEN, "fast": BETTER}
    assert machine.asked["broken"] == 1


def test_the_base_runs_more_often_where_more_is_compared_with_it() -> None:
    """Four arms: twice a round."""
    machine = Machine(a=[5.0], b=[5.0], c=[5.0], d=[5.0])

    outcomes(machine)

    assert machine.asked == {BASE: 6, "a": 3, "b": 3, "c": 3, "d": 3}


def test_what_is_measured_when_the_time_is_over_counts() -> None:
    machine = Machine(fast=[5.0], slow=[20.0])

    def measure(arm: str) -> float | None:
        if machine.asked[arm] == 4:
            raise Enough
        return machine.measure(arm)

    assert outcomes(machine, measure=measure) == {"fast": BETTER, "slow": NOT_BETTER}


def test_without_time_for_all_arms_those_that_gained_most_are_decided() -> None:
    """Twelve runs are left after the first round; six arms, and the program twice a
    round, would take sixteen. Two arms and the program, three times each, are nine;
    with a third arm they would be fifteen."""
    machine = Machine(a=[9.0], b=[5.0], c=[11.0], d=[6.0], e=[10.0], f=[9.5])
    left = 8 + 12

    def measure(arm: str) -> float | None:
        nonlocal left
        if not left:
            raise Enough
        left -= 1
        return machine.measure(arm)

    standings = Rounds(
        list("abcdef"), measure, afford=lambda arms: len(arms) <= left
    ).decide()

    assert {
        name: one.outcome for name, one in standings.arms.items() if one.outcome != OPEN
    } == {
        "b": BETTER,
        "d": BETTER,
    }
    assert standings.arms["b"].runs == (
        5.0,
        5.0,
        5.0,
    )  # the run that chose it counts no more
    assert machine.asked["b"] == 4
    assert len(standings.base) == machine.asked[BASE]


def test_two_runs_of_each_decide_nothing() -> None:
    machine = Machine(fast=[5.0])

    def measure(arm: str) -> float | None:
        if machine.asked[arm] == 2:
            raise Enough
        return machine.measure(arm)

    rounds = Rounds(["fast"], measure)

    assert rounds.decide().arms["fast"].outcome == OPEN
    assert rounds.stopped
