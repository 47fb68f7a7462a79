"""Arms in turns, round by round, until it is clear which are better: 3 rounds, then 5, 8 and 12."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import sqrt
from random import Random
from statistics import geometric_mean

import msgspec

from tfadvisor.statistics.holm import levels
from tfadvisor.trial.deciding.effect import Effect, effect_of, smallest_seen
from tfadvisor.trial.result import BETTER, BROKEN, NOT_BETTER, OPEN

STAGES = (3, 5, 8, 12)
RATE = 0.01
"""Probability, over all looks and all arms, that one of arms that are alike is called better."""
LEAST = 0.02
"""A gain that is worth a change, as a share of step time: an arm that surely gains less is tried no longer."""

Measure = Callable[[str], "float | None"]
"""Runs an arm once and gives its step time in ms; None when it gave none, and then it is broken. BASE is the program as it is."""
BASE = ""


class Standing(msgspec.Struct, frozen=True):
    """Where an arm stands."""

    outcome: str
    effect: Effect | None
    """None below two runs."""
    runs: tuple[float, ...]
    """Step times, ms."""
    smallest: float | None
    """The gain that would have been seen, as a share of step time; None below two runs."""


class Standings(msgspec.Struct, frozen=True):
    """After the last round."""

    base: tuple[float, ...]
    """Step times, ms."""
    arms: Mapping[str, Standing]


class Enough(Exception):
    """Raised by a measurement: there is no time left, or the user asked for the end. What is measured is kept."""


class Rounds:
    """One comparison of some arms with a base."""

    def __init__(
        self, arms: Sequence[str], measure: Measure, stages: Sequence[int] = STAGES, rate: float = RATE, seed: int = 0
    ) -> None:
        """arms: names. stages: numbers of rounds after which to look."""
        self.measure = measure
        self.stages = tuple(stages)
        self.rate = rate
        self.random = Random(seed)
        self.stopped = False
        """Whether the time was over first."""
        self.base: list[float] = []
        self.runs: dict[str, list[float]] = {one: [] for one in arms}
        self.pairs: dict[str, list[tuple[float, float]]] = {one: [] for one in arms}
        """Of the rounds that have both: the program as it is, the middle of its runs, and the arm."""
        self.outcomes = dict.fromkeys(arms, OPEN)
        self.base_each = max(1, round(sqrt(len(arms))))
        """Every arm is compared with the base, so its runs are worth more."""

    def decide(self) -> Standings:
        """Until all arms are decided, the rounds are over or there is no time left."""
        try:
            done = 0
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
        return self.standings()

    def round(self) -> None:
        """Each open arm once, in an order that changes, with the base among them."""
        order = [BASE] * self.base_each + [one for one, outcome in self.outcomes.items() if outcome == OPEN]
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
            if self.outcomes[arm] != BROKEN and min(len(runs), len(self.base)) >= self.stages[0]
        }
        if not effects:
            return
        allowed = levels({arm: one.p for arm, one in effects.items()}, dict.fromkeys(effects, 1.0), self.level())
        for arm, one in effects.items():
            if self.outcomes[arm] == OPEN and one.p <= allowed[arm]:
                self.outcomes[arm] = BETTER
            elif self.outcomes[arm] == OPEN and one.low > 1 - LEAST:
                self.outcomes[arm] = NOT_BETTER

    def standings(self) -> Standings:
        """As they are now."""
        return Standings(tuple(self.base), {arm: self._standing(arm) for arm in self.runs})

    def _standing(self, arm: str) -> Standing:
        runs = self.runs[arm]
        if min(len(runs), len(self.base)) < 2:
            return Standing(self.outcomes[arm], None, tuple(runs), None)
        effect = effect_of(self.base, runs, self.pairs[arm])
        smallest = smallest_seen(effect, self.base, runs, self.level() / max(len(self.runs), 1))
        return Standing(self.outcomes[arm], effect, tuple(runs), smallest)
