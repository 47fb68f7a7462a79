"""Step times at equal speed of the machine."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import exp, log, sqrt

import msgspec

from tfadvisor.comparison.baseline.snapshot import Snapshot
from tfadvisor.comparison.ops import Pair, match_ops, op_speed, same_work
from tfadvisor.comparison.statistics.spread import FEWEST_RUNS
from tfadvisor.report import Op

_STEADY = 0.01
_LEAST_SHARE = 0.5


class Speed(msgspec.Struct, frozen=True):
    """Logarithms of how much longer a run's unchanged ops take than the typical run's:
    the median op, all together.
    """

    median_op: float
    all_ops: float


class Speeds(msgspec.Struct, frozen=True):
    """Of the baseline's runs and of the new ones."""

    base: tuple[Speed, ...]
    new: tuple[Speed, ...]

    def steady(self) -> bool:
        """Whether the baseline shows a machine whose speed does not change, so that a
        slower one is no accident.
        """
        found = [speed.median_op for speed in self.base]
        if len(found) < FEWEST_RUNS:
            return False
        return max(found) - min(found) <= _STEADY

    def within_what_was_seen(self) -> bool:
        """Whether the machine was no faster than in some run of the baseline, so that
        equal speed is no extrapolation.
        """
        slowest_new = max(speed.median_op for speed in self.new)
        fastest_base = min(speed.median_op for speed in self.base)
        return slowest_new >= fastest_base


def speeds(
    typical: Snapshot, base: Sequence[Snapshot], new: Sequence[Snapshot]
) -> Speeds | None:
    """None when the ops of any of the runs cannot tell."""
    found: list[Speed] = []
    for run in (*base, *new):
        speed = speed_of(typical, run)
        if speed is None:
            return None
        found.append(speed)
    return Speeds(tuple(found[: len(base)]), tuple(found[len(base) :]))


def speed_of(typical: Snapshot, run: Snapshot) -> Speed | None:
    """None when the run's ops cannot tell."""
    pairs = match_ops(typical.side.ops, run.side.ops)
    median_op = op_speed(pairs)
    if median_op is None:
        return None

    unchanged = [pair for pair in pairs if _is_unchanged(pair)]
    before = _unchanged_ms(typical, (_ms(pair.base) for pair in unchanged))
    after = _unchanged_ms(run, (_ms(pair.new) for pair in unchanged))
    if before is None or after is None:
        return None
    return Speed(log(median_op.factor), log(after / before))


def _is_unchanged(pair: Pair) -> bool:
    if pair.base is None or pair.new is None:
        return False
    return pair.base.kind == "compute" and same_work(pair)


def _ms(op: Op | None) -> float:
    return op.ms_per_step if op is not None else 0.0


def _unchanged_ms(run: Snapshot, unchanged: Iterable[float]) -> float | None:
    """The part of a step's compute time that the unchanged ops take; None when they are
    not most of it.
    """
    side = run.side
    compute = side.class_ms["compute"]
    of_ops = [op.ms_per_step for op in side.ops if op.kind == "compute"]
    everything = sum(of_ops) + side.rest_ms.get("compute", 0.0)
    same = sum(unchanged)

    if everything <= 0 or compute <= 0:
        return None
    if same < _LEAST_SHARE * everything:
        return None
    return compute * same / everything


def outside_ms(run: Snapshot, speed: Speed) -> tuple[float, float]:
    """(mean step time at equal speed of all unchanged ops, standard error of its
    logarithm from the run's own steps).

    The mean, since it is the mean time of the ops that it is divided by: what holds
    both up cancels.
    """
    side = run.side
    variance = 0.0
    for name, error in side.class_error_ms.items():
        if name != "compute" and error is not None:
            variance += error * error
    return side.mean_ms / exp(speed.all_ops), sqrt(variance) / side.mean_ms
