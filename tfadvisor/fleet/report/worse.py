"""Runs that got worse: the newest of the same job, model and machines against those before it, by the gate's statistics."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timezone

import msgspec

from tfadvisor.comparison.side import Traits
from tfadvisor.fleet.row import Row
from tfadvisor.statistics.metric_traits import nature_of
from tfadvisor.statistics.prediction import predict
from tfadvisor.vocabulary import Better, Scatter

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
