"""Absolute limits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tfadvisor.comparison.side import middle_of
from tfadvisor.gate.config.resolved import Budget
from tfadvisor.gate.judging.result import Check, Outcome
from tfadvisor.report.model import MetricValue, Report
from tfadvisor.units import Unit, in_words

_MUCH_ROOM = 0.5


def check_budget(budget: Budget, reports: Sequence[Report]) -> Check:
    """Of several reports, the middle value counts."""
    asked = [report.metrics.get(budget.metric) for report in reports]
    known = [one.value for one in asked if one is not None and one.value is not None]
    if not known:
        why = _why_absent(budget.metric, asked)
        return Check("budget", budget.metric, budget.level, Outcome.NOT_APPLICABLE, why, line=budget.line)
    value, unit = middle_of(known), Unit(next(one.unit for one in asked if one is not None))
    over = budget.at_most is not None and value > budget.at_most
    under = budget.at_least is not None and value < budget.at_least
    limit = budget.at_least if under or budget.at_most is None else budget.at_most
    assert limit is not None
    words = f"{budget.metric} is {in_words(value, unit)}"
    if over or under:
        words += f", {'over' if over else 'under'} the budget of {in_words(limit, unit)}"
    outcome = (Outcome.FAIL if budget.level == "error" else Outcome.WARN) if over or under else Outcome.PASS
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


def could_be_tightened(
    budgets: Sequence[Budget], known: Mapping[str, Sequence[float]], units: Mapping[str, str]
) -> list[str]:
    """Budgets of which no run has used half."""
    found = []
    for budget in budgets:
        values = known.get(budget.metric, ())
        if budget.at_most and values and max(values) < _MUCH_ROOM * budget.at_most:
            unit = Unit(units[budget.metric])
            found.append(
                f"{budget.metric} never exceeds {in_words(max(values), unit)} in {len(values)} runs; its budget of "
                f"{in_words(budget.at_most, unit)} could be tightened."
            )
    return found


def _why_absent(metric: str, asked: Sequence[MetricValue | None]) -> str:
    reason = next((one.reason for one in asked if one is not None and one.reason), "this version does not measure it")
    return f"{metric}: {reason}."
