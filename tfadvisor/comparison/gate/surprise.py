"""What the runs say about one metric before any verdict: how far it moved, how
surprising that is, what could be seen.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, log

import msgspec

from tfadvisor.comparison.statistics import signed_rank
from tfadvisor.comparison.statistics.ranks import (
    middle_of,
    p_above,
    shift,
    smallest_p,
    surely_above,
)
from tfadvisor.comparison.statistics.spread import (
    FEWEST_RUNS,
    Nature,
    Prediction,
    predict,
)

FORETOLD = 0.5
"""Part of the rate of false alarms that is for a scatter like that of the runs before.
The rest is for runs that fall out of line, as one in a few hundred does on any machine;
the scatter of a few runs foretells none of them."""

_TWICE = log(2.0)
_QUARTER_MORE = log(1.25)
_LEAST = 1e-12
"""Stands for a time of 0, which has no logarithm."""
_LEAST_LEFT = 1e-9
"""Of a value that may fall by its whole size."""


class Sample(msgspec.Struct, frozen=True):
    """A metric's values on its scale, turned so that more is worse (for `both`: as they
    are).

    groups: of the baseline by level, the present one last. new: of the candidates.
    error: of a single candidate's value.
    """

    groups: tuple[tuple[float, ...], ...]
    new: tuple[float, ...]
    error: float
    both: bool


class Surprise:
    """How a sample is judged: one new run by prediction, several by ranks where those
    can reach the level.
    """

    def __init__(self, sample: Sample, nature: Nature, level: float) -> None:
        """level: the strictest that may be asked; it decides whether ranks can
        answer.
        """
        self._sample = sample
        self._prediction: Prediction = predict(sample.groups, nature)
        self._present = sample.groups[-1]
        self._by_factor = nature.by_factor and not sample.both

        many = len(sample.new) > 1 and not nature.exact and not sample.both
        reached = smallest_p(len(self._present), len(sample.new))
        self.by_ranks = many and reached <= level
        self.few = self._prediction.few and not self.by_ranks

        foretold = 1.0 if nature.exact else FORETOLD
        self._part = foretold / 2 if sample.both else foretold

    @property
    def distance(self) -> float:
        """How far the new run, or the shift of the new runs, lies beyond the baseline;
        above 0 is worse.
        """
        if self.by_ranks:
            return shift(self._present, self._sample.new)
        away = middle_of(self._sample.new) - self._prediction.centre
        return abs(away) if self._sample.both else away

    def p(self) -> float:
        """How probable this or more is for an unchanged program."""
        if self.by_ranks:
            return p_above(self._present, self._sample.new)
        return self._foretold(self.distance)

    def p_better(self) -> float:
        """How probable it is for an unchanged program to move so far for the better."""
        if self.by_ranks:
            return p_above(self._sample.new, self._present)
        return self._foretold(-self.distance)

    def _foretold(self, distance: float) -> float:
        surprise = self._prediction.surprise(distance, self._sample.error)
        return min(surprise / self._part, 1.0)

    @property
    def unusual(self) -> bool:
        """Whether the new run lies further out than runs do by what is believed of
        their spread.
        """
        return not self._prediction.usual(middle_of(self._sample.new))

    @property
    def is_clear(self) -> bool:
        """Whether all new runs lie so far above all of the present level that no
        statistics are asked: twice the largest, or a quarter more and as far above it
        as it lies above the smallest. Only of values by factor where more is worse.
        """
        spread = max(self._present) - min(self._present)
        return self._above() >= _TWICE or (self.is_far and self._above() >= spread)

    @property
    def is_far(self) -> bool:
        """Whether all new runs lie a quarter above all of the present level, which has
        a few runs. Only of values by factor where more is worse.
        """
        return self._above() >= _QUARTER_MORE

    def _above(self) -> float:
        """How far all new runs lie above all of the present level."""
        if not self._by_factor or len(self._present) < FEWEST_RUNS:
            return -inf
        return min(self._sample.new) - max(self._present)

    def reach(self, level: float) -> float:
        """The distance that it takes to be significant at a level."""
        if not self.by_ranks:
            return self._prediction.reach(level * self._part, self._sample.error)

        sure = surely_above(self._present, self._sample.new, level)
        return inf if sure is None else max(self.distance - sure, 0.0)


class SurpriseInTurns(Surprise):
    """As Surprise, of runs that were recorded in turns with those of the baseline: as
    many new ones, each beside the run of its number. The ranks of the pairs'
    differences decide, and nothing else.

    Where either way is worse, whichever way the runs moved is turned to be the worse
    one, and counts double.
    """

    def __init__(self, sample: Sample, nature: Nature, level: float) -> None:
        """As Surprise."""
        super().__init__(sample, nature, level)
        beside = zip(sample.new, sample.groups[-1], strict=True)
        pairs = [new - base for new, base in beside]

        moved_down = signed_rank.shift(pairs) < 0
        if sample.both and moved_down:
            pairs = [-difference for difference in pairs]
        self._pairs = pairs
        self._ways = 2 if sample.both else 1
        self.by_ranks = True
        self.few = False

    @property
    def distance(self) -> float:
        """By how much the new run of a pair is the worse one."""
        return signed_rank.shift(self._pairs)

    @property
    def is_clear(self) -> bool:
        """Turns decide by their pairs alone."""
        return False

    @property
    def is_far(self) -> bool:
        """As is_clear."""
        return False

    def p(self) -> float:
        """As Surprise."""
        return min(self._ways * signed_rank.p_above(self._pairs), 1.0)

    def p_better(self) -> float:
        """As Surprise."""
        turned_round = [-difference for difference in self._pairs]
        return signed_rank.p_above(turned_round)

    def reach(self, level: float) -> float:
        """As Surprise; infinite while there are too few turns for the level."""
        sure = signed_rank.surely_above(self._pairs, level / self._ways)
        return inf if sure is None else max(self.distance - sure, 0.0)


# Values and limits on a metric's scale.


def turned(values: Sequence[float], worse: str) -> tuple[float, ...]:
    """Values with the sign that makes more the worse."""
    if worse == "down":
        return tuple(-value for value in values)
    return tuple(values)


def on_scale(values: Sequence[float], nature: Nature) -> list[float]:
    """Values on the metric's scale; those that have no place there (a time of 0) at its
    far end.
    """
    if nature.by_factor:
        values = [max(value, _LEAST) for value in values]
    return [nature.scaled(value) for value in values]


def limit_on_scale(
    limit: float | None, change: float | None, centre: float, nature: Nature
) -> float:
    """How far from the baseline's centre (in the metric's unit) is allowed, on the
    scale, whichever way is worse.

    Of a limit and a change the smaller.
    """
    allowed: list[float] = []
    if limit is not None:
        share = limit if nature.by_factor else limit * abs(centre)
        allowed.append(_by_factor(share, nature) if nature.by_factor else share)
    if change is not None:
        by_factor = nature.by_factor
        allowed.append(_by_factor(change / centre, nature) if by_factor else change)
    assert allowed
    return min(allowed)


def _by_factor(share: float, nature: Nature) -> float:
    """A change by a share of the centre, as a distance between logarithms."""
    if nature.worse == "down":
        return -log(max(1 - share, _LEAST_LEFT))
    return log(1 + share)
