"""Budgets, baseline limits and rules to one verdict, with the explanation of what
failed.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import date
from enum import Enum

from msgspec.structs import replace

from tfadvisor.advice.findings import Finding
from tfadvisor.comparison.baseline.snapshot import NEED_CALLS, Baseline, Snapshot
from tfadvisor.comparison.change import Comparison
from tfadvisor.comparison.gate.config import Budget, Config, Relative
from tfadvisor.comparison.gate.gated_metric import STEP_TIME, ask
from tfadvisor.comparison.gate.relative import check_relative
from tfadvisor.comparison.gate.result import Check, Gated, GateResult, Outcome
from tfadvisor.comparison.side import KnownFinding, found_of
from tfadvisor.comparison.split import compare_sides
from tfadvisor.comparison.statistics.ranks import middle_of
from tfadvisor.report import MetricValue, Report
from tfadvisor.units import Unit, in_words

_BETTER = "It is better than noise explains"
_NEW_BASELINE = ": `tfadvisor baseline accept` makes it what later runs are held to."
FAILED, BROKEN, CANNOT_TELL = 1, 5, 4
_MUCH_SHORTER = 0.9
_MAY_BE_IGNORED = (Outcome.FAIL, Outcome.CANNOT_TELL, Outcome.WARN)


def judge(
    config: Config,
    reports: Sequence[Report],
    candidates: Sequence[Snapshot],
    baseline: Baseline,
    today: date,
) -> GateResult:
    """reports and candidates: of the same traces, the gated one first. today: for
    entries that expire.
    """
    broken = {rule.name: rule.error for report in reports for rule in report.broken}
    checks = [check_budget(budget, reports) for budget in config.budgets]
    checks += check_relative(config, reports, candidates, baseline)
    shorter = any(map(_is_much_shorter, checks))
    checks += check_rules(config, reports[0], candidates, baseline, shorter=shorter)
    checks = [_broken(check, broken) for check in checks]
    checks, notices = _without_ignored(config, checks, today)

    comparable = not baseline.refused
    outcome, code = _whole(config, checks, bool(broken), comparable)
    if outcome is not Outcome.CANNOT_TELL:
        notices += _untold(checks)
    notices += _improvements(checks, baseline)
    notices += [f"{name}: {error}" for name, error in broken.items()]
    return GateResult(
        outcome=outcome,
        exit_code=code,
        gated=_gated(reports[0], candidates),
        config=config.file,
        false_alarm_rate=config.false_alarm_rate,
        runs=len(baseline.present()),
        checks=tuple(checks),
        notices=(*baseline.notices, *notices),
        differences=baseline.differences,
        comparison=_comparison(candidates, baseline),
    )


def _gated(report: Report, candidates: Sequence[Snapshot]) -> Gated:
    first = candidates[0]
    return Gated(
        model=first.key.model,
        name=first.side.name,
        path=report.run.path,
        framework=first.key.framework,
        devices=first.key.devices,
        hosts=first.key.hosts,
        candidates=len(candidates),
    )


def _comparison(
    candidates: Sequence[Snapshot], baseline: Baseline
) -> Comparison | None:
    """What explains the change: of several candidates the middle one, beside the
    typical run.
    """
    if not baseline.runs:
        return None

    by_step_time = sorted(candidates, key=lambda candidate: candidate.side.median_ms)
    middle = by_step_time[(len(candidates) - 1) // 2]
    return compare_sides(
        baseline.typical().side,
        middle.side,
        differences=baseline.differences,
    )


def _untold(checks: Sequence[Check]) -> list[str]:
    return [
        f"Cannot tell: {check.message}"
        for check in checks
        if check.outcome is Outcome.CANNOT_TELL
    ]


def _improvements(checks: Sequence[Check], baseline: Baseline) -> list[str]:
    what_now = "." if baseline.in_turns else _NEW_BASELINE
    return [
        f"{check.message} {_BETTER}{what_now}" for check in checks if check.improved
    ]


def _broken(check: Check, broken: dict[str, str]) -> Check:
    """A check of a metric that failed to be measured is broken, whatever it
    would say.
    """
    if check.kind == "rule" or check.name not in broken:
        return check
    return replace(
        check, outcome=Outcome.BROKEN, message=f"{check.name}: {broken[check.name]}"
    )


def _without_ignored(
    config: Config, checks: Sequence[Check], today: date
) -> tuple[list[Check], list[str]]:
    """Checks with what is ignored taken back, and what is to be said about it."""
    found: list[Check] = []
    notices: list[str] = []
    for check in checks:
        entry = config.entry_about(check.name)
        if entry is None or check.outcome not in _MAY_BE_IGNORED:
            found.append(check)
        elif today <= entry.expires:
            why = f"{check.message} Ignored until {entry.expires}: {entry.reason}"
            found.append(replace(check, outcome=Outcome.IGNORED, message=why))
        else:
            found.append(check)
            notices.append(
                f"{check.name} was ignored until {entry.expires} ({entry.reason}); "
                "the gate judges it again."
            )
    return found, notices


def _whole(
    config: Config, checks: Sequence[Check], any_broken: bool, comparable: bool
) -> tuple[Outcome, int]:
    """The outcome of the whole gate and its exit code: a failure first, then what
    broke, then what is inconclusive.

    Too few or too noisy runs pass with a notice, since they would lock a team's first
    days. A baseline that may not be compared with is another matter: nothing is gated
    until a person looks.
    """
    outcomes = {check.outcome for check in checks}
    if Outcome.FAIL in outcomes:
        return Outcome.FAIL, FAILED
    if any_broken:
        return Outcome.BROKEN, BROKEN

    policy = config.on_cannot_tell if comparable else config.on_not_comparable
    if any(_is_open(check) for check in checks):
        return Outcome.CANNOT_TELL, CANNOT_TELL if policy == "fail" else 0
    if Outcome.WARN in outcomes:
        return Outcome.WARN, 0
    return Outcome.PASS, 0


def _is_open(check: Check) -> bool:
    return check.outcome is Outcome.CANNOT_TELL and check.level == "error"


def _is_much_shorter(check: Check) -> bool:
    """Whether it is of a step time, a tenth below that of the baseline."""
    is_known = check.value is not None and check.base is not None
    if check.name != STEP_TIME or not is_known:
        return False
    return (check.value or 0.0) <= _MUCH_SHORTER * (check.base or 0.0)


# Absolute limits.


def check_budget(budget: Budget, reports: Sequence[Report]) -> Check:
    """Of several reports, the middle value counts."""
    known: list[MetricValue] = []
    for report in reports:
        if budget.metric in report.metrics:
            known.append(report.metrics[budget.metric])

    values = [metric.value for metric in known if metric.value is not None]
    if not values:
        return _no_budget(budget, known)
    return _within_budget(budget, middle_of(values), Unit(known[0].unit))


def _no_budget(budget: Budget, asked: Sequence[MetricValue]) -> Check:
    """Of a metric that no trace gives."""
    reasons = [metric.reason for metric in asked if metric.reason]
    why = reasons[0] if reasons else "this version does not measure it"
    return Check(
        "budget",
        budget.metric,
        budget.level,
        Outcome.NOT_APPLICABLE,
        f"{budget.metric}: {why}.",
        line=budget.line,
    )


def _within_budget(budget: Budget, value: float, unit: Unit) -> Check:
    over = budget.at_most is not None and value > budget.at_most
    under = budget.at_least is not None and value < budget.at_least
    by_least = under or budget.at_most is None
    limit = budget.at_least if by_least else budget.at_most
    assert limit is not None

    words = f"{budget.metric} is {in_words(value, unit)}"
    outcome = Outcome.PASS
    if over or under:
        side = "over" if over else "under"
        words += f", {side} the budget of {in_words(limit, unit)}"
        outcome = Outcome.FAIL if budget.level == "error" else Outcome.WARN
    return Check(
        kind="budget",
        name=budget.metric,
        level=budget.level,
        outcome=outcome,
        message=f"{words}.",
        unit=unit.value,
        worse="down" if by_least else "up",
        value=value,
        limit=limit,
        line=budget.line,
    )


# Findings of the report at the level that the configuration gives their rules, and new
# ones at a level of their own.


def check_rules(
    config: Config,
    report: Report,
    candidates: Sequence[Snapshot] = (),
    baseline: Baseline | None = None,
    *,
    shorter: bool = False,
) -> list[Check]:
    """One check a finding; findings whose level is off make none. New ones fail from a
    severity on, known ones are debt. shorter: whether the step is much shorter than in
    the baseline: what was hidden is seen then, and nothing got worse.
    """
    found: list[Check] = []
    for finding in report.findings:
        level, line = config.rule_level(finding.rule_id, finding.severity.value)
        if level == "off":
            continue

        news = News.UNKNOWN
        if baseline is not None and finding.category != "capture":
            news = news_of(finding, candidates, baseline, config)
        fails = config.fails_when_new(finding.rule_id, finding.severity)
        if news is News.NEW and fails and not shorter:
            level = "error"
        found.append(_check(finding, level, line, news))
    return found


def _check(finding: Finding, level: str, line: int, news: News) -> Check:
    place = finding.locations[0] if finding.locations else None
    fixes = "".join(f" {fix.do}" for fix in finding.fixes[:1])
    return Check(
        kind="rule",
        name=finding.rule_id,
        level=level,
        outcome=Outcome.FAIL if level == "error" else Outcome.WARN,
        message=f"{news.value}{finding.title}. {finding.summary}{fixes}",
        file=place.file if place else "",
        file_line=place.line if place else None,
        line=line,
        fixes=finding.fixes,
        news=news.name.lower(),
    )


# Whether a finding is known from the baseline, new, or new only because a number lies
# on a rule's threshold.

_REMEMBERED = 10
"""Runs of the baseline, the last ones, in which a finding must be to be known: one that
stays away so long was mended.
"""


class News(Enum):
    """What a finding is against the baseline, as the first words of its check."""

    UNKNOWN = ""
    KNOWN = "Debt: "
    NEW = "New: "
    ON_THE_EDGE = "New, but no number that it rests on moved beyond noise: "
    RECORDED_OTHERWISE = (
        "Not compared, because calls of Python functions were recorded on one side "
        "only: "
    )


def news_of(
    finding: Finding, candidates: Sequence[Snapshot], baseline: Baseline, config: Config
) -> News:
    """By its cause: the class of time, the place and the share, whichever rule found
    it. A new one must be in all candidates.

    What calls of Python functions tell apart is compared with runs that were recorded
    like the candidates.
    """
    if not baseline.runs:
        return News.UNKNOWN

    like = tuple(run for run in baseline.runs if run.recorded_like(candidates[0]))
    told_apart = _needs_calls(finding) and not like
    alike = NEED_CALLS if told_apart else ()
    found = found_of(finding)
    if any(_has(run, found, alike) for run in baseline.runs[-_REMEMBERED:]):
        return News.KNOWN
    if told_apart:
        return News.RECORDED_OTHERWISE

    against = replace(baseline, runs=like or baseline.runs)
    if _is_new(finding, candidates, against, config):
        return News.NEW
    return News.ON_THE_EDGE


def _needs_calls(finding: Finding) -> bool:
    """Whether only calls of Python functions tell its classes of time apart."""
    return not finding.claims or not NEED_CALLS.isdisjoint(finding.claims)


def _is_new(
    finding: Finding, candidates: Sequence[Snapshot], baseline: Baseline, config: Config
) -> bool:
    """Whether it is in all candidates, and a number that it rests on moved."""
    found = found_of(finding)
    if not all(_has(run, found) for run in candidates):
        return False
    moved = _moved_of(finding, candidates, baseline, config)
    return not moved or any(moved)


def _has(run: Snapshot, found: KnownFinding, alike: Collection[str] = ()) -> bool:
    """Whether a run has a finding of the same cause."""
    return any(found.same_cause(finding, alike) for finding in run.side.findings)


def _moved_of(
    finding: Finding, candidates: Sequence[Snapshot], baseline: Baseline, config: Config
) -> list[bool]:
    """Of each metric that it rests on and both sides have: whether it moved beyond
    noise.
    """
    metrics = [evidence.metric for evidence in finding.evidence if evidence.metric]
    moved: list[bool] = []
    for metric in metrics:
        has_moved = _moved(metric, candidates, baseline, config, len(metrics))
        if has_moved is not None:
            moved.append(has_moved)
    return moved


def _moved(
    metric: str,
    candidates: Sequence[Snapshot],
    baseline: Baseline,
    config: Config,
    among: int,
) -> bool | None:
    """Whether a metric moved beyond noise, as the gate asks it of metrics; None where a
    side lacks it.

    among: how many metrics share the rate of false alarms. While runs are few, three of
    the spreads believed beforehand count.
    """
    runs = tuple(run for run in baseline.runs if metric in run.side.metrics)
    new = [candidate for candidate in candidates if metric in candidate.side.metrics]
    if not runs or not new:
        return None

    level = config.false_alarm_rate / among
    any_change = Relative(metric, None, 0.0, None, "error", 0)
    raw = ask(any_change, new, replace(baseline, runs=runs), level).raw
    return raw.unusual if raw.few else raw.p() <= level
