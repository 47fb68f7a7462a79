"""Limits against the baseline: significant and over the limit fails; inconclusive
checks are reported as `cannot tell`.

All gated metrics share one promised rate of false alarms, by Holm's procedure. Metrics
that hardly scatter need little of it: all of them together get a tenth, times and
shares the rest. The step time is judged at equal speed of the machine, in two ways that
share its part evenly.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

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
from tfadvisor.comparison.gate.surprise import Surprise
from tfadvisor.comparison.statistics.ranks import first_level, levels, middle_of
from tfadvisor.comparison.statistics.spread import FEWEST_RUNS
from tfadvisor.report import Report
from tfadvisor.vocabulary import TimeClass

_OF_EXACT = 0.1
_OPS = "kernels_per_step"
_DISPATCHES = "dispatches_per_step"
_METRICS_OF_CALLS = frozenset(
    time_class.metric for time_class in TimeClass if time_class.label in NEED_CALLS
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
    for check in _judged(answerable, config, candidates, baseline):
        checks[check.name] = check
    return [checks[asked.metric] for asked in config.relative]


def _judged(
    answerable: Mapping[str, Relative],
    config: Config,
    candidates: Sequence[Snapshot],
    baseline: Baseline,
) -> Iterator[Check]:
    """Of metrics that both sides have, by Holm's procedure."""
    rate = config.false_alarm_rate
    weights = _weights(answerable, candidates[0])
    first = {name: first_level(name, weights, rate) for name in answerable}
    questions: dict[str, GatedMetric] = {}
    for name, asked in answerable.items():
        comparable = _like(name, candidates[0], baseline)
        questions[name] = ask(asked, candidates, comparable, first[name])

    p = {name: question.p() for name, question in questions.items()}
    judged = levels(p, weights, rate)
    for name, question in questions.items():
        yield _verdict(question, config.keep, judged[name], first[name])


def _unjudged(asked: Relative, baseline: Baseline) -> Check:
    """Without a comparable run: nothing to judge on a first run, no telling when runs
    are there but not comparable.
    """
    if baseline.refused:
        why = f"not comparable: {'; '.join(baseline.refused)}"
        return _no_check(asked, Outcome.CANNOT_TELL, why)
    return _no_check(asked, Outcome.NOT_APPLICABLE, "there is no baseline yet")


def _no_check(asked: Relative, outcome: Outcome, why: str) -> Check:
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
    if any(name not in candidate.side.metrics for candidate in candidates):
        outcome = Outcome.CANNOT_TELL if in_base else Outcome.NOT_APPLICABLE
        return _no_check(asked, outcome, _reason(name, reports))
    if not in_base:
        why = "the baseline does not hold it"
        return _no_check(asked, Outcome.NOT_APPLICABLE, why)
    if name in _METRICS_OF_CALLS:
        return _other_calls(asked, candidates[0], baseline)
    looks = _OWN_REASONS.get(name)
    return looks(asked, candidates) if looks is not None else None


def _reason(metric: str, reports: Sequence[Report]) -> str:
    """Why a report lacks it."""
    for report in reports:
        known = report.metrics.get(metric)
        if known is not None and known.reason:
            return known.reason
    return "this trace does not give it"


def _too_few_steps(asked: Relative, candidates: Sequence[Snapshot]) -> Check | None:
    if all(STEP_TIME in candidate.errors for candidate in candidates):
        return None
    why = "fewer than three steps count, which is too few to measure it"
    return _no_check(asked, Outcome.CANNOT_TELL, why)


def _no_usual_count(asked: Relative, candidates: Sequence[Snapshot]) -> Check | None:
    """A count that most steps share is a whole number, and compared exactly."""
    if all(run.side.metrics[asked.metric].is_integer() for run in candidates):
        return None
    why = "it is no whole number: steps or hosts differ in it"
    return _no_check(asked, Outcome.NOT_APPLICABLE, why)


def _other_calls(asked: Relative, first: Snapshot, baseline: Baseline) -> Check | None:
    if any(run.recorded_like(first) for run in baseline.runs):
        return None
    why = "calls of Python functions were recorded on one side only"
    return _no_check(asked, Outcome.NOT_APPLICABLE, why)


def _some_ops(asked: Relative, candidates: Sequence[Snapshot]) -> Check | None:
    first = candidates[0]
    on_cpu = first.key.devices.endswith("cpu")
    if not on_cpu or first.key.framework != "tensorflow":
        return _no_usual_count(asked, candidates)
    why = (
        "TensorFlow records only the ops of a CPU that have taken long of late, and so "
        "not the same in each run"
    )
    return _no_check(asked, Outcome.NOT_APPLICABLE, why)


_OWN_REASONS: Mapping[str, Callable[[Relative, Sequence[Snapshot]], Check | None]] = {
    STEP_TIME: _too_few_steps,
    _DISPATCHES: _no_usual_count,
    _OPS: _some_ops,
}
"""Why a metric that both sides have is not compared all the same."""


def _like(name: str, first: Snapshot, baseline: Baseline) -> Baseline:
    """The runs that a metric is compared with: where calls of Python functions count,
    those recorded like the new one.
    """
    if name not in _METRICS_OF_CALLS:
        return baseline
    like = tuple(run for run in baseline.runs if run.recorded_like(first))
    return replace(baseline, runs=like)


def _weights(answerable: Mapping[str, Relative], first: Snapshot) -> dict[str, float]:
    """Of the rate of false alarms, by metric."""
    exact = [
        name
        for name, asked in answerable.items()
        if nature_asked(asked, first.side).exact
    ]
    others = len(answerable) - len(exact)
    if not exact or not others:
        return dict.fromkeys(answerable, 1.0)

    weights = dict.fromkeys(answerable, (1 - _OF_EXACT) / others)
    weights |= dict.fromkeys(exact, _OF_EXACT / len(exact))
    return weights


def _verdict(metric: GatedMetric, keep: int, level: float, first: float) -> Check:
    outcome, why = _outcome(metric, keep, level)
    if metric.asked.level == "warn" and outcome is Outcome.FAIL:
        outcome = Outcome.WARN
    return Check(
        kind="relative",
        name=metric.asked.metric,
        level=metric.asked.level,
        outcome=outcome,
        message=why,
        unit=metric.unit,
        worse=metric.nature.worse,
        value=metric.value,
        base=middle_of(metric.base),
        limit=words.beyond(metric.base, metric.allowed, metric.nature),
        detectable=words.detectable(metric.base, metric.reach(first), metric.nature),
        detectable_outside=words.detectable(
            metric.base, metric.reach_outside(first), metric.nature
        ),
        p=metric.p(),
        runs=len(metric.base),
        line=metric.asked.line,
        improved=outcome is Outcome.PASS and metric.improved(level),
    )


def _outcome(metric: GatedMetric, keep: int, level: float) -> tuple[Outcome, str]:
    """The verdict and its sentence."""
    tell = words.Sentence(metric)
    over = [test for test in metric.tests if test.distance > metric.allowed]
    sure = [test for test in over if metric.significant(test, level)]
    if metric.raw.distance > metric.allowed:
        if sure:
            reach = sure[0].reach(level / len(metric.tests))
            return Outcome.FAIL, tell.failed(reach)
        if _is_far_above(metric):
            return Outcome.FAIL, tell.above_all()

    by_machine = _by_machine(metric, tell, over, sure, level)
    if by_machine is not None:
        return by_machine

    reach = metric.reach(level)
    too_coarse = reach > metric.allowed > 0
    if too_coarse and metric.tests[0].distance + reach > metric.allowed:
        outside = metric.reach_outside(level)
        more = _runs_that_help(metric, keep)
        return Outcome.CANNOT_TELL, tell.cannot_tell(reach, outside, more=more)

    significant = any(metric.significant(test, level) for test in metric.tests)
    return Outcome.PASS, tell.passed(significant=significant)


def _runs_that_help(metric: GatedMetric, keep: int) -> int:
    """Further runs of the baseline. keep: how many it holds."""
    wanted = FEWEST_RUNS if metric.tests[0].few else keep
    return max(wanted - metric.runs, 0)


def _is_far_above(metric: GatedMetric) -> bool:
    """Whether it is over the limit in every way, clear as measured, and a quarter above
    all of the baseline in one of the ways at equal speed: these scatter more than what
    is measured where ops are short, or few steps hold what others do not.
    """
    seen = (metric.raw, *metric.tests)
    if not all(test.distance > metric.allowed for test in seen):
        return False
    return metric.raw.is_clear and any(test.is_far for test in metric.tests)


def _by_machine(
    metric: GatedMetric,
    tell: words.Sentence,
    over: Sequence[Surprise],
    sure: Sequence[Surprise],
    level: float,
) -> tuple[Outcome, str] | None:
    """What the speed of the machine explains or hides; None where it does neither.
    over, sure: tests at equal speed that are over the limit, and significantly so.
    """
    machine = metric.machine
    if machine is None:
        return None

    factor = middle_of([speed.median_op for speed in machine.new])
    if sure and machine.within_what_was_seen():
        return Outcome.FAIL, tell.slower_at_equal_speed(sure[0].distance, factor)
    if sure:
        return Outcome.CANNOT_TELL, tell.faster_machine(sure[0].distance, factor)

    surprising = metric.raw.distance > metric.allowed and metric.raw.p() <= level
    if not surprising or over:
        return None
    steady = machine.steady()
    outcome = Outcome.FAIL if steady else Outcome.CANNOT_TELL
    return outcome, tell.slower_machine(factor, steady=steady)
