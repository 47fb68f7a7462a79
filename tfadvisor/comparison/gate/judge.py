"""Budgets, baseline limits and rules to one verdict, with the explanation of what
failed.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from enum import Enum

from msgspec.structs import replace

from tfadvisor.advice.findings import Finding
from tfadvisor.comparison.baseline.snapshot import NEED_CALLS, Baseline, Snapshot
from tfadvisor.comparison.gate.config import Budget, Config, Relative
from tfadvisor.comparison.gate.gated_metric import ask
from tfadvisor.comparison.gate.relative import check_relative
from tfadvisor.comparison.gate.result import Check, Gated, GateResult, Outcome
from tfadvisor.comparison.side import found_of, middle_of
from tfadvisor.comparison.split import compare_sides
from tfadvisor.report.model import Report
from tfadvisor.units import Unit, in_words

_BETTER = "It is better than noise explains"
_NEW_BASELINE = ": `tfadvisor baseline accept` makes it what later runs are held to."
FAILED, BROKEN, CANNOT_TELL = 1, 5, 4


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
    first = candidates[0]
    checks = [check_budget(budget, reports) for budget in config.budgets]
    checks += check_relative(config, reports, candidates, baseline)
    checks += check_rules(config, reports[0], candidates, baseline)
    broken = {one.name: one.error for report in reports for one in report.broken}
    checks = [_broken(check, broken) for check in checks]
    checks, told = _without_ignored(config, checks, today)
    outcome, code = _whole(
        config, checks, any_broken=bool(broken), comparable=not baseline.refused
    )
    if outcome is not Outcome.CANNOT_TELL:
        told += [
            f"Cannot tell: {check.message}"
            for check in checks
            if check.outcome is Outcome.CANNOT_TELL
        ]
    better = f"{_BETTER}{'.' if baseline.in_turns else _NEW_BASELINE}"
    told += [f"{check.message} {better}" for check in checks if check.improved]
    middle = sorted(candidates, key=lambda one: one.side.median_ms)[
        (len(candidates) - 1) // 2
    ]
    return GateResult(
        outcome=outcome,
        exit_code=code,
        gated=Gated(
            model=first.key.model,
            name=first.side.name,
            path=reports[0].run.path,
            framework=first.key.framework,
            devices=first.key.devices,
            hosts=first.key.hosts,
            candidates=len(candidates),
        ),
        config=config.file,
        false_alarm_rate=config.false_alarm_rate,
        runs=len(baseline.present()),
        checks=tuple(checks),
        notices=(
            *baseline.notices,
            *told,
            *(f"{name}: {error}" for name, error in broken.items()),
        ),
        differences=baseline.differences,
        comparison=compare_sides(
            baseline.typical().side, middle.side, differences=baseline.differences
        )
        if baseline.runs
        else None,
    )


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
    found, told = [], []
    for check in checks:
        entry = config.entry_about(check.name)
        if (
            check.outcome not in (Outcome.FAIL, Outcome.CANNOT_TELL, Outcome.WARN)
            or entry is None
        ):
            found.append(check)
        elif today <= entry.expires:
            why = f"{check.message} Ignored until {entry.expires}: {entry.reason}"
            found.append(replace(check, outcome=Outcome.IGNORED, message=why))
        else:
            found.append(check)
            told.append(
                f"{check.name} was ignored until {entry.expires} ({entry.reason}); "
                "the gate judges it again."
            )
    return found, told


def _whole(
    config: Config, checks: Sequence[Check], *, any_broken: bool, comparable: bool
) -> tuple[Outcome, int]:
    """The outcome of the whole gate and its exit code: a failure first, then what
    broke, then what is inconclusive.

    Too few or too noisy runs pass with a notice, since they would lock a team's first
    days. A baseline that may not be compared with is another matter: nothing is gated
    until a person looks.
    """
    policy = config.on_cannot_tell if comparable else config.on_not_comparable
    outcomes = {check.outcome for check in checks}
    untold = any(
        check.outcome is Outcome.CANNOT_TELL and check.level == "error"
        for check in checks
    )
    if Outcome.FAIL in outcomes:
        return Outcome.FAIL, FAILED
    if any_broken:
        return Outcome.BROKEN, BROKEN
    if untold and policy == "fail":
        return Outcome.CANNOT_TELL, CANNOT_TELL
    if Outcome.WARN in outcomes or (untold and policy == "warn"):
        return Outcome.WARN, 0
    return Outcome.PASS, 0


# Absolute limits.


def check_budget(budget: Budget, reports: Sequence[Report]) -> Check:
    """Of several reports, the middle value counts."""
    asked = [report.metrics.get(budget.metric) for report in reports]
    known = [one.value for one in asked if one is not None and one.value is not None]
    if not known:
        why = next(
            (one.reason for one in asked if one is not None and one.reason),
            "this version does not measure it",
        )
        why = f"{budget.metric}: {why}."
        return Check(
            "budget",
            budget.metric,
            budget.level,
            Outcome.NOT_APPLICABLE,
            why,
            line=budget.line,
        )
    value, unit = (
        middle_of(known),
        Unit(next(one.unit for one in asked if one is not None)),
    )
    over = budget.at_most is not None and value > budget.at_most
    under = budget.at_least is not None and value < budget.at_least
    limit = budget.at_least if under or budget.at_most is None else budget.at_most
    assert limit is not None
    words = f"{budget.metric} is {in_words(value, unit)}"
    if over or under:
        words += (
            f", {'over' if over else 'under'} the budget of {in_words(limit, unit)}"
        )
    outcome = (
        (Outcome.FAIL if budget.level == "error" else Outcome.WARN)
        if over or under
        else Outcome.PASS
    )
    return Check(
        kind="budget",
        name=budget.metric,
        level=budget.level,
        outcome=outcome,
        message=words + ".",
        unit=unit.value,
        worse="down" if under or budget.at_most is None else "up",
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
) -> list[Check]:
    """One check a finding; findings whose level is off make none. New ones fail from a
    severity on, known ones are debt.
    """
    found = []
    for finding in report.findings:
        level, line = config.rule_level(finding.rule_id, finding.severity.value)
        if level == "off":
            continue
        news = News.UNKNOWN
        if baseline is not None and finding.category != "capture":
            news = news_of(finding, candidates, baseline, config)
        if news is News.NEW and config.fails_when_new(
            finding.rule_id, finding.severity
        ):
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
    found, first = found_of(finding), candidates[0]
    like = tuple(run for run in baseline.runs if run.recorded_like(first))
    told_apart = not like and (
        not finding.claims or not NEED_CALLS.isdisjoint(finding.claims)
    )
    alike = NEED_CALLS if told_apart else ()
    if any(
        found.same_cause(one, alike)
        for run in baseline.runs[-_REMEMBERED:]
        for one in run.side.findings
    ):
        return News.KNOWN
    if told_apart:
        return News.RECORDED_OTHERWISE
    everywhere = all(
        any(found.same_cause(one) for one in run.side.findings) for run in candidates
    )
    metrics = [one.metric for one in finding.evidence if one.metric]
    against = replace(baseline, runs=like or baseline.runs)
    moved = [_moved(one, candidates, against, config, len(metrics)) for one in metrics]
    told = [one for one in moved if one is not None]
    return News.NEW if everywhere and (any(told) or not told) else News.ON_THE_EDGE


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
    new = [one for one in candidates if metric in one.side.metrics]
    if not runs or not new:
        return None
    level = config.false_alarm_rate / among
    one = ask(
        Relative(metric, None, 0.0, None, "error", 0),
        new,
        replace(baseline, runs=runs),
        level,
    )
    return one.raw.unusual if one.raw.few else one.raw.p() <= level
