"""Runs that were recorded in turns with those of the baseline: the ranks of the pairs' differences decide, and nothing else.

No spread is believed beforehand: on a busy machine the first few turns differ by more than any usual one.
"""

from __future__ import annotations

from math import inf

from tfadvisor.gate.judging.surprise import Sample, Surprise
from tfadvisor.statistics import signed_rank
from tfadvisor.statistics.metric_traits import Nature


class SurpriseInTurns(Surprise):
    """As Surprise, of a sample with as many new runs as the baseline has, each beside the run of its number.

    Where either way is worse, whichever way the runs moved is turned to be the worse one, and counts double.
    """

    def __init__(self, sample: Sample, nature: Nature, fewest_runs: int, level: float) -> None:
        """As Surprise."""
        super().__init__(sample, nature, fewest_runs, level)
        pairs = [one - other for one, other in zip(sample.new, sample.groups[-1], strict=True)]
        turned = -1 if sample.both and signed_rank.shift(pairs) < 0 else 1
        self._pairs = [turned * one for one in pairs]
        self._ways = 2 if sample.both else 1
        self.by_ranks, self.few = True, False

    @property
    def distance(self) -> float:
        """By how much the new run of a pair is the worse one."""
        return signed_rank.shift(self._pairs)

    def p(self) -> float:
        """As Surprise."""
        return min(self._ways * signed_rank.p_above(self._pairs), 1.0)

    def p_better(self) -> float:
        """As Surprise."""
        return signed_rank.p_above([-one for one in self._pairs])

    def reach(self, level: float) -> float:
        """As Surprise; infinite while there are too few turns for the level."""
        sure = signed_rank.surely_above(self._pairs, level / self._ways)
        return inf if sure is None else max(self.distance - sure, 0.0)
