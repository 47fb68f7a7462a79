"""Where the step's time is, as finely as faults take time away with them: what is left of each part is what a replay asks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tfadvisor.metrics.registry import Metrics
from tfadvisor.vocabulary import TimeClass

KERNELS, STARTS, STRETCH = "kernels", "starts", "stretch"
_OF_COMPUTE = (KERNELS, STARTS, STRETCH)
"""The class `compute` in three: what undisturbed ops need, what lies in the first 10 µs of each, and what other work on the
same cores adds."""
PARTS = (*_OF_COMPUTE, *(one.label for one in TimeClass if one is not TimeClass.COMPUTE))
"""All parts of a step."""

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


def taken(parts: Parts, share: float, classes: Sequence[str]) -> dict[str, float]:
    """What a finding that costs this share of the step takes of each part: of its classes in their order, of the parts of
    a class alike. Less where they hold less."""
    found: dict[str, float] = {}
    for name in classes:
        held = {one: parts[one] for one in (_OF_COMPUTE if name == TimeClass.COMPUTE.label else (name,))}
        whole = sum(held.values())
        part = min(share - sum(found.values()), whole)
        if part > 0:
            found |= {one: part * value / whole for one, value in held.items()}
    return found
