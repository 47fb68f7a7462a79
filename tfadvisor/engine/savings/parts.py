"""Where the step's time is, as finely as faults take time away with them: what is left of each part is what a replay asks."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from tfadvisor.metrics.registry import Metrics
from tfadvisor.vocabulary import TimeClass

KERNELS, STARTS, STRETCH = "kernels", "starts", "stretch"
_OF_COMPUTE = (KERNELS, STARTS, STRETCH)
"""The class `compute` in three: what undisturbed ops need, what lies in the first 10 µs of each, and what other work on the
same cores adds."""
PARTS = (*_OF_COMPUTE, *(one.label for one in TimeClass if one is not TimeClass.COMPUTE))
"""All parts of a step."""

_DRIVEN = (STARTS, *(one.label for one in (TimeClass.COMPILE, TimeClass.INPUT, TimeClass.LAUNCH, TimeClass.HOST)))
"""Parts in which the thread that drives the step works."""
TRACER = 0.1
"""From this share of the step on, the time that recording takes is taken off."""
_MOST = 0.7
"""What is recorded of a thread's time is its own at least for the rest."""

Parts = Mapping[str, float]
"""Shares of the recorded step by part. They add up to 1 before anything is mended."""


def parts_of(metrics: Metrics) -> Parts | None:
    """None where the step's time is not known by class."""
    compute = metrics.value(TimeClass.COMPUTE.metric)
    if compute is None:
        return None
    known = {one.label: metrics.value(one.metric) or 0.0 for one in TimeClass if one is not TimeClass.COMPUTE}
    calm = metrics.value("calm_op_share")
    starts = metrics.value("op_start_share") or 0.0
    stretch = 0.0 if calm is None else min(max(1 - calm, 0.0), 1 - starts)
    return {KERNELS: compute * (1 - starts - stretch), STARTS: compute * starts, STRETCH: compute * stretch, **known}


def unrecorded(parts: Parts, tracer: float) -> Parts:
    """The step without the time that recording it takes, where that is `TRACER` of it or more; it adds up to 1 again.

    tracer: share of the step. It goes from what the driving thread does, of each part alike and never all of it.
    """
    driven = math.fsum(parts[name] for name in _DRIVEN)
    if tracer < TRACER or not driven:
        return parts
    kept = 1 - min(tracer / driven, _MOST)
    rest = {name: share * kept if name in _DRIVEN else share for name, share in parts.items()}
    whole = math.fsum(rest.values())
    return {name: share / whole for name, share in rest.items()}


def taken(parts: Parts, share: float, classes: Sequence[str]) -> dict[str, float]:
    """What a finding that costs this share of the step takes of each part: of its classes in their order, of the parts of
    a class alike. Less where they hold less."""
    found: dict[str, float] = {}
    for name in classes:
        held = {one: parts[one] for one in (_OF_COMPUTE if name == TimeClass.COMPUTE.label else (name,))}
        whole = math.fsum(held.values())
        part = min(share - math.fsum(found.values()), whole)
        if part > 0:
            found |= {one: part * value / whole for one, value in held.items()}
    return found
