"""Arms in turns, round by round, until it is clear which are better: 3 rounds, then 5,
8 and 12. Sees step times, and no process.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import sqrt
from random import Random
from statistics import geometric_mean

import msgspec

from tfadvisor.act.trial.effect import Effect, effect_of, smallest_seen
from tfadvisor.act.trial.trial_result import BETTER, BROKEN, NOT_BETTER, OPEN
from tfadvisor.comparison.statistics import levels

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
        self.runs: dict[str, list[float]] = {arm: [] for arm in arms}
        self.pairs: dict[str, list[tuple[float, float]]] = {arm: [] for arm in arms}
        """Of the rounds that have both: the program as it is, the middle of its runs,
        and the arm.
        """
        self.outcomes = dict.fromkeys(arms, OPEN)
        self.aside: set[str] = set()
        """Arms that wait until the others are decided."""

    def decide(self) -> Standings:
        """Until all arms are decided, the rounds are over or there is no time left."""
        try:
            self._decide()
        except Enough:
            self.stopped = True
            self.look()
        return self.standings()

    def standings(self) -> Standings:
        """Where all arms stand."""
        arms = {arm: self._standing(arm) for arm in self.runs}
        return Standings(tuple(self.base), arms)

    def _decide(self) -> None:
        self.round()
        done = 0 if self.narrow() else 1
        for stage in self.stages:
            while done < stage:
                self.round()
                done += 1
            self.look()
            if OPEN not in self.outcomes.values():
                break

    def narrow(self) -> bool:
        """After the first round, where there is no time for a look at all: to the arms
        that gained most, as many as there is time for. The run that chose them counts
        no more. Returns whether it did."""
        ranked = sorted(
            self._open(),
            key=lambda arm: self.runs[arm][0],
        )
        most, again = len(ranked), self.stages[0] - 1
        while ranked:
            rounds = again + (len(ranked) < most)
            if self.afford(arms_of_round(ranked) * rounds):
                break
            self.aside.add(ranked.pop())

        if not ranked or not self.aside:
            self.aside.clear()
            return False
        for arm in ranked:
            self.runs[arm].clear()
            self.pairs[arm].clear()
        return True

    def _open(self) -> list[str]:
        found = []
        for arm, outcome in self.outcomes.items():
            if outcome == OPEN and arm not in self.aside:
                found.append(arm)
        return found

    def round(self) -> None:
        """Each open arm once, in an order that changes, with the base among them."""
        if not self._open():
            self.aside.clear()
        order = arms_of_round(self._open())
        self.random.shuffle(order)

        base: list[float] = []
        new: dict[str, float] = {}
        for arm in order:
            measured = self.measure(arm)
            if measured is None:
                self._break(arm)
            elif arm == BASE:
                base.append(measured)
                self.base.append(measured)
            else:
                new[arm] = measured
                self.runs[arm].append(measured)

        self._pair(base, new)

    def add(
        self,
        base: Sequence[float],
        new: Mapping[str, float],
    ) -> None:
        """A round that is measured already: step times of the program as it is, and of
        each arm.
        """
        self.base += base
        for arm, measured in new.items():
            self.runs[arm].append(measured)
        self._pair(base, new)

    def _pair(
        self,
        base: Sequence[float],
        new: Mapping[str, float],
    ) -> None:
        if base:
            middle = geometric_mean(base)
            for arm, measured in new.items():
                self.pairs[arm].append((middle, measured))

    def _break(self, arm: str) -> None:
        if arm != BASE:
            self.outcomes[arm] = BROKEN

    def level(self) -> float:
        """Of one look."""
        return self.rate / len(self.stages)

    def look(self) -> None:
        """Decides what can be decided."""
        shown = [arm for arm in self.runs if self._can_be_looked_at(arm)]
        if not shown:
            return

        effects = {arm: self._effect(arm) for arm in shown}
        surprising = {arm: seen.p for arm, seen in effects.items()}
        allowed = levels(
            surprising,
            dict.fromkeys(effects, 1.0),
            self.level(),
        )
        for arm, effect in effects.items():
            if self.outcomes[arm] != OPEN:
                continue
            if effect.p <= allowed[arm]:
                self.outcomes[arm] = BETTER
            elif effect.low > 1 - LEAST:
                self.outcomes[arm] = NOT_BETTER

    def _can_be_looked_at(self, arm: str) -> bool:
        runs = min(len(self.runs[arm]), len(self.base))
        return self.outcomes[arm] != BROKEN and runs >= self.stages[0]

    def _effect(self, arm: str) -> Effect:
        return effect_of(
            self.base,
            self.runs[arm],
            self.pairs[arm],
        )

    def _standing(self, arm: str) -> Standing:
        runs = self.runs[arm]
        if min(len(runs), len(self.base)) < 2:
            return Standing(
                self.outcomes[arm],
                None,
                tuple(runs),
                None,
            )

        effect = self._effect(arm)
        level = self.level() / max(len(self.runs), 1)
        smallest = smallest_seen(
            effect,
            self.base,
            runs,
            level,
        )
        return Standing(
            self.outcomes[arm],
            effect,
            tuple(runs),
            smallest,
        )


def arms_of_round(arms: Sequence[str]) -> list[str]:
    """Every arm is compared with the base, so its runs are worth more."""
    times = max(1, round(sqrt(len(arms))))
    return [BASE] * times + list(arms)
