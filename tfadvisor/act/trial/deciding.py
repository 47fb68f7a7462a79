"""Whether a candidate computes the same and is faster: values, rounds in turns, tests,
intervals.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import exp, inf, log, sqrt
from random import Random
from statistics import geometric_mean

import msgspec

from tfadvisor.act.trial.result import (
    BETTER,
    BROKEN,
    DIFFERS,
    NOT_BETTER,
    NOT_CHECKED,
    OPEN,
    SAME,
)
from tfadvisor.comparison.side import middle_of
from tfadvisor.comparison.statistics.distributions import t_quantile, t_tail
from tfadvisor.comparison.statistics.ranks import (
    levels,
    p_above,
    shift,
    smallest_p,
    surely_above,
)

Values = Mapping[str, float]
"""Of one run's first steps, as the clock tells them."""
_ROUNDING = 0.01
"""Sums in another order, and products of 16 bits, differ by less."""
_EXACT = 1e-6
_CHANCE = 0.001
"""That any of the values of a program that draws at random is taken for another."""


def compare_values(
    base: Sequence[Values], new: Sequence[Values], check: str
) -> tuple[str, str]:
    """(same, differs or not checked; the first value that differs). base: two runs at
    least, or nothing can be said.

    check: batches, where what the loop reads must be the very same; values, where all
    else must agree as far as runs of the program itself do; none, where the change is
    meant to change results. A value that is drawn anew in each run tells something only
    once so many runs are known that Student's distribution bounds the next one.
    """
    if check == "none" or len(base) < 2 or not new:
        return NOT_CHECKED, ""
    shared = set.intersection(*map(set, (*base, *new)))
    batches = (
        {one for one in shared if one.startswith("batch:")}
        if check == "batches"
        else set()
    )
    names = batches or {one for one in shared if one.startswith("value:")}
    compared = False
    for name in sorted(names):
        known, found = [one[name] for one in base], [one[name] for one in new]
        size = max(map(abs, known))
        allowed = (_EXACT if batches else _ROUNDING) * size + 1e-12
        if max(known) - min(known) > _EXACT * size:
            allowed += _reach(known, _CHANCE / len(names))
        if allowed > size / 2 + 1e-12:
            continue  # each run has another: it tells nothing
        compared = True
        middle = sum(known) / len(known)
        if any(abs(one - middle) > allowed for one in found):
            return DIFFERS, name.split(":", 1)[1].replace("@", " after step ")
    return (SAME if compared else NOT_CHECKED), ""


def _reach(known: Sequence[float], chance: float) -> float:
    """How far from the mean another run's value lies with this probability."""
    found = deviation_of([known])
    return (
        t_quantile(chance / 2, found.freedom) * found.sigma * sqrt(1 + 1 / len(known))
    )


# How much runs of one form differ.


class Deviation(msgspec.Struct, frozen=True):
    """Of runs around the mean of their own group."""

    sigma: float
    """The standard deviation, 0 where no group has two runs."""
    freedom: float
    """Its degrees of freedom."""


def deviation_of(groups: Sequence[Sequence[float]]) -> Deviation:
    """Groups may lie at different levels; they scatter alike."""
    squares = [
        (value - sum(group) / len(group)) ** 2
        for group in groups
        if len(group) > 1
        for value in group
    ]
    freedom = len(squares) - sum(len(group) > 1 for group in groups)
    return (
        Deviation(sqrt(sum(squares) / freedom), freedom)
        if squares
        else Deviation(0.0, 0.0)
    )


# How two forms of a program differ by their runs' step times: a ratio, its interval,
# and how surprising it is.

FLOOR = 0.01
"""Runs of one program are taken to differ by at least so much, as a standard deviation
of the logarithm.
"""
CONFIDENCE = 0.95
"""Of the interval."""
FEW = 0.001
"""Where the rank test cannot reach this, it has too few runs."""
_TAIL = (1 - CONFIDENCE) / 2
_FEWEST_RANKED = 5
_EIGHTY_PERCENT = 0.2

Pairs = Sequence[tuple[float, float]]
"""Step times of the old and of the new form in each round that has both."""


class Effect(msgspec.Struct, frozen=True):
    """New step time over old: below 1 is quicker."""

    ratio: float
    """A median: of all pairs (Hodges and Lehmann), or of the rounds'."""
    low: float
    high: float
    p: float
    """Probability of such a gain between two forms that are alike."""


def effect_of(
    base: Sequence[float], new: Sequence[float], rounds: Pairs = ()
) -> Effect:
    """From step times, at least two of each, all positive."""
    everything = _all_with_all([log(one) for one in base], [log(one) for one in new])
    if len(rounds) < 3:
        return everything
    by_round = _round_by_round([log(after / before) for before, after in rounds])
    narrower = min(everything, by_round, key=lambda one: one.high / one.low)
    return msgspec.structs.replace(
        narrower, p=min(1.0, 2 * min(everything.p, by_round.p))
    )


def _all_with_all(before: Sequence[float], after: Sequence[float]) -> Effect:
    """From logarithms. Where so few runs cannot reach any small p-value by their ranks,
    Student's test with a floor under the spread, and all runs must lie on one side: a
    spread that is small by chance makes no winner."""
    middle = shift(before, after)
    sigma, freedom = spread_of_runs((before, after))
    error = sigma * sqrt(1 / len(before) + 1 / len(after))
    if smallest_p(len(before), len(after)) > FEW:
        gain = sum(before) / len(before) - sum(after) / len(after)
        p = t_tail(gain / error, freedom) if max(after) < min(before) else 1.0
    else:
        p = p_above(after, before)
    low, high = surely_above(before, after, _TAIL), surely_above(after, before, _TAIL)
    if low is None or high is None or len(after) < _FEWEST_RANKED:
        reach = t_quantile(_TAIL, freedom) * error
        return Effect(exp(middle), exp(middle - reach), exp(middle + reach), p)
    return Effect(
        exp(middle),
        exp(min(low, middle - FLOOR / 2)),
        exp(max(-high, middle + FLOOR / 2)),
        p,
    )


def _round_by_round(changes: Sequence[float]) -> Effect:
    """From the logarithm of each round's ratio, by Student's test; each of few rounds
    must show a gain.
    """
    found = deviation_of([changes])
    error = max(found.sigma, FLOOR * sqrt(2)) / sqrt(len(changes))
    freedom = len(changes) - 1
    mean, middle = sum(changes) / len(changes), middle_of(changes)
    reach = t_quantile(_TAIL, freedom) * error
    p = (
        t_tail(-mean / error, freedom)
        if max(changes) < 0 or len(changes) > _FEWEST_RANKED
        else 1.0
    )
    return Effect(
        exp(middle), exp(min(middle, mean) - reach), exp(max(middle, mean) + reach), p
    )


def spread_of_runs(groups: Sequence[Sequence[float]]) -> tuple[float, float]:
    """(standard deviation, degrees of freedom) of logarithms around their groups'
    means; with the floor it counts as known.
    """
    found = deviation_of(groups)
    return (
        (found.sigma, found.freedom)
        if found.sigma > FLOOR
        else (FLOOR, inf if not found.freedom else found.freedom)
    )


def smallest_seen(
    effect: Effect, base: Sequence[float], new: Sequence[float], level: float
) -> float:
    """The gain that so many runs would have shown four times in five, by the width of
    their interval; a share of step time.
    """
    freedom = max(len(base) + len(new) - 2, 1)
    error = (log(effect.high) - log(effect.low)) / 2 / t_quantile(_TAIL, freedom)
    return 1 - exp(
        -(t_quantile(level / 2, freedom) + t_quantile(_EIGHTY_PERCENT, freedom)) * error
    )


# Arms in turns, round by round, until it is clear which are better: 3 rounds, then 5, 8
# and 12.

STAGES = (3, 5, 8, 12)
RATE = 0.01
"""Probability, over all looks and all arms, that one of arms that are alike is called
better.
"""
LEAST = 0.02
"""A gain that is worth a change, as a share of step time: an arm that surely gains less
is tried no longer.
"""

Measure = Callable[[str], "float | None"]
"""Runs an arm once and gives its step time in ms; None when it gave none, and then it
is broken. BASE is the program as it is.
"""
BASE = ""


class Standing(msgspec.Struct, frozen=True):
    """Where an arm stands."""

    outcome: str
    effect: Effect | None
    """None below two runs."""
    runs: tuple[float, ...]
    """Step times, ms."""
    smallest: float | None
    """The gain that would have been seen, as a share of step time; None below two runs.
    """


class Standings(msgspec.Struct, frozen=True):
    """After the last round."""

    base: tuple[float, ...]
    """Step times, ms."""
    arms: Mapping[str, Standing]


class Enough(Exception):
    """Raised by a measurement: there is no time left, or the user asked for the end.
    What is measured is kept.
    """


class Rounds:
    """One comparison of some arms with a base."""

    def __init__(
        self,
        arms: Sequence[str],
        measure: Measure,
        stages: Sequence[int] = STAGES,
        rate: float = RATE,
        seed: int = 0,
        afford: Callable[[Sequence[str]], bool] = lambda _: True,
    ) -> None:
        """arms: names. stages: numbers of rounds after which to look. afford: whether
        there is time to run all these.
        """
        self.measure, self.afford = measure, afford
        self.stages = tuple(stages)
        self.rate = rate
        self.random = Random(seed)
        self.stopped = False
        """Whether the time was over first."""
        self.base: list[float] = []
        self.runs: dict[str, list[float]] = {one: [] for one in arms}
        self.pairs: dict[str, list[tuple[float, float]]] = {one: [] for one in arms}
        """Of the rounds that have both: the program as it is, the middle of its runs,
        and the arm.
        """
        self.outcomes = dict.fromkeys(arms, OPEN)
        self.aside: set[str] = set()
        """Arms that wait until the others are decided."""

    def decide(self) -> Standings:
        """Until all arms are decided, the rounds are over or there is no time left."""
        try:
            self.round()
            done = 0 if self.narrow() else 1
            for stage in self.stages:
                while done < stage:
                    self.round()
                    done += 1
                self.look()
                if OPEN not in self.outcomes.values():
                    break
        except Enough:
            self.stopped = True
            self.look()
        return Standings(
            tuple(self.base), {arm: self._standing(arm) for arm in self.runs}
        )

    def narrow(self) -> bool:
        """After the first round, where there is no time for a look at all: to the arms
        that gained most, as many as there is time for. The run that chose them counts
        no more. Returns whether it did."""
        ranked = sorted(self._open(), key=lambda arm: self.runs[arm][0])
        most, again = len(ranked), self.stages[0] - 1
        while ranked and not self.afford(
            _with_base(ranked) * (again + (len(ranked) < most))
        ):
            self.aside.add(ranked.pop())
        if not (ranked and self.aside):
            self.aside.clear()
            return False
        for arm in ranked:
            self.runs[arm].clear()
            self.pairs[arm].clear()
        return True

    def _open(self) -> list[str]:
        return [
            one
            for one, outcome in self.outcomes.items()
            if outcome == OPEN and one not in self.aside
        ]

    def round(self) -> None:
        """Each open arm once, in an order that changes, with the base among them."""
        if not self._open():
            self.aside.clear()
        order = _with_base(self._open())
        self.random.shuffle(order)
        base: list[float] = []
        new: dict[str, float] = {}
        for arm in order:
            measured = self.measure(arm)
            if arm == BASE:
                if measured is not None:
                    base.append(measured)
                    self.base.append(measured)
            elif measured is None:
                self.outcomes[arm] = BROKEN
            else:
                new[arm] = measured
                self.runs[arm].append(measured)
        for arm, measured in new.items() if base else ():
            self.pairs[arm].append((geometric_mean(base), measured))

    def level(self) -> float:
        """Of one look."""
        return self.rate / len(self.stages)

    def look(self) -> None:
        """Decides what can be decided."""
        effects = {
            arm: effect_of(self.base, runs, self.pairs[arm])
            for arm, runs in self.runs.items()
            if self.outcomes[arm] != BROKEN
            and min(len(runs), len(self.base)) >= self.stages[0]
        }
        if not effects:
            return
        allowed = levels(
            {arm: one.p for arm, one in effects.items()},
            dict.fromkeys(effects, 1.0),
            self.level(),
        )
        for arm, one in effects.items():
            if self.outcomes[arm] == OPEN and one.p <= allowed[arm]:
                self.outcomes[arm] = BETTER
            elif self.outcomes[arm] == OPEN and one.low > 1 - LEAST:
                self.outcomes[arm] = NOT_BETTER

    def _standing(self, arm: str) -> Standing:
        runs = self.runs[arm]
        if min(len(runs), len(self.base)) < 2:
            return Standing(self.outcomes[arm], None, tuple(runs), None)
        effect = effect_of(self.base, runs, self.pairs[arm])
        smallest = smallest_seen(
            effect, self.base, runs, self.level() / max(len(self.runs), 1)
        )
        return Standing(self.outcomes[arm], effect, tuple(runs), smallest)


def _with_base(arms: Sequence[str]) -> list[str]:
    """Every arm is compared with the base, so its runs are worth more."""
    return [BASE] * max(1, round(sqrt(len(arms)))) + list(arms)
