"""Limits against the baseline: significant and over the limit fails; inconclusive
checks are reported as `cannot tell`.

All gated metrics share one promised rate of false alarms, by Holm's procedure. Metrics
that hardly scatter need little of it: all of them together get a tenth, times and
shares the rest. The step time is judged at equal speed of the machine, in two ways that
share its part evenly.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from tfadvisor.comparison.baseline.snapshot import NEED_CALLS, Baseline, Snapshot
from tfadvisor.comparison.gate import words
from tfadvisor.comparison.gate.config import Config, Relative
from tfadvisor.comparison.gate.gated_metric import (
    STEP_TIME,
    GatedMetric,
    ask,
    nature_asked,
)
from tfadvisor.comparison.gate.result import Check, Outcome
from tfadvisor.comparison.side import middle_of
from tfadvisor.comparison.statistics.ranks import first_level, levels
from tfadvisor.comparison.statistics.spread import FEWEST_RUNS
from tfadvisor.report.model import Report
from tfadvisor.vocabulary import TimeClass

_OF_EXACT = 0.1
_OPS = "kernels_per_step"
_METRICS_OF_CALLS = frozenset(
    one.metric for one in TimeClass if one.label in NEED_CALLS
)


def check_relative(
    config: Config,
    reports: Sequence[Report],
    candidates: Sequence[Snapshot],
    baseline: Baseline,
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
    first = {
        name: first_level(name, weights, config.false_alarm_rate) for name in answerable
    }
    questions = {
        name: ask(asked, candidates, _like(name, candidates[0], baseline), first[name])
        for name, asked in answerable.items()
    }
    judged = levels(
        {name: one.p() for name, one in questions.items()},
        weights,
        config.false_alarm_rate,
    )
    for name, one in questions.items():
        checks[name] = _verdict(one, config.keep, judged[name], first[name])
    return [checks[asked.metric] for asked in config.relative]


def _unjudged(asked: Relative, baseline: Baseline) -> Check:
    """Without a comparable run: nothing to judge on a first run, no telling when runs
    are there but not comparable.
    """
    outcome = Outcome.CANNOT_TELL if baseline.refused else Outcome.NOT_APPLICABLE
    why = (
        "not comparable: " + "; ".join(baseline.refused)
        if baseline.refused
        else "there is no baseline yet"
    )
    return Check(
        "relative",
        asked.metric,
        asked.level,
        outcome,
        f"{asked.metric}: {why}.",
        line=asked.line,
    )


def _absent(
    asked: Relative,
    reports: Sequence[Report],
    candidates: Sequence[Snapshot],
    baseline: Baseline,
) -> Check | None:
    """The check of a metric that a side lacks; None when both have it."""
    name = asked.metric
    in_base = any(name in run.side.metrics for run in baseline.present())
    if any(name not in one.side.metrics for one in candidates):
        found = [report.metrics.get(name) for report in reports]
        reason = next(
            (one.reason for one in found if one is not None and one.reason),
            "this trace does not give it",
        )
        outcome = Outcome.CANNOT_TELL if in_base else Outcome.NOT_APPLICABLE
    elif not in_base:
        outcome, reason = Outcome.NOT_APPLICABLE, "the baseline does not hold it"
    elif name == STEP_TIME and any(name not in one.errors for one in candidates):
        outcome, reason = (
            Outcome.CANNOT_TELL,
            "fewer than three steps count, which is too few to measure it",
        )
    elif name in _METRICS_OF_CALLS and not any(
        run.recorded_like(candidates[0]) for run in baseline.runs
    ):
        outcome, reason = (
            Outcome.NOT_APPLICABLE,
            "calls of Python functions were recorded on one side only",
        )
    elif name == _OPS and (
        candidates[0].key.framework,
        candidates[0].key.devices[-3:],
    ) == ("tensorflow", "cpu"):
        outcome = Outcome.NOT_APPLICABLE
        reason = (
            "TensorFlow records only the ops of a CPU that have taken long of late, "
            "and so not the same in each run"
        )
    else:
        return None
    return Check(
        "relative", name, asked.level, outcome, f"{name}: {reason}.", line=asked.line
    )


def _like(name: str, first: Snapshot, baseline: Baseline) -> Baseline:
    """The runs that a metric is compared with: where calls of Python functions count,
    those recorded like the new one.
    """
    if name not in _METRICS_OF_CALLS:
        return baseline
    return replace(
        baseline, runs=tuple(run for run in baseline.runs if run.recorded_like(first))
    )


def _weights(answerable: Mapping[str, Relative], first: Snapshot) -> dict[str, float]:
    exact = {
        name: nature_asked(asked, first.side).exact
        for name, asked in answerable.items()
    }
    number = sum(exact.values())
    if number in (0, len(exact)):
        return dict.fromkeys(exact, 1.0)
    return {
        name: _OF_EXACT / number if one else (1 - _OF_EXACT) / (len(exact) - number)
        for name, one in exact.items()
    }


def _verdict(one: GatedMetric, keep: int, level: float, first: float) -> Check:
    outcome, why = _outcome(one, keep, level)
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
        detectable=words.detectable(one.base, one.reach(first), one.nature),
        detectable_outside=words.detectable(
            one.base, one.reach_outside(first), one.nature
        ),
        p=one.p(),
        runs=len(one.base),
        line=one.asked.line,
        improved=outcome is Outcome.PASS and one.improved(level),
    )


def _outcome(one: GatedMetric, keep: int, level: float) -> tuple[Outcome, str]:
    """The verdict and its sentence."""
    tell = words.Sentence(one)
    over_raw = one.raw.distance > one.allowed
    over = [test for test in one.tests if test.distance > one.allowed]
    sure = [test for test in over if one.significant(test, level)]
    if over_raw and sure:
        return Outcome.FAIL, tell.failed(sure[0].reach(level / len(one.tests)))
    if one.machine is not None:
        factor = middle_of([speed.median_op for speed in one.machine.new])
        if sure and one.machine.within_what_was_seen():
            return Outcome.FAIL, tell.slower_at_equal_speed(sure[0].distance, factor)
        if over_raw and one.raw.p() <= level and not over:
            steady = one.machine.steady()
            return (
                Outcome.FAIL if steady else Outcome.CANNOT_TELL
            ), tell.slower_machine(factor, steady=steady)
        if sure:
            return Outcome.CANNOT_TELL, tell.faster_machine(sure[0].distance, factor)
    reach = one.reach(level)
    if reach > one.allowed > 0 and one.tests[0].distance + reach > one.allowed:
        wanted = FEWEST_RUNS if one.tests[0].few else keep
        more = max(wanted - one.runs, 0)
        return Outcome.CANNOT_TELL, tell.cannot_tell(
            reach, one.reach_outside(level), more=more
        )
    return Outcome.PASS, tell.passed(
        significant=any(one.significant(test, level) for test in one.tests)
    )
