"""What costs the fleet most: device-hours lost by cause, first finding, team and model.

A run stands for its devices over `hours` of the table, else over one hour. What its verdict's class takes of the step is
lost, unless it is healthy; what its first finding could save is what could be had back.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from tfadvisor.fleet.table import Table
from tfadvisor.fleet.work import Row


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
    weighed: bool
    """Whether the table has hours; else every run stands for one hour."""
    causes: tuple[Part, ...]
    """By verdict, what loses most first, healthy runs last."""
    findings: tuple[Part, ...]
    """By first finding; runs without one are in none."""
    teams: tuple[Part, ...]
    """Empty where no run has a team."""
    models: tuple[Part, ...]
    """Empty where no run has a model."""


class _Weighed(msgspec.Struct, frozen=True):
    row: Row
    hours: float

    @property
    def lost(self) -> float:
        return 0.0 if self.row.healthy else self.hours * (self.row.verdict_fraction or 0.0)

    def saved(self, share: float | None) -> float:
        return self.hours * (share or 0.0)


def summed(table: Table) -> Fleet:
    """The numbers of a report."""
    hours = table.hours or (1.0,) * len(table.rows)
    runs = [
        _Weighed(row, (row.devices or 1) * (1.0 if given is None else given))
        for row, given in zip(table.rows, hours, strict=True)
        if row.error is None
    ]
    return Fleet(
        runs=len(runs),
        failed=tuple(row for row in table.rows if row.error is not None),
        gone=sum(not row.there for row in table.rows),
        whole=_part("all", runs),
        weighed=bool(table.hours),
        causes=_by(runs, lambda row: "healthy" if row.healthy else row.verdict),
        findings=_by([one for one in runs if one.row.finding], lambda row: row.finding),
        teams=_by(runs, lambda row: row.team),
        models=_by(runs, lambda row: row.model),
    )


def _by(runs: Sequence[_Weighed], key: Callable[[Row], str | None]) -> tuple[Part, ...]:
    groups: dict[str, list[_Weighed]] = {}
    for one in runs:
        groups.setdefault(key(one.row) or "", []).append(one)
    if set(groups) <= {""}:
        return ()
    parts = [_part(name or "(not told)", group) for name, group in groups.items()]
    return tuple(sorted(parts, key=lambda part: (-part.lost, -part.high, part.name)))


def _part(name: str, runs: Sequence[_Weighed]) -> Part:
    by_finding: dict[str, float] = {}
    for one in runs:
        if one.row.finding:
            by_finding[one.row.finding] = by_finding.get(one.row.finding, 0.0) + one.saved(one.row.saving_high)
    worst = max(runs, key=lambda one: (one.lost, one.row.place), default=None)
    return Part(
        name=name,
        runs=len(runs),
        hours=sum(one.hours for one in runs),
        lost=sum(one.lost for one in runs),
        low=sum(one.saved(one.row.saving_low) for one in runs),
        high=sum(one.saved(one.row.saving_high) for one in runs),
        finding=max(sorted(by_finding), key=lambda one: by_finding[one], default=None),
        worst=worst.row.place if worst is not None and worst.lost else None,
    )
