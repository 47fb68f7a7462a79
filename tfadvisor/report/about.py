"""What a reader should know about the trace and about how it was judged, one sentence or two each."""

from __future__ import annotations

import msgspec

from tfadvisor.report.model import ChangedLimit, Report
from tfadvisor.units import Unit, limit_in_words


def about_lines(report: Report) -> list[str]:
    """Beside the report's capture notes."""
    return [*_limits(report)]


def _limits(report: Report) -> list[str]:
    if report.changed_limits is msgspec.UNSET:
        return []
    return [_limit(one) for one in report.changed_limits]


def _limit(one: ChangedLimit) -> str:
    unit = Unit(one.unit)
    value, shipped = limit_in_words(one.value, unit), limit_in_words(one.shipped, unit)
    how = f"{one.metric} {one.comparison} {value}, shipped with {shipped}"
    return f"{one.rule_id} is judged by a limit that was set: {how} ({one.said})."
