"""What costs the fleet most: device-hours lost by cause, first finding, team and model.

A run stands for its devices over one hour. What its verdict's class takes of the step
is lost, unless it is healthy; what its first finding could save is what could be had
back.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import attrgetter

import msgspec

from tfadvisor.fleet.work import Row
from tfadvisor.tallies import listed


class RunGroup(msgspec.Struct, frozen=True):
    """Runs with something in common. Times are device-hours."""

    name: str
    runs: int
    hours: float
    """What the runs stand for."""
    lost: float
    """Of it."""
    low: float
    """What first findings could save at least."""
    high: float
    """And at most."""
    finding: str | None
    """The commonest first finding, by device-hours."""
    worst: str | None
    """The run that loses most."""


class Fleet(msgspec.Struct, frozen=True):
    """Everything that is reported about a table."""

    runs: int
    """With a report."""
    failed: tuple[Row, ...]
    """Without one, by place."""
    gone: int
    """Whose traces are no longer there; they count."""
    whole: RunGroup
    causes: tuple[RunGroup, ...]
    """By verdict, what loses most first, healthy runs last."""
    findings: tuple[RunGroup, ...]
    """By first finding; runs without one are in none."""
    teams: tuple[RunGroup, ...]
    """Empty where no run has a team."""
    models: tuple[RunGroup, ...]
    """Empty where no run has a model."""


def _hours(
    row: Row,
    share: float | None = 1.0,
) -> float:
    """Device-hours: so much of what a run stands for."""
    return (row.devices or 1) * (share or 0.0)


def _lost(row: Row) -> float:
    return 0.0 if row.healthy else _hours(row, row.verdict_fraction)


def summed(rows: Sequence[Row]) -> Fleet:
    """The numbers of a report."""
    runs = [row for row in rows if row.error is None]
    failed = [row for row in rows if row.error is not None]
    with_finding = [row for row in runs if row.finding]
    return Fleet(
        runs=len(runs),
        failed=tuple(failed),
        gone=sum(not row.there for row in rows),
        whole=_part("all", runs),
        causes=_by(runs, _cause),
        findings=_by(with_finding, attrgetter("finding")),
        teams=_by(runs, attrgetter("team")),
        models=_by(runs, attrgetter("model")),
    )


def _cause(row: Row) -> str | None:
    return "healthy" if row.healthy else row.verdict


def _by(
    runs: Sequence[Row],
    key: Callable[[Row], str | None],
) -> tuple[RunGroup, ...]:
    groups = listed((key(row) or "", row) for row in runs)
    if not any(groups):
        return ()
    parts = []
    for name, group in groups.items():
        parts.append(_part(name or "(not told)", group))
    parts.sort(key=lambda part: (-part.lost, -part.high, part.name))
    return tuple(parts)


def _part(
    name: str,
    runs: Sequence[Row],
) -> RunGroup:
    return RunGroup(
        name=name,
        runs=len(runs),
        hours=sum(_hours(row) for row in runs),
        lost=sum(_lost(row) for row in runs),
        low=sum(_hours(row, row.saving_low) for row in runs),
        high=sum(_hours(row, row.saving_high) for row in runs),
        finding=_commonest_finding(runs),
        worst=_worst(runs),
    )


def _commonest_finding(runs: Sequence[Row]) -> str | None:
    hours: dict[str, float] = {}
    for row in runs:
        if row.finding:
            saved = _hours(row, row.saving_high)
            hours[row.finding] = hours.get(row.finding, 0.0) + saved
    return max(
        sorted(hours),
        key=hours.__getitem__,
        default=None,
    )


def _worst(runs: Sequence[Row]) -> str | None:
    losing = [(_lost(row), row.place) for row in runs if _lost(row)]
    return max(losing)[1] if losing else None
