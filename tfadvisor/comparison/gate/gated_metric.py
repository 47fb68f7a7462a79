"""One gated metric, made ready to be judged: what the baseline and the new runs say, as
measured and at equal speed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import exp, inf, log, sqrt

import msgspec

from tfadvisor.comparison.baseline.snapshot import Baseline, Snapshot
from tfadvisor.comparison.gate.config import Relative
from tfadvisor.comparison.ops import match_ops, op_speed, same_work
from tfadvisor.comparison.side import Side, middle_of
from tfadvisor.comparison.statistics import signed_rank
from tfadvisor.comparison.statistics.ranks import (
    p_above,
    shift,
    smallest_p,
    surely_above,
)
from tfadvisor.comparison.statistics.spread import (
    FEWEST_RUNS,
    Nature,
    Prediction,
    nature_of,
    predict,
)
from tfadvisor.tallies import listed

STEP_TIME = "step_time_ms"


class GatedMetric(msgspec.Struct, frozen=True):
    """A gated metric with everything that its verdict needs.

    raw: as measured. tests: what decides; as measured, or at equal speed of the machine
    (by the median op, by all unchanged ops) where that is known. allowed: the limit on
    the scale.
    """

    asked: Relative
    nature: Nature
    unit: str
    base: tuple[float, ...]
    value: float
    allowed: float
    raw: Surprise
    tests: tuple[Surprise, ...]
    machine: Speeds | None
    runs: int
    """Of the baseline, at all levels."""
    in_turns: bool
    """As of the baseline."""

    def p(self) -> float:
        """The smallest of the tests' probabilities, for as many tests."""
        return min(len(self.tests) * min(test.p() for test in self.tests), 1.0)

    def significant(self, test: Surprise, level: float) -> bool:
        """Whether one test is, at its part of the level."""
        return test.p() <= level / len(self.tests)

    def improved(self, level: float) -> bool:
        """Whether it moved for the better by more than the limit and more than noise
        explains, as measured and at equal speed of the machine.
        """
        if self.nature.worse == "both":
            return False
        seen = [self.raw, *self.tests]
        return all(
            -one.distance > self.allowed and one.p_better() <= level for one in seen
        )

    def reach(self, level: float) -> float:
        """The smallest change that is seen, wherever in the step it is."""
        return self.tests[0].reach(level / len(self.tests))

    def reach_outside(self, level: float) -> float | None:
        """The same for changes outside of the unchanged ops; None where that part is
        not known.
        """
        return (
            self.tests[1].reach(level / len(self.tests))
            if len(self.tests) > 1
            else None
        )


def nature_asked(asked: Relative, side: Side) -> Nature:
    """The metric's nature as a new run's report declares it, as far as the
    configuration does not say otherwise.
    """
    return nature_of(side.units[asked.metric], side.traits[asked.metric], asked.worse)


def ask(
    asked: Relative, candidates: Sequence[Snapshot], baseline: Baseline, first: float
) -> GatedMetric:
    """Everything about one metric. first: the strictest level that Holm's procedure may
    ask of it.
    """
    name = asked.metric
    nature = nature_asked(asked, candidates[0].side)
    runs = [run for run in baseline.runs if name in run.side.metrics]
    base, new = (
        [run.side.metrics[name] for run in some] for some in (runs, candidates)
    )
    present = _by_level(runs, base)[-1]
    error = candidates[0].errors.get(name, 0.0) if len(candidates) == 1 else 0.0
    error = error / max(new[0], 1e-12) if nature.by_factor else error

    def judged(
        base: Sequence[float], new: Sequence[float], error: float, level: float
    ) -> Surprise:
        sample = Sample(
            groups=tuple(
                turned(group, nature.worse) for group in _by_level(runs, base)
            ),
            new=turned(new, nature.worse),
            error=error,
            both=nature.worse == "both",
        )
        pairs = (
            baseline.in_turns
            and not nature.exact
            and len(sample.new) == len(sample.groups[-1])
        )
        return (SurpriseInTurns if pairs else Surprise)(sample, nature, level)

    raw = judged(on_scale(base, nature), on_scale(new, nature), error, first)
    machine = (
        speeds(baseline.typical(), runs, candidates) if name == STEP_TIME else None
    )
    tests: tuple[Surprise, ...] = (raw,)
    if machine is not None:
        tests = _at_equal_speed(runs, candidates, machine, error, judged, first / 2)
    if machine is not None and baseline.in_turns:
        # both saw the same machine, so ops that are all slower are no accident
        tests, machine = (raw, tests[1]), None
    return GatedMetric(
        asked=asked,
        nature=nature,
        unit=candidates[0].side.units[name],
        base=tuple(present),
        value=middle_of(new),
        allowed=limit_on_scale(asked.limit, asked.change, middle_of(present), nature),
        raw=raw,
        tests=tests,
        machine=machine,
        runs=len(runs),
        in_turns=baseline.in_turns,
    )


def _at_equal_speed(
    runs: Sequence[Snapshot],
    candidates: Sequence[Snapshot],
    machine: Speeds,
    error: float,
    judged: Callable[[Sequence[float], Sequence[float], float, float], Surprise],
    level: float,
) -> tuple[Surprise, Surprise]:
    """The step time by the median op, and by all unchanged ops."""
    sides = [
        list(zip(some, speeds, strict=True))
        for some, speeds in ((runs, machine.base), (candidates, machine.new))
    ]
    base, new = (
        [log(run.side.metrics[STEP_TIME]) - speed.median_op for run, speed in some]
        for some in sides
    )
    before, after = ([outside_ms(run, speed) for run, speed in some] for some in sides)
    outside_error = after[0][1] if len(candidates) == 1 else 0.0
    outside = judged(
        [log(ms) for ms, _ in before],
        [log(ms) for ms, _ in after],
        outside_error,
        level,
    )
    return judged(base, new, error, level), outside


def _by_level(runs: Sequence[Snapshot], values: Sequence[float]) -> list[list[float]]:
    """A value of each run, the runs of one level together, the present one last."""
    found = listed((run.level, value) for run, value in zip(runs, values, strict=True))
    return [found[level] for level in sorted(found)]


# What the runs say about one metric before any verdict: how far it moved, how
# surprising that is, what could be seen.

FORETOLD = 0.5
"""Part of the rate of false alarms that is for a scatter like that of the runs before.
The rest is for runs that fall out of line, as one in a few hundred does on any machine;
the scatter of a few runs foretells none of them."""


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
        many = len(sample.new) > 1 and not nature.exact and not sample.both
        self.by_ranks = (
            many and smallest_p(len(self._present), len(sample.new)) <= level
        )
        self.few = self._prediction.few and not self.by_ranks
        self._part = (1.0 if nature.exact else FORETOLD) / (2 if sample.both else 1)

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
        return min(
            self._prediction.surprise(self.distance, self._sample.error) / self._part,
            1.0,
        )

    def p_better(self) -> float:
        """How probable it is for an unchanged program to move so far for the better."""
        if self.by_ranks:
            return p_above(self._sample.new, self._present)
        return min(
            self._prediction.surprise(-self.distance, self._sample.error) / self._part,
            1.0,
        )

    @property
    def unusual(self) -> bool:
        """Whether the new run lies further out than runs do by what is believed of
        their spread.
        """
        return not self._prediction.usual(middle_of(self._sample.new))

    def reach(self, level: float) -> float:
        """The distance that it takes to be significant at a level."""
        if self.by_ranks:
            sure = surely_above(self._present, self._sample.new, level)
            return inf if sure is None else max(self.distance - sure, 0.0)
        return self._prediction.reach(level * self._part, self._sample.error)


def turned(values: Sequence[float], worse: str) -> tuple[float, ...]:
    """Values with the sign that makes more the worse."""
    return tuple(-value for value in values) if worse == "down" else tuple(values)


def on_scale(values: Sequence[float], nature: Nature) -> list[float]:
    """Values on the metric's scale; those that have no place there (a time of 0) at its
    far end.
    """
    return [
        nature.scaled(max(value, 1e-12) if nature.by_factor else value)
        for value in values
    ]


def limit_on_scale(
    limit: float | None, change: float | None, centre: float, nature: Nature
) -> float:
    """How far from the baseline's centre (in the metric's unit) is allowed, on the
    scale, whichever way is worse.

    Of a limit and a change the smaller.
    """
    down = nature.worse == "down"
    if limit is not None and change is not None:
        return min(
            limit_on_scale(limit, None, centre, nature),
            limit_on_scale(None, change, centre, nature),
        )
    if change is not None:
        if not nature.by_factor:
            return change
        return (
            -log(max(1 - change / centre, 1e-9)) if down else log(1 + change / centre)
        )
    assert limit is not None
    if not nature.by_factor:
        return limit * abs(centre)
    return -log(max(1 - limit, 1e-9)) if down else log(1 + limit)


# Runs that were recorded in turns with those of the baseline: the ranks of the pairs'
# differences decide, and nothing else.


class SurpriseInTurns(Surprise):
    """As Surprise, of a sample with as many new runs as the baseline has, each beside
    the run of its number.

    Where either way is worse, whichever way the runs moved is turned to be the worse
    one, and counts double.
    """

    def __init__(self, sample: Sample, nature: Nature, level: float) -> None:
        """As Surprise."""
        super().__init__(sample, nature, level)
        pairs = [
            one - other
            for one, other in zip(sample.new, sample.groups[-1], strict=True)
        ]
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


# Step times at equal speed of the machine.

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
        return len(found) >= FEWEST_RUNS and max(found) - min(found) <= _STEADY

    def within_what_was_seen(self) -> bool:
        """Whether the machine was no faster than in some run of the baseline, so that
        equal speed is no extrapolation.
        """
        return max(one.median_op for one in self.new) >= min(
            one.median_op for one in self.base
        )


def speeds(
    typical: Snapshot, base: Sequence[Snapshot], new: Sequence[Snapshot]
) -> Speeds | None:
    """None when the ops of any of the runs cannot tell."""
    found = [_speed(typical, run) for run in (*base, *new)]
    known = [one for one in found if one is not None]
    if len(known) < len(found):
        return None
    return Speeds(tuple(known[: len(base)]), tuple(known[len(base) :]))


def outside_ms(run: Snapshot, speed: Speed) -> tuple[float, float]:
    """(mean step time at equal speed of all unchanged ops, standard error of its
    logarithm from the run's own steps).

    The mean, since it is the mean time of the ops that it is divided by: what holds
    both up cancels.
    """
    errors = [
        error or 0.0
        for name, error in run.side.class_error_ms.items()
        if name != "compute"
    ]
    return run.side.mean_ms / exp(speed.all_ops), sqrt(
        sum(error * error for error in errors)
    ) / run.side.mean_ms


def _speed(typical: Snapshot, run: Snapshot) -> Speed | None:
    pairs = match_ops(typical.side.ops, run.side.ops)
    median_op = op_speed(pairs)
    if median_op is None:
        return None
    unchanged = [
        pair
        for pair in pairs
        if pair.base and pair.new and pair.base.kind == "compute" and same_work(pair)
    ]
    before = _unchanged_ms(
        typical, [pair.base.ms_per_step for pair in unchanged if pair.base]
    )
    after = _unchanged_ms(run, [pair.new.ms_per_step for pair in unchanged if pair.new])
    if before is None or after is None:
        return None
    return Speed(log(median_op.factor), log(after / before))


def _unchanged_ms(run: Snapshot, unchanged: Sequence[float]) -> float | None:
    """The part of a step's compute time that the unchanged ops take; None when they are
    not most of it.
    """
    side = run.side
    everything = sum(
        op.ms_per_step for op in side.ops if op.kind == "compute"
    ) + side.rest_ms.get("compute", 0.0)
    if (
        everything <= 0
        or sum(unchanged) < _LEAST_SHARE * everything
        or side.class_ms["compute"] <= 0
    ):
        return None
    return side.class_ms["compute"] * sum(unchanged) / everything
