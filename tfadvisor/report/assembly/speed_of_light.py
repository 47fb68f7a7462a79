"""What the step would take at the limits of its devices, and what is above that."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from tfadvisor.arrays import median
from tfadvisor.metrics import MetricAbsent, periods_ms
from tfadvisor.metrics.layers import parts_of
from tfadvisor.metrics.limits import BoundedOp, BoundedOps, WorkKind, bounded_ops
from tfadvisor.report.assembly.attribution import place_of
from tfadvisor.report.model import ClassTime, LimitGap, Place, SpeedOfLight
from tfadvisor.tallies import listed
from tfadvisor.timeline.run import RunSummary
from tfadvisor.vocabulary import TimeClass

_MOST_PLACES = 3
_NOTHING = 1e-9
_WORDS = {
    TimeClass.COLLECTIVE.label: "exposed collectives",
    TimeClass.TRANSFER.label: "exposed copies",
    TimeClass.COMPILE.label: "compilation",
    TimeClass.HOST.label: "work of the host",
    TimeClass.IDLE.label: "idle",
}
"""For classes whose own name does not say that the devices stand still."""


def speed_of_light(
    run: RunSummary,
    attributed: Sequence[ClassTime],
) -> tuple[SpeedOfLight | None, str]:
    """(the least time with what is above it, why there is none, else "").

    attributed: where the step goes, by class.
    """
    try:
        bounded = bounded_ops(run)
        step_ms = float(median(periods_ms(run)))
    except MetricAbsent as absent:
        return None, str(absent)
    gaps = [*_of_ops(run, bounded, step_ms), *_of_classes(attributed)]
    shown = sorted((gap for gap in gaps if gap.ms > _NOTHING), key=lambda gap: -gap.ms)
    return SpeedOfLight(bounded.least, bounded.least * step_ms, tuple(shown)), ""


def _of_ops(
    run: RunSummary,
    bounded: BoundedOps,
    step_ms: float,
) -> Iterator[LimitGap]:
    by_kind = listed((op.kind, op) for op in bounded.ops)
    by_kind.setdefault(WorkKind.UNKNOWN, [])
    for kind, ops in by_kind.items():
        rest = bounded.rest if kind is WorkKind.UNKNOWN else 0.0
        takes = math.fsum(op.fraction for op in ops) + rest
        least = math.fsum(op.least for op in ops)
        limit = _limit(ops)
        reached = least / takes if limit is not None and takes else None
        yield LimitGap(
            kind.value,
            (takes - least) * step_ms,
            takes * step_ms,
            limit,
            reached,
            _places(run, ops),
        )


def _limit(ops: Sequence[BoundedOp]) -> str | None:
    """What most of them wait for at best."""
    known = [(op.fraction, op.bound) for op in ops if op.bound is not None]
    if not known:
        return None
    moving = math.fsum(share * bound.moving for share, bound in known)
    arithmetic = math.fsum(share * bound.arithmetic for share, bound in known)
    return "memory bandwidth" if moving >= arithmetic else "arithmetic"


def _places(
    run: RunSummary,
    ops: Sequence[BoundedOp],
) -> tuple[Place, ...]:
    """Where most of the time above the least is spent, of each line once."""
    widest = sorted(ops, key=lambda op: op.least - op.fraction)[: 4 * _MOST_PLACES]
    keys = {op.key: 0 for op in widest}
    parts = parts_of(run, keys, keys)
    found: dict[object, Place] = {}
    for key, part in parts.items():
        place = place_of(part, key[2])
        line = (place.file, place.line) if place.file else place
        found.setdefault(line, place)
    return tuple(found.values())[:_MOST_PLACES]


def _of_classes(attributed: Sequence[ClassTime]) -> Iterator[LimitGap]:
    """The classes of time in which the devices do not compute."""
    for kind in attributed:
        if kind.kind != TimeClass.COMPUTE.label:
            words = _WORDS.get(kind.kind, kind.kind)
            places = next((part.places for part in kind.parts if part.places), ())
            yield LimitGap(words, kind.ms, kind.ms, None, None, places)
