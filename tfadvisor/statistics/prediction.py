"""Where one new run of an unchanged program may lie, and how surprising a run is.

A trace is one sample; its steps only say how well that sample is measured. From n runs with centre c and spread s, a new
run measured with error m lies within c ± t · √(s² (1 + 1/n) + (2 m)²), t being Student's quantile. m counts twice because
the steps of a run are no independent samples either. A floor is a spread that is believed without data, so the normal
quantile goes with it; the wider of the two holds.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt

import msgspec
from msgspec.structs import replace

from tfadvisor.comparison.side import middle_of
from tfadvisor.statistics.distributions import normal_quantile, normal_tail, t_quantile, t_tail
from tfadvisor.statistics.metric_traits import Nature
from tfadvisor.statistics.spread import Estimate, Prior, blended, counted, with_more

_ERROR_COUNTS = 2.0
_PRIOR_WORTH = 0.25
_EXACT_WORTH = 4.0
_USUAL = 3.0


class Prediction(msgspec.Struct, frozen=True):
    """What runs of the unchanged program say about the next one; all on the metric's scale."""

    known: Estimate
    floor: float
    """The spread that is believed in any case."""
    few: bool
    """Whether so few runs are known that the prior says more about the spread than they do."""

    @property
    def centre(self) -> float:
        """Of the runs at the present level."""
        return self.known.centre

    def surprise(self, distance: float, error: float) -> float:
        """Probability that an unchanged program's next run lies this far beyond the centre, on that side."""
        by_floor = normal_tail(distance / self._width(self.floor, error))
        if self.known.sigma <= 0:
            return by_floor
        return max(by_floor, t_tail(distance / self._width(self.known.sigma, error), self.known.freedom))

    def reach(self, level: float, error: float) -> float:
        """How far from the centre a run must lie to be that surprising."""
        by_floor = normal_quantile(level) * self._width(self.floor, error)
        if self.known.sigma <= 0:
            return by_floor
        return max(by_floor, t_quantile(level, self.known.freedom) * self._width(self.known.sigma, error))

    def usual(self, value: float) -> bool:
        """Whether a value lies within three spreads of the centre, whatever the spread is worth."""
        return abs(value - self.centre) <= _USUAL * self._width(max(self.known.sigma, self.floor), 0.0)

    def with_more(self, runs: int) -> Prediction:
        """What so many more runs would say if they scattered like those that are known."""
        return replace(self, known=with_more(self.known, runs))

    def _width(self, sigma: float, error: float) -> float:
        return sqrt(sigma * sigma * (1 + 1 / self.known.runs) + (_ERROR_COUNTS * error) ** 2)


def predict(levels: Sequence[Sequence[float]], nature: Nature, fewest_runs: int) -> Prediction:
    """From values on the metric's scale. levels: the present one last. fewest_runs: with fewer, they are few."""
    if nature.exact:
        floor = nature.floor_at(middle_of(levels[-1]))
        return Prediction(counted(levels, Prior(floor, _EXACT_WORTH)), floor, few=False)
    known = blended(levels, Prior(nature.assumed, _PRIOR_WORTH))
    few = sum(len(level) for level in levels) < fewest_runs
    return Prediction(known, nature.floor_at(known.centre), few)
