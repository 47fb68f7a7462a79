"""Where one new run of an unchanged program may lie, and how surprising a run is.

A trace is one sample; its steps only say how well that sample is measured. From n runs with centre c and spread s, a new
run measured with error m lies within c ± t · √(s² (1 + 1/n) + m²), t being Student's quantile. A floor is a spread that
is believed without data, so the normal quantile goes with it; the wider of the two holds.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, sqrt

import msgspec

from tfadvisor.comparison.side import middle_of
from tfadvisor.gate.judging.metric_traits import Nature
from tfadvisor.gate.statistics.distributions import normal_quantile, normal_tail, t_quantile, t_tail
from tfadvisor.gate.statistics.spread import Spread, deviation_of, spread_of


class Prediction(msgspec.Struct, frozen=True):
    """What runs of the unchanged program say about the next one; all on the metric's scale.

    centre: the median of the runs at the present level. runs: how many of them. floor: the spread that is believed in any
    case. assumed: whether the spread is a guess, because too few runs are known.
    """

    centre: float
    runs: int
    spread: Spread
    floor: float
    assumed: bool

    def surprise(self, distance: float, error: float) -> float:
        """Probability that an unchanged program's next run lies this far beyond the centre, on that side."""
        by_floor = normal_tail(distance / self._width(self.floor, error))
        if self.spread.sigma <= 0:
            return by_floor
        return max(by_floor, t_tail(distance / self._width(self.spread.sigma, error), self.spread.freedom))

    def reach(self, level: float, error: float) -> float:
        """How far from the centre a run must lie to be that surprising."""
        by_floor = normal_quantile(level) * self._width(self.floor, error)
        if self.spread.sigma <= 0:
            return by_floor
        return max(by_floor, t_quantile(level, self.spread.freedom) * self._width(self.spread.sigma, error))

    def _width(self, sigma: float, error: float) -> float:
        return sqrt(sigma * sigma * (1 + 1 / self.runs) + error * error)


def predict(groups: Sequence[Sequence[float]], nature: Nature, fewest_runs: int) -> Prediction:
    """From values on the metric's scale. groups: one a level, the present level last.

    With fewer than `fewest_runs` the spread is the assumed one, taken as known, if it is the wider one. Metrics that are
    the same in every run need no assumption; where one is not, each deviating run counts, not the median one.
    """
    present = groups[-1]
    centre = middle_of(present)
    floor = nature.floor_at(centre)
    if nature.exact:
        return Prediction(centre, len(present), deviation_of(groups), floor, assumed=False)
    spread = spread_of(groups)
    if spread.runs >= fewest_runs:
        return Prediction(centre, len(present), spread, floor, assumed=False)
    guess = Spread(max(nature.assumed, spread.sigma), inf, spread.runs)
    return Prediction(centre, len(present), guess, floor, assumed=True)
