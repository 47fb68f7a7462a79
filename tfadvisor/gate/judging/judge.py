"""Budgets, baseline limits and rules to one verdict, with the explanation of what failed."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date

from msgspec.structs import replace

from tfadvisor.comparison.compare_sides import compare_sides
from tfadvisor.gate.baseline.comparable_runs import Baseline
from tfadvisor.gate.baseline.snapshot import Snapshot
from tfadvisor.gate.config.resolved import Config
from tfadvisor.gate.judging.budgets import check_budget, could_be_tightened
from tfadvisor.gate.judging.finding_limits import check_rules
from tfadvisor.gate.judging.relative import check_relative
from tfadvisor.gate.judging.result import Check, Gated, GateResult, Outcome
from tfadvisor.report.model import Report

_BETTER = "It is better than noise explains"
_NEW_BASELINE = ": `tfadvisor baseline accept` makes it what later runs are held to."
FAILED, BROKEN, CANNOT_TELL = 1, 5, 4


def judge(
    config: Config, reports: Sequence[Report], candidates: Sequence[Snapshot], baseline: Baseline, today: date
) -> GateResult:
    """reports and candidates: of the same traces, the gated one first. today: for entries that expire."""
    first = candidates[0]
    checks = [check_budget(budget, reports) for budget in config.budgets]
    checks += check_relative(config, reports, candidates, baseline)
    checks += check_rules(config, reports[0], candidates, baseline)
    broken = {one.name: one.error for report in reports for one in report.broken}
    checks = [_broken(check, broken) for check in checks]
    notices = list(baseline.notices)
    checks, told = _without_ignored(config, checks, first.key.model, today)
    outcome, code = _whole(config, checks, any_broken=bool(broken), comparable=not baseline.refused)
    if outcome is not Outcome.CANNOT_TELL:
        told += [f"Cannot tell: {check.message}" for check in checks if check.outcome is Outcome.CANNOT_TELL]
    better = f"{_BETTER}{'.' if baseline.in_turns else _NEW_BASELINE}"
    told += [f"{check.message} {better}" for check in checks if check.improved]
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
        runs=len(baseline.levels()[-1]) if baseline.runs else 0,
        checks=tuple(checks),
        notices=(*notices, *told, *(f"{name}: {error}" for name, error in broken.items())),
        differences=baseline.differences,
        tighten=tuple(_tighten(config, candidates, baseline)),
        comparison=compare_sides(baseline.typical().side, _middle(candidates).side, differences=baseline.differences)
        if baseline.runs
        else None,
    )


def _middle(candidates: Sequence[Snapshot]) -> Snapshot:
    """The candidate whose step time is the middle one."""
    return sorted(candidates, key=lambda one: one.side.median_ms)[(len(candidates) - 1) // 2]


def _broken(check: Check, broken: dict[str, str]) -> Check:
    """A check of a metric that failed to be measured is broken, whatever it would say."""
    if check.kind == "rule" or check.name not in broken:
        return check
    return replace(check, outcome=Outcome.BROKEN, message=f"{check.name}: {broken[check.name]}")


def _without_ignored(config: Config, checks: Sequence[Check], model: str, today: date) -> tuple[list[Check], list[str]]:
    """Checks with what is ignored taken back, and what is to be said about it."""
    found, told = [], []
    for check in checks:
        entry, expired = config.ignored(check.name, model, today), config.expired(check.name, model, today)
        if check.outcome not in (Outcome.FAIL, Outcome.CANNOT_TELL, Outcome.WARN) or not (entry or expired):
            found.append(check)
        elif entry:
            why = f"{check.message} Ignored until {entry.expires}: {entry.reason}"
            found.append(replace(check, outcome=Outcome.IGNORED, message=why))
        elif expired:
            found.append(check)
            told.append(
                f"{check.name} was ignored until {expired.expires} ({expired.reason}); the gate judges it again."
            )
    return found, told


def _whole(config: Config, checks: Sequence[Check], *, any_broken: bool, comparable: bool) -> tuple[Outcome, int]:
    """The outcome of the whole gate and its exit code: a failure first, then what broke, then what is inconclusive.

    Too few or too noisy runs pass with a notice, since they would lock a team's first days. A baseline that may not be
    compared with is another matter: nothing is gated until a person looks.
    """
    policy = config.on_cannot_tell if comparable else config.on_not_comparable
    outcomes = {check.outcome for check in checks}
    untold = any(check.outcome is Outcome.CANNOT_TELL and check.level == "error" for check in checks)
    if Outcome.FAIL in outcomes:
        return Outcome.FAIL, FAILED
    if any_broken:
        return Outcome.BROKEN, BROKEN
    if untold and policy == "fail":
        return Outcome.CANNOT_TELL, CANNOT_TELL
    if Outcome.WARN in outcomes or (untold and policy == "warn"):
        return Outcome.WARN, 0
    return Outcome.PASS, 0


def _tighten(config: Config, candidates: Sequence[Snapshot], baseline: Baseline) -> list[str]:
    sides = [run.side for run in (*baseline.runs, *candidates)]
    known = {
        budget.metric: [side.metrics[budget.metric] for side in sides if budget.metric in side.metrics]
        for budget in config.budgets
    }
    units = {name: unit for side in sides for name, unit in side.units.items()}
    return could_be_tightened(config.budgets, known, units) if len(sides) >= config.fewest_runs else []
