"""One gated metric, made ready to be judged: what the baseline and the new runs say, as measured and at equal speed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import log

import msgspec
from msgspec.structs import replace

from tfadvisor.comparison.side import Side, middle_of
from tfadvisor.gate.baseline.comparable_runs import Baseline
from tfadvisor.gate.baseline.snapshot import Snapshot
from tfadvisor.gate.config.resolved import Config, Relative
from tfadvisor.gate.judging.equal_speed import Speeds, outside_ms, speeds
from tfadvisor.gate.judging.in_turns import SurpriseInTurns
from tfadvisor.gate.judging.surprise import Sample, Surprise, limit_on_scale, on_scale, turned
from tfadvisor.statistics.metric_traits import Nature, nature_of

STEP_TIME = "step_time_ms"


class GatedMetric(msgspec.Struct, frozen=True):
    """A gated metric with everything that its verdict needs.

    raw: as measured. tests: what decides; as measured, or at equal speed of the machine (by the median op, by all
    unchanged ops) where that is known. allowed: the limit on the scale.
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
        """Whether it moved for the better by more than the limit and more than noise explains, as measured and at equal
        speed of the machine.
        """
        if self.nature.worse == "both":
            return False
        seen = [self.raw, *self.tests]
        return all(-one.distance > self.allowed and one.p_better() <= level for one in seen)

    def reach(self, level: float) -> float:
        """The smallest change that is seen, wherever in the step it is."""
        return self.tests[0].reach(level / len(self.tests))

    def reach_after(self, level: float, runs: int) -> float:
        """The same after so many more runs like those of the baseline."""
        return self.tests[0].reach_after(level / len(self.tests), runs)

    def reach_outside(self, level: float) -> float | None:
        """The same for changes outside of the unchanged ops; None where that part is not known."""
        return self.tests[1].reach(level / len(self.tests)) if len(self.tests) > 1 else None


def nature_asked(asked: Relative, side: Side) -> Nature:
    """The metric's nature as a new run's report declares it, as far as the configuration does not say otherwise."""
    nature = nature_of(side.units[asked.metric], side.traits[asked.metric], asked.worse)
    return nature if asked.floor is None else replace(nature, floor=asked.floor)


def ask(
    asked: Relative, candidates: Sequence[Snapshot], baseline: Baseline, config: Config, first: float
) -> GatedMetric:
    """Everything about one metric. first: the strictest level that Holm's procedure may ask of it."""
    name = asked.metric
    unit = candidates[0].side.units[name]
    nature = nature_asked(asked, candidates[0].side)
    runs = [run for run in baseline.runs if name in run.side.metrics]
    groups = [[run.side.metrics[name] for run in level] for level in baseline.levels(runs)]
    new = [one.side.metrics[name] for one in candidates]
    error = candidates[0].errors.get(name, 0.0) if len(candidates) == 1 else 0.0
    error = error / max(new[0], 1e-12) if nature.by_factor else error
    scaled = [on_scale(group, nature) for group in groups]
    scaled_new = on_scale(new, nature)
    raw = _evidence(scaled, scaled_new, error, nature, config, first, in_turns=baseline.in_turns)
    machine = speeds(baseline.typical(), runs, candidates) if name == STEP_TIME else None
    tests: tuple[Surprise, ...] = (raw,)
    if machine is not None:
        tests = _at_equal_speed(runs, candidates, machine, error, nature, config, first, in_turns=baseline.in_turns)
    if (
        machine is not None and baseline.in_turns
    ):  # both saw the same machine, so ops that are all slower are no accident
        tests, machine = (raw, tests[1]), None
    centre = middle_of(groups[-1])
    return GatedMetric(
        asked=asked,
        nature=nature,
        unit=unit,
        base=tuple(groups[-1]),
        value=middle_of(new),
        allowed=limit_on_scale(asked.limit, asked.change, centre, nature),
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
    nature: Nature,
    config: Config,
    first: float,
    *,
    in_turns: bool,
) -> tuple[Surprise, Surprise]:
    """The step time by the median op, and by all unchanged ops."""
    by_median: dict[int, list[float]] = {}
    by_all: dict[int, list[float]] = {}
    for run, speed in zip(runs, machine.base, strict=True):
        by_median.setdefault(run.level, []).append(log(run.side.metrics[STEP_TIME]) - speed.median_op)
        by_all.setdefault(run.level, []).append(log(outside_ms(run, speed)[0]))
    new = [
        log(one.side.metrics[STEP_TIME]) - speed.median_op for one, speed in zip(candidates, machine.new, strict=True)
    ]
    outside = [outside_ms(one, speed) for one, speed in zip(candidates, machine.new, strict=True)]
    outside_error = outside[0][1] if len(candidates) == 1 else 0.0
    half = first / 2
    return (
        _evidence(_in_order(by_median), new, error, nature, config, half, in_turns=in_turns),
        _evidence(
            _in_order(by_all), [log(ms) for ms, _ in outside], outside_error, nature, config, half, in_turns=in_turns
        ),
    )


def _in_order(groups: Mapping[int, list[float]]) -> list[list[float]]:
    return [groups[level] for level in sorted(groups)]


def _evidence(
    groups: Sequence[Sequence[float]],
    new: Sequence[float],
    error: float,
    nature: Nature,
    config: Config,
    first: float,
    *,
    in_turns: bool,
) -> Surprise:
    sample = Sample(
        groups=tuple(turned(group, nature.worse) for group in groups),
        new=turned(new, nature.worse),
        error=error,
        both=nature.worse == "both",
    )
    if in_turns and not nature.exact and len(sample.new) == len(sample.groups[-1]):
        return SurpriseInTurns(sample, nature, config.fewest_runs, first)
    return Surprise(sample, nature, config.fewest_runs, first)
