"""What costs the fleet most, and what got worse: device-hours lost by cause, team, model and time.

A run stands for its devices over `hours` of the table, else over one hour. What its verdict's class takes of the step is
lost, unless it is healthy; what its first finding could save is what could be had back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime, timedelta, timezone

import msgspec

from tfadvisor.comparison.side import Traits
from tfadvisor.comparison.statistics.spread import nature_of, predict
from tfadvisor.fleet.table import Table
from tfadvisor.fleet.work import Row
from tfadvisor.vocabulary import Better, Scatter

_MOST_BUCKETS = 26


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
    trend: tuple[Part, ...]
    """By day, week or month, the oldest first."""
    worse: tuple[Worse, ...]
    """Runs that are slower than earlier runs of the same, what loses most first."""


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
        trend=_trend(runs),
        worse=runs_that_got_worse([(one.row, one.hours) for one in runs]),
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


def _trend(runs: Iterable[_Weighed]) -> tuple[Part, ...]:
    dated = [(one.row.recorded_at, one) for one in runs if one.row.recorded_at is not None]
    if not dated:
        return ()
    times = [when for when, _ in dated]
    name = _bucket(max(times) - min(times))
    buckets: dict[str, list[_Weighed]] = {}
    for when, one in dated:
        buckets.setdefault(name(when), []).append(one)
    return tuple(_part(bucket, buckets[bucket]) for bucket in sorted(buckets))


def _bucket(span: timedelta) -> Callable[[datetime], str]:
    """Days, weeks (by their Monday) or months, so that there are not too many."""
    if span <= timedelta(days=_MOST_BUCKETS):
        return lambda when: when.date().isoformat()
    if span <= timedelta(weeks=_MOST_BUCKETS):
        return lambda when: (when.date() - timedelta(days=when.weekday())).isoformat()
    return lambda when: f"{when.year}-{when.month:02}"


# Runs that got worse: the newest of the same job, model and machines against those before it, by the gate's
# statistics.

_NATURE = nature_of("ms", Traits(Better.LESS, Scatter.FACTOR))
_EARLIER = 20
"""The newest of the earlier runs that are looked at."""
_FEWEST = 5
"""Below this many, runs are believed to differ by a tenth."""
_LEVEL = 0.001
"""How often a run of an unchanged program may be told to be worse, a series."""
_OLDEST = datetime.min.replace(tzinfo=timezone.utc)


class Worse(msgspec.Struct, frozen=True):
    """A run that takes longer than chance explains."""

    place: str
    name: str
    """Team, model and job, as far as they are known, else the run's name."""
    was_ms: float
    """The median of the earlier runs' step times."""
    is_ms: float
    earlier: int
    """Runs that it is compared with."""
    lost: float
    """Device-hours that the slower steps cost."""
    verdict: str | None
    was: str | None
    """The verdict of the run before."""


def runs_that_got_worse(runs: Sequence[tuple[Row, float]]) -> tuple[Worse, ...]:
    """runs: with their device-hours. What loses most first."""
    series: dict[tuple[object, ...], list[tuple[Row, float]]] = {}
    for row, hours in runs:
        if row.step_time_ms and (row.model or row.job):
            key = (row.team, row.model, row.job, row.framework, row.device_model, row.devices, row.hosts)
            series.setdefault(key, []).append((row, hours))
    found = [told for group in series.values() if (told := _judged(group)) is not None]
    return tuple(sorted(found, key=lambda one: (-one.lost, one.place)))


def _judged(group: Sequence[tuple[Row, float]]) -> Worse | None:
    ordered = sorted(group, key=lambda one: (one[0].recorded_at or _OLDEST, one[0].place))
    *earlier, (last, hours) = ordered[-_EARLIER - 1 :]
    times = [row.step_time_ms for row, _ in earlier if row.step_time_ms]
    if len(times) < 2 or not last.step_time_ms:
        return None
    told = predict([[_NATURE.scaled(one) for one in times]], _NATURE, _FEWEST)
    distance = _NATURE.scaled(last.step_time_ms) - told.centre
    if distance <= told.reach(_LEVEL, 0.0):
        return None
    was = sorted(times)[len(times) // 2]
    name = " / ".join(one for one in (last.team, last.model, last.job) if one) or last.run
    lost = hours * (1 - was / last.step_time_ms)
    return Worse(last.place, name, was, last.step_time_ms, len(times), lost, last.verdict, earlier[-1][0].verdict)
