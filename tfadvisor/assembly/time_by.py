"""The compute time of all devices by layer, op type and source line."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tfadvisor.metrics.compute.parts import Part, Parts, compute_parts
from tfadvisor.metrics.registry import MetricAbsent
from tfadvisor.metrics.steady import device_steps
from tfadvisor.report.model import TimeBy, TimePart
from tfadvisor.timeline.run.run_summary import RunSummary
from tfadvisor.units import PS_PER_MS

_MOST = 20


def time_by(run: RunSummary) -> TimeBy:
    """Empty where nothing computes in a counted step."""
    try:
        found = compute_parts(run)
    except MetricAbsent:
        return TimeBy()
    steps = max(device_steps(run), 1)
    return TimeBy(
        layer=_rows(found, lambda part: part.layer, steps),
        op_type=_rows(found, lambda part: part.op_type, steps),
        line=_rows(found, lambda part: part.line, steps),
    )


def _rows(found: Parts, key: Callable[[Part], str], steps: int) -> tuple[TimePart, ...]:
    named = found.by(key)[:_MOST]
    if not named:
        return ()
    rows = [_row(name, parts, ps, found.compute_ps, steps) for name, parts, ps in named]
    told = {name for name, _, _ in named}
    rest = [part for part in found.parts if key(part) not in told]
    left = found.compute_ps - sum(ps for _, _, ps in named)
    return (*rows, _row(None, rest, left, found.compute_ps, steps)) if left else tuple(rows)


def _row(name: str | None, parts: Sequence[Part], ps: int, total: int, steps: int) -> TimePart:
    return TimePart(
        name=name,
        share=ps / total,
        ms_per_step=ps / steps / PS_PER_MS,
        count_per_step=sum(one.count for one in parts) / steps,
        flops=_sum([one.flops for one in parts], steps) if name is not None else None,
        bytes=_sum([one.bytes for one in parts], steps) if name is not None else None,
    )


def _sum(values: Sequence[int | None], steps: int) -> int | None:
    """A step's, None where one is not known."""
    known = [one for one in values if one is not None]
    return sum(known) // steps if len(known) == len(values) else None
