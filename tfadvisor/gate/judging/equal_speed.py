"""Step times at equal speed of the machine.

On a machine that others use too, the same program takes 10 to 100% longer from one minute to the next. Ops whose work
did not change tell by how much, in two ways:

- The median op (comparison/op_speed.py): dividing the step time by it leaves what became slower by itself, a few ops or
  anything beside them.
- The time that the unchanged ops take together: dividing by it leaves only what lies outside of them, ops that are new
  included, and does so much more exactly.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import exp, log, sqrt

import msgspec

from tfadvisor.comparison.match_ops import match_ops, same_work
from tfadvisor.comparison.op_speed import op_speed
from tfadvisor.gate.baseline.snapshot import Snapshot

_STEADY = 0.01
_LEAST_SHARE = 0.5


class Speed(msgspec.Struct, frozen=True):
    """Logarithms of how much longer a run's unchanged ops take than the typical run's: the median op, all together."""

    median_op: float
    all_ops: float


class Speeds(msgspec.Struct, frozen=True):
    """Of the baseline's runs and of the new ones."""

    base: tuple[Speed, ...]
    new: tuple[Speed, ...]

    def steady(self, fewest_runs: int) -> bool:
        """Whether the baseline shows a machine whose speed does not change, so that a slower one is no accident."""
        found = [speed.median_op for speed in self.base]
        return len(found) >= fewest_runs and max(found) - min(found) <= _STEADY

    def within_what_was_seen(self) -> bool:
        """Whether the machine was no faster than in some run of the baseline, so that equal speed is no extrapolation."""
        return max(one.median_op for one in self.new) >= min(one.median_op for one in self.base)


def speeds(typical: Snapshot, base: Sequence[Snapshot], new: Sequence[Snapshot]) -> Speeds | None:
    """None when the ops of any of the runs cannot tell."""
    found = [_speed(typical, run) for run in (*base, *new)]
    known = [one for one in found if one is not None]
    if len(known) < len(found):
        return None
    return Speeds(tuple(known[: len(base)]), tuple(known[len(base) :]))


def outside_ms(run: Snapshot, speed: Speed) -> tuple[float, float]:
    """(mean step time at equal speed of all unchanged ops, standard error of its logarithm from the run's own steps).

    The mean, since it is the mean time of the ops that it is divided by: what holds both up cancels.
    """
    errors = [error or 0.0 for name, error in run.side.class_error_ms.items() if name != "compute"]
    return run.side.mean_ms / exp(speed.all_ops), sqrt(sum(error * error for error in errors)) / run.side.mean_ms


def _speed(typical: Snapshot, run: Snapshot) -> Speed | None:
    pairs = match_ops(typical.side.ops, run.side.ops)
    median_op = op_speed(pairs)
    if median_op is None:
        return None
    unchanged = [pair for pair in pairs if pair.base and pair.new and pair.base.kind == "compute" and same_work(pair)]
    before = _unchanged_ms(typical, [pair.base.ms_per_step for pair in unchanged if pair.base])
    after = _unchanged_ms(run, [pair.new.ms_per_step for pair in unchanged if pair.new])
    if before is None or after is None:
        return None
    return Speed(log(median_op.factor), log(after / before))


def _unchanged_ms(run: Snapshot, unchanged: Sequence[float]) -> float | None:
    """The part of a step's compute time that the unchanged ops take; None when they are not most of it."""
    side = run.side
    everything = sum(op.ms_per_step for op in side.ops if op.kind == "compute") + side.rest_ms.get("compute", 0.0)
    if everything <= 0 or sum(unchanged) < _LEAST_SHARE * everything or side.class_ms["compute"] <= 0:
        return None
    return side.class_ms["compute"] * sum(unchanged) / everything
