"""One gated metric, made ready to be judged: what the baseline and the new runs say, as
measured and at equal speed.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import log

import msgspec

from tfadvisor.comparison.baseline.snapshot import Baseline, Snapshot
from tfadvisor.comparison.gate.config import Relative
from tfadvisor.comparison.gate.equal_speed import Speed, Speeds, outside_ms, speeds
from tfadvisor.comparison.gate.surprise import (
    Sample,
    Surprise,
    SurpriseInTurns,
    limit_on_scale,
    on_scale,
    turned,
)
from tfadvisor.comparison.side import Side
from tfadvisor.comparison.statistics.ranks import middle_of
from tfadvisor.comparison.statistics.spread import Nature, nature_of
from tfadvisor.tallies import listed

STEP_TIME = "step_time_ms"
_LEAST = 1e-12


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
        smallest = min(test.p() for test in self.tests)
        return min(len(self.tests) * smallest, 1.0)

    def significant(self, test: Surprise, level: float) -> bool:
        """Whether one test is, at its part of the level."""
        return test.p() <= level / len(self.tests)

    def improved(self, level: float) -> bool:
        """Whether it moved for the better by more than the limit and more than noise
        explains, as measured and at equal speed of the machine.
        """
        if self.nature.worse == "both":
            return False
        for seen in (self.raw, *self.tests):
            if -seen.distance <= self.allowed or seen.p_better() > level:
                return False
        return True

    def reach(self, level: float) -> float:
        """The smallest change that is seen, wherever in the step it is."""
        return self.tests[0].reach(level / len(self.tests))

    def reach_outside(self, level: float) -> float | None:
        """The same for changes outside of the unchanged ops; None where that part is
        not known.
        """
        if len(self.tests) < 2:
            return None
        return self.tests[1].reach(level / len(self.tests))


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
    runs = [run for run in baseline.runs if name in run.side.metrics]
    base = [run.side.metrics[name] for run in runs]
    new = [run.side.metrics[name] for run in candidates]
    nature = nature_asked(asked, candidates[0].side)
    sides = _Sides(runs, candidates, nature, in_turns=baseline.in_turns)

    error = _error(name, candidates, nature)
    raw = sides.judged(on_scale(base, nature), on_scale(new, nature), error, first)
    tests: tuple[Surprise, ...] = (raw,)
    machine = None
    if name == STEP_TIME:
        machine = speeds(baseline.typical(), runs, candidates)
    if machine is not None:
        tests = sides.at_equal_speed(machine, error, first / 2)
    if machine is not None and baseline.in_turns:
        # both saw the same machine, so ops that are all slower are no accident
        tests = (raw, tests[1])
        machine = None

    present = sides.by_level(base)[-1]
    allowed = limit_on_scale(asked.limit, asked.change, middle_of(present), nature)
    return GatedMetric(
        asked=asked,
        nature=nature,
        unit=candidates[0].side.units[name],
        base=tuple(present),
        value=middle_of(new),
        allowed=allowed,
        raw=raw,
        tests=tests,
        machine=machine,
        runs=len(runs),
        in_turns=baseline.in_turns,
    )


def _error(name: str, candidates: Sequence[Snapshot], nature: Nature) -> float:
    """The standard error of a single candidate's value, on the metric's scale."""
    if len(candidates) > 1:
        return 0.0

    (only,) = candidates
    error = only.errors.get(name, 0.0)
    if nature.by_factor:
        return error / max(only.side.metrics[name], _LEAST)
    return error


class _Sides(msgspec.Struct, frozen=True):
    """The runs on both sides of one metric."""

    runs: Sequence[Snapshot]
    """Of the baseline."""
    candidates: Sequence[Snapshot]
    nature: Nature
    in_turns: bool

    def judged(
        self,
        base: Sequence[float],
        new: Sequence[float],
        error: float,
        level: float,
    ) -> Surprise:
        """base, new: a value of each run on the metric's scale."""
        worse = self.nature.worse
        groups = [turned(group, worse) for group in self.by_level(base)]
        sample = Sample(
            groups=tuple(groups),
            new=turned(new, worse),
            error=error,
            both=worse == "both",
        )
        if self.in_turns and not self.nature.exact and len(new) == len(groups[-1]):
            return SurpriseInTurns(sample, self.nature, level)
        return Surprise(sample, self.nature, level)

    def at_equal_speed(
        self, machine: Speeds, error: float, level: float
    ) -> tuple[Surprise, Surprise]:
        """The step time by the median op, and by all unchanged ops."""
        by_median_op = self.judged(
            _step_times(self.runs, machine.base),
            _step_times(self.candidates, machine.new),
            error,
            level,
        )

        before = _outside(self.runs, machine.base)
        after = _outside(self.candidates, machine.new)
        outside_error = after[0][1] if len(self.candidates) == 1 else 0.0
        by_all_ops = self.judged(
            [log(ms) for ms, _ in before],
            [log(ms) for ms, _ in after],
            outside_error,
            level,
        )
        return by_median_op, by_all_ops

    def by_level(self, values: Sequence[float]) -> list[list[float]]:
        """A value of each run of the baseline, the runs of one level together, the
        present one last.
        """
        of_runs = zip(self.runs, values, strict=True)
        found = listed((run.level, value) for run, value in of_runs)
        return [found[level] for level in sorted(found)]


def _step_times(runs: Sequence[Snapshot], machine: Sequence[Speed]) -> list[float]:
    """Logarithms of the step times, at the speed of the median op."""
    return [
        log(run.side.metrics[STEP_TIME]) - speed.median_op
        for run, speed in zip(runs, machine, strict=True)
    ]


def _outside(
    runs: Sequence[Snapshot], machine: Sequence[Speed]
) -> list[tuple[float, float]]:
    """Of each run what `outside_ms` says."""
    return [outside_ms(run, speed) for run, speed in zip(runs, machine, strict=True)]
