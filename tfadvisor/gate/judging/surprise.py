"""What the runs say about one metric before any verdict: how far it moved, how surprising that is, what could be seen."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, log

import msgspec

from tfadvisor.comparison.side import middle_of
from tfadvisor.statistics.mann_whitney import p_above, shift, smallest_p, surely_above
from tfadvisor.statistics.metric_traits import Nature
from tfadvisor.statistics.prediction import Prediction, predict

FORETOLD = 0.5
"""Part of the rate of false alarms that is for a scatter like that of the runs before. The rest is for runs that fall out of
line, as one in a few hundred does on any machine; the scatter of a few runs foretells none of them."""


class Sample(msgspec.Struct, frozen=True):
    """A metric's values on its scale, turned so that more is worse (for `both`: as they are).

    groups: of the baseline by level, the present one last. new: of the candidates. error: of a single candidate's value.
    """

    groups: tuple[tuple[float, ...], ...]
    new: tuple[float, ...]
    error: float
    both: bool


class Surprise:
    """How a sample is judged: one new run by prediction, several by ranks where those can reach the level."""

    def __init__(self, sample: Sample, nature: Nature, fewest_runs: int, level: float) -> None:
        """level: the strictest that may be asked; it decides whether ranks can answer."""
        self._sample = sample
        self._prediction: Prediction = predict(sample.groups, nature, fewest_runs)
        self._present = sample.groups[-1]
        many = len(sample.new) > 1 and not nature.exact and not sample.both
        self.by_ranks = many and smallest_p(len(self._present), len(sample.new)) <= level
        self.few = self._prediction.few and not self.by_ranks
        self._part = (1.0 if nature.exact else FORETOLD) / (2 if sample.both else 1)

    @property
    def distance(self) -> float:
        """How far the new run, or the shift of the new runs, lies beyond the baseline; above 0 is worse."""
        if self.by_ranks:
            return shift(self._present, self._sample.new)
        away = middle_of(self._sample.new) - self._prediction.centre
        return abs(away) if self._sample.both else away

    @property
    def centre(self) -> float:
        """Of the baseline's present level."""
        return self._prediction.centre

    @property
    def spread(self) -> float:
        """Between runs, on the scale."""
        return self._prediction.known.sigma

    def p(self) -> float:
        """How probable this or more is for an unchanged program."""
        if self.by_ranks:
            return p_above(self._present, self._sample.new)
        return min(self._prediction.surprise(self.distance, self._sample.error) / self._part, 1.0)

    def p_better(self) -> float:
        """How probable it is for an unchanged program to move so far for the better."""
        if self.by_ranks:
            return p_above(self._sample.new, self._present)
        return min(self._prediction.surprise(-self.distance, self._sample.error) / self._part, 1.0)

    def reach(self, level: float) -> float:
        """The distance that it takes to be significant at a level."""
        if self.by_ranks:
            sure = surely_above(self._present, self._sample.new, level)
            return inf if sure is None else max(self.distance - sure, 0.0)
        return self._prediction.reach(level * self._part, self._sample.error)

    def reach_after(self, level: float, runs: int) -> float:
        """The distance that it would take for a single run after so many more runs like these."""
        later = self._prediction.with_more(runs)
        return later.reach(level * self._part, self._sample.error)


def turned(values: Sequence[float], worse: str) -> tuple[float, ...]:
    """Values with the sign that makes more the worse."""
    return tuple(-value for value in values) if worse == "down" else tuple(values)


def on_scale(values: Sequence[float], nature: Nature) -> list[float]:
    """Values on the metric's scale; those that have no place there (a time of 0) at its far end."""
    return [nature.scaled(max(value, 1e-12) if nature.by_factor else value) for value in values]


def limit_on_scale(limit: float | None, change: float | None, centre: float, nature: Nature) -> float:
    """How far from the baseline's centre (in the metric's unit) is allowed, on the scale, whichever way is worse.

    Of a limit and a change the smaller.
    """
    down = nature.worse == "down"
    if limit is not None and change is not None:
        return min(limit_on_scale(limit, None, centre, nature), limit_on_scale(None, change, centre, nature))
    if change is not None:
        if not nature.by_factor:
            return change
        return -log(max(1 - change / centre, 1e-9)) if down else log(1 + change / centre)
    assert limit is not None
    if not nature.by_factor:
        return limit * abs(centre)
    return -log(max(1 - limit, 1e-9)) if down else log(1 + limit)
