"""Limits against the baseline: significant and over the limit fails; what cannot be told is said to be so.

All gated metrics share one promised rate of false alarms, by Holm's procedure. Metrics that hardly scatter need little
of it: all of them together get a tenth, times and shares the rest. The step time is judged at equal speed of the machine,
in two ways that share its part evenly.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import log

from tfadvisor.comparison.side import middle_of
from tfadvisor.gate import words
from tfadvisor.gate.baseline import Baseline
from tfadvisor.gate.config import Config, Relative
from tfadvisor.gate.equal_speed import Speeds, outside_ms, speeds
from tfadvisor.gate.evidence import Evidence, Sample, limit_on_scale, on_scale, turned
from tfadvisor.gate.holm import first_level, levels
from tfadvisor.gate.nature import Nature, nature_of
from tfadvisor.gate.snapshot import Snapshot
from tfadvisor.gate.verdict import Check, Outcome
from tfadvisor.record import record, replace
from tfadvisor.report_model import Report

_OF_EXACT = 0.1
_STEP_TIME = "step_time_ms"


@record
class Question:
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
    raw: Evidence
    tests: tuple[Evidence, ...]
    machine: Speeds | None

    def p(self) -> float:
        """The smallest of the tests' probabilities, for as many tests."""
        return min(len(self.tests) * min(test.p() for test in self.tests), 1.0)

    def significant(self, test: Evidence, level: float) -> bool:
        """Whether one test is, at its part of the level."""
        return test.p() <= level / len(self.tests)

    def reach(self, level: float) -> float:
        """The distance from which on any change is seen, wherever in the step it is."""
        return self.tests[0].reach(level / len(self.tests))

    def reach_outside(self, level: float) -> float | None:
        """The same for changes outside of the unchanged ops; None where it is not told apart."""
        return self.tests[1].reach(level / len(self.tests)) if len(self.tests) > 1 else None


def check_relative(
    config: Config, reports: Sequence[Report], candidates: Sequence[Snapshot], baseline: Baseline
) -> list[Check]:
    """One check a gated metric, in the configuration's order."""
    if not baseline.runs:
        return [_unjudged(asked, baseline) for asked in config.relative]
    answerable: dict[str, Relative] = {}
    checks: dict[str, Check] = {}
    for asked in config.relative:
        absent = _absent(asked, reports, candidates, baseline)
        if absent is None:
            answerable[asked.metric] = asked
        else:
            checks[asked.metric] = absent
    weights = _weights(answerable, candidates[0])
    questions = {
        name: _question(asked, candidates, baseline, config, first_level(name, weights, config.false_alarm_rate))
        for name, asked in answerable.items()
    }
    judged = levels({name: one.p() for name, one in questions.items()}, weights, config.false_alarm_rate)
    for name, one in questions.items():
        first = first_level(name, weights, config.false_alarm_rate)
        checks[name] = _verdict(one, config, judged[name], first)
    return [checks[asked.metric] for asked in config.relative]


def _unjudged(asked: Relative, baseline: Baseline) -> Check:
    """Without a comparable run: nothing to judge on a first run, no telling when runs are there but not comparable."""
    outcome = Outcome.CANNOT_TELL if baseline.refused else Outcome.NOT_APPLICABLE
    why = "not comparable: " + "; ".join(baseline.refused) if baseline.refused else "there is no baseline yet"
    return Check("relative", asked.metric, asked.level, outcome, f"{asked.metric}: {why}.", line=asked.line)


def _absent(
    asked: Relative, reports: Sequence[Report], candidates: Sequence[Snapshot], baseline: Baseline
) -> Check | None:
    """The check of a metric that a side lacks; None when both have it."""
    name = asked.metric
    in_base = any(name in run.side.metrics for run in baseline.levels()[-1])
    if any(name not in one.side.metrics for one in candidates):
        found = [report.metrics.get(name) for report in reports]
        reason = next((one.reason for one in found if one is not None and one.reason), "this trace does not give it")
        outcome = Outcome.CANNOT_TELL if in_base else Outcome.NOT_APPLICABLE
    elif not in_base:
        outcome, reason = Outcome.NOT_APPLICABLE, "the baseline does not have it"
    elif name == _STEP_TIME and any(name not in one.errors for one in candidates):
        outcome, reason = Outcome.CANNOT_TELL, "fewer than three steps count, which is too few to know it"
    else:
        return None
    return Check("relative", name, asked.level, outcome, f"{name}: {reason}.", line=asked.line)


def _weights(answerable: Mapping[str, Relative], first: Snapshot) -> dict[str, float]:
    exact = {name: _nature(asked, first.side.units[name]).exact for name, asked in answerable.items()}
    number = sum(exact.values())
    if number in (0, len(exact)):
        return dict.fromkeys(exact, 1.0)
    return {name: _OF_EXACT / number if one else (1 - _OF_EXACT) / (len(exact) - number) for name, one in exact.items()}


def _nature(asked: Relative, unit: str) -> Nature:
    nature = nature_of(asked.metric, unit, asked.worse)
    return nature if asked.floor is None else replace(nature, floor=asked.floor)


def _question(
    asked: Relative, candidates: Sequence[Snapshot], baseline: Baseline, config: Config, first: float
) -> Question:
    name = asked.metric
    unit = candidates[0].side.units[name]
    nature = _nature(asked, unit)
    runs = [run for run in baseline.runs if name in run.side.metrics]
    groups = [[run.side.metrics[name] for run in level] for level in baseline.levels(runs)]
    new = [one.side.metrics[name] for one in candidates]
    error = candidates[0].errors.get(name, 0.0) if len(candidates) == 1 else 0.0
    error = error / max(new[0], 1e-12) if nature.by_factor else error
    scaled = [on_scale(group, nature) for group in groups]
    scaled_new = on_scale(new, nature)
    raw = _evidence(scaled, scaled_new, error, nature, config, first)
    machine = speeds(baseline.typical(), runs, candidates) if name == _STEP_TIME else None
    tests = (raw,) if machine is None else _at_equal_speed(runs, candidates, machine, error, nature, config, first)
    centre = middle_of(groups[-1])
    return Question(
        asked=asked,
        nature=nature,
        unit=unit,
        base=tuple(groups[-1]),
        value=middle_of(new),
        allowed=limit_on_scale(asked.limit, asked.change, centre, nature),
        raw=raw,
        tests=tests,
        machine=machine,
    )


def _at_equal_speed(
    runs: Sequence[Snapshot],
    candidates: Sequence[Snapshot],
    machine: Speeds,
    error: float,
    nature: Nature,
    config: Config,
    first: float,
) -> tuple[Evidence, Evidence]:
    """The step time by the median op, and by all unchanged ops."""
    by_median: dict[int, list[float]] = {}
    by_all: dict[int, list[float]] = {}
    for run, speed in zip(runs, machine.base, strict=True):
        by_median.setdefault(run.level, []).append(log(run.side.metrics[_STEP_TIME]) - speed.median_op)
        by_all.setdefault(run.level, []).append(log(outside_ms(run, speed)[0]))
    new = [
        log(one.side.metrics[_STEP_TIME]) - speed.median_op for one, speed in zip(candidates, machine.new, strict=True)
    ]
    outside = [outside_ms(one, speed) for one, speed in zip(candidates, machine.new, strict=True)]
    outside_error = outside[0][1] if len(candidates) == 1 else 0.0
    half = first / 2
    return (
        _evidence(_in_order(by_median), new, error, nature, config, half),
        _evidence(_in_order(by_all), [log(ms) for ms, _ in outside], outside_error, nature, config, half),
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
) -> Evidence:
    sample = Sample(
        groups=tuple(turned(group, nature.worse) for group in groups),
        new=turned(new, nature.worse),
        error=error,
        both=nature.worse == "both",
    )
    return Evidence(sample, nature, config.fewest_runs, first)


def _verdict(one: Question, config: Config, level: float, first: float) -> Check:
    outcome, why = _outcome(one, config, level)
    if one.asked.level == "warn" and outcome is Outcome.FAIL:
        outcome = Outcome.WARN
    return Check(
        kind="relative",
        name=one.asked.metric,
        level=one.asked.level,
        outcome=outcome,
        message=why,
        unit=one.unit,
        worse=one.nature.worse,
        value=one.value,
        base=middle_of(one.base),
        limit=words.beyond(one.base, one.allowed, one.nature),
        expected=words.expected(one.base, one.reach(level), one.nature),
        detectable=words.detectable(one.base, one.reach(first), one.nature),
        detectable_outside=words.detectable(one.base, one.reach_outside(first), one.nature),
        p=one.p(),
        runs=len(one.base),
        line=one.asked.line,
    )


def _outcome(one: Question, config: Config, level: float) -> tuple[Outcome, str]:
    """The verdict and its sentence."""
    tell = words.Sentence(one.asked, one.nature, one.unit, one.base, one.value, one.allowed)
    over_raw = one.raw.distance > one.allowed
    over = [test for test in one.tests if test.distance > one.allowed]
    sure = [test for test in over if one.significant(test, level)]
    if over_raw and sure:
        return Outcome.FAIL, tell.failed(sure[0].reach(level / len(one.tests)))
    if one.machine is not None:
        factor = middle_of([speed.median_op for speed in one.machine.new])
        if over_raw and one.raw.p() <= level and not over:
            steady = one.machine.steady(config.fewest_runs) or config.on_slower_machine == "fail"
            return (Outcome.FAIL if steady else Outcome.CANNOT_TELL), tell.slower_machine(factor, steady=steady)
        if sure:
            return Outcome.CANNOT_TELL, tell.faster_machine(sure[0].distance, factor)
    reach = one.reach(level)
    if reach > one.allowed > 0 and one.tests[0].distance + reach > one.allowed:
        assumed = one.tests[0].assumed
        outside = one.reach_outside(level)
        return Outcome.CANNOT_TELL, tell.cannot_tell(reach, outside, assumed=assumed, runs_needed=config.fewest_runs)
    return Outcome.PASS, tell.passed(significant=any(one.significant(test, level) for test in one.tests))
