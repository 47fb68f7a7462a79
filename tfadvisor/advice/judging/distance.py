"""Whether what the devices compute is near what they can do, as a verdict says it."""

from __future__ import annotations

import msgspec

from tfadvisor.metrics import Metrics
from tfadvisor.units import percent
from tfadvisor.vocabulary import UNKNOWN_COSTS

_HALF = 0.5
"""A step of which less is within a factor of three of its devices' limits could run in
two thirds of its time, or less."""


class Distance(msgspec.Struct, frozen=True):
    """Of a step from the least time that its devices need."""

    is_far: bool
    """Whether most of the step is known to be beyond a factor of three."""
    words: str
    """What a verdict says of it, with a blank before it; "" for a step that is near."""
    is_dark: bool = False
    """Whether HLO is there and does not tell the costs of most of it: of calls of
    libraries that factorise, solve or sort, and of loops in one call of a CPU.
    """


def distance_of(metrics: Metrics) -> Distance:
    """By the metrics that the report shows."""
    near = metrics.value("near_limit_fraction")
    if near is None:
        why = metrics["near_limit_fraction"].reason
        return Distance(False, _cannot_tell(why), why == UNKNOWN_COSTS)
    if near >= _HALF:
        return Distance(False, "")
    unknown = metrics.value("unknown_cost_fraction") or 0.0
    if near + unknown >= _HALF:
        why = f"the costs of kernels in {percent(unknown)} of the step are not known"
        return Distance(False, _cannot_tell(why), unknown >= _HALF)
    part = f"Only {percent(near)}" if near else "No part"
    return Distance(
        True,
        f" {part} of the step is within a factor of three of the least time that the "
        "devices need.",
    )


def _cannot_tell(why: str) -> str:
    return (
        " Whether the kernels are near the devices' limits, this trace cannot tell: "
        f"{why}."
    )
