"""What costs the fleet most: device-hours lost by cause, first finding, team and model.

A run stands for its devices over one hour. What its verdict's class takes of the step
is lost, unless it is healthy; what its first finding could save is what could be had
back.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from tfadvisor.fleet.work import Row
from tfadvisor.tallies import added_up, listed


class Part(msgspec.Struct, frozen=True):
    """Runs with something in common. All but name and runs are device-hours."""

    name: str
    runs: int
    hours: float
    lost: float
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
    whole: Part
    causes: tuple[Part, ...]
    """By verdict, what loses most first, healthy runs last."""
    findings: tuple[Part, ...]
    """By first finding; runs without one are in none."""
    teams: tuple[Part, ...]
    """Empty where no run has a team."""
    models: tuple[Part, ...]
    """Empty where no run has a model."""


def _hours(row: Row, share: float | None = 1.0) -> float:
    """Device-hours: so much of what a run stands for."""
    return (row.devices or 1) * (share or 0.0)


def _lost(row: Row) -> float:
    return 0.0 if row.healthy else _hours(row, row.verdict_fraction)


def summed(rows: Sequence[Row]) -> Fleet:
    """The numbers of a report."""
    runs = [row for row in rows if row.error is None]
    return Fleet(
        runs=len(runs),
        failed=tuple(row for row in rows if row.error is not None),
        gone=sum(not row.there for row in rows),
        whole=_part("all", runs),
        causes=_by(runs, lambda row: "healthy" if row.healthy else row.verdict),
        findings=_by([row for row in runs if row.finding], lambda row: row.finding),
        teams=_by(runs, lambda row: row.team),
        models=_by(runs, lambda row: row.model),
    )


def _by(runs: Sequence[Row], key: Callable[[Row], str | None]) -> tuple[Part, ...]:
    groups = listed((key(row) or "", row) for row in runs)
    if set(groups) <= {""}:
        return ()
    parts = [_part(name or "(not told)", group) for name, group in groups.items()]
    return tuple(sorted(parts, key=lambda part: (-part.lost, -part.high, part.name)))


def _part(name: str, runs: Sequence[Row]) -> Part:
    by_finding = added_up(
        (row.finding, _hours(row, row.saving_high)) for row in runs if row.finding
    )
    worst = max(runs, key=lambda row: (_lost(row), row.place), default=None)
    return Part(
        name=name,
        runs=len(runs),
        hours=sum(map(_hours, runs)),
        lost=sum(map(_lost, runs)),
        low=sum(_hours(row, row.saving_low) for row in runs),
        high=sum(_hours(row, row.saving_high) for row in runs),
        finding=max(sorted(by_finding), key=lambda one: by_finding[one], default=None),
        worst=worst.place if worst is not None and _lost(worst) else None,
    )
