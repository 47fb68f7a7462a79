"""Sentences about how far a step is from what its devices can do."""

from __future__ import annotations

import msgspec

from tfadvisor.printable import one_line
from tfadvisor.report.model import LimitGap, Place, Report, SpeedOfLight
from tfadvisor.units import duration, percent

LIGHT = "Speed of light"
_MOST = 4
"""Gaps of the line, the largest."""
_WORTH_A_WORD = 0.01
"""A gap of a smaller share of the step is in the table alone."""
_FINE = 0.001
"""Below this share a percentage has two digits that are no zeros."""


class LightRow(msgspec.Struct, frozen=True):
    """One row of the waterfall in words; "" for what does not hold."""

    what: str
    takes: str
    above: str
    """Of it, above the least time."""
    reached: str
    """`61% of arithmetic`."""
    where: str


def light_line(report: Report) -> str:
    """`9.0 ms of 70.0 ms (13%): products and convolutions at 61% of arithmetic +6.0 ms,
    launch +14 ms; model FLOPs utilisation 34%`. Empty where neither is known.
    """
    light = report.speed_of_light
    utilised = utilisation(report)
    if light is None:
        return f"not known; {utilised}" if utilised else ""
    step = _step_ms(light)
    gaps = [gap for gap in light.gaps if gap.ms >= _WORTH_A_WORD * step][:_MOST]
    words = f"{duration(light.ms)} of {duration(step)} ({_share(light.fraction)})"
    if gaps:
        words += f": {', '.join(map(_gap, gaps))}"
    return f"{words}; {utilised}" if utilised else words


def utilisation(report: Report) -> str:
    """`model FLOPs utilisation 34%`; empty where it is not known."""
    metric = report.metrics.get("mfu")
    if metric is None or metric.value is None:
        return ""
    return f"model FLOPs utilisation {_share(metric.value)}"


def light_rows(report: Report) -> tuple[LightRow, ...]:
    """The least time, and all that is above it; empty where it is not known."""
    light = report.speed_of_light
    if light is None:
        return ()
    share = _share(light.fraction)
    first = LightRow(
        "least time at the devices' limits",
        duration(light.ms),
        "",
        f"{share} of the step",
        "",
    )
    return first, *map(_row, light.gaps)


def _row(gap: LimitGap) -> LightRow:
    return LightRow(
        gap.what,
        duration(gap.takes_ms),
        f"+{duration(gap.ms)}",
        _reached(gap),
        _where(gap.places),
    )


def _gap(gap: LimitGap) -> str:
    at = _reached(gap)
    return f"{gap.what}{f' at {at}' if at else ''} +{duration(gap.ms)}"


def _reached(gap: LimitGap) -> str:
    if gap.reached is None:
        return ""
    limit = "peak" if gap.limit == "arithmetic" else gap.limit
    return f"{_share(gap.reached)} of {limit}"


def _where(places: tuple[Place, ...]) -> str:
    lines = (
        f"{place.file}:{place.line}" for place in places if place.file and place.line
    )
    return one_line(", ".join(lines))


def _step_ms(light: SpeedOfLight) -> float:
    return light.ms + sum(gap.ms for gap in light.gaps)


def _share(fraction: float) -> str:
    """A percentage that does not become 0.0%."""
    if 0 < fraction < _FINE:
        return f"{fraction * 100:.2g}%"
    return percent(fraction)
