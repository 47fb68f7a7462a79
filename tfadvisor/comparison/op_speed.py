"""How fast the machine is in one run against another, measured by the ops whose work did not change.

A machine that is shared, throttled or simply another one slows all ops alike; an edit of the program slows some. The
weighted median of the ops' ratios therefore tells the machine from the edit, as long as most of the work is unchanged.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import exp, log

from tfadvisor.comparison.match_ops import Pair, same_work
from tfadvisor.comparison.result import Speed

_FEWEST_OPS = 6
_LEAST_SHARE = 0.5
_ONE_OP_AT_MOST = 0.4


def op_speed(pairs: Sequence[Pair]) -> Speed | None:
    """None when too few ops are the same, they are too little of the work, or one op decides.

    Weights are the fourth root of both times' product: neither one large op nor many tiny ones decide.
    """
    ratios: list[tuple[float, float]] = []
    covered = 0.0
    total = sum(
        (pair.base.ms_per_step if pair.base else 0.0) + (pair.new.ms_per_step if pair.new else 0.0) for pair in pairs
    )
    for pair in pairs:
        one, other = pair.base, pair.new
        if (
            one
            and other
            and one.kind == "compute"
            and one.ms_per_step > 0
            and other.ms_per_step > 0
            and same_work(pair)
        ):
            ratios.append((log(other.ms_per_step / one.ms_per_step), (one.ms_per_step * other.ms_per_step) ** 0.25))
            covered += one.ms_per_step + other.ms_per_step
    if len(ratios) < _FEWEST_OPS or covered < _LEAST_SHARE * total:
        return None
    weights = sum(weight for _, weight in ratios)
    if max(weight for _, weight in ratios) > _ONE_OP_AT_MOST * weights:
        return None
    return Speed(exp(weighted_median(ratios)), len(ratios), covered / total)


def scatter_of(pairs: Sequence[Pair], speed: Speed) -> float:
    """How much the unchanged ops' ratios scatter around the machine's speed: 1.4826 median deviations of logarithms."""
    middle = log(speed.factor)
    found = [
        (
            abs(log(pair.new.ms_per_step / pair.base.ms_per_step) - middle),
            (pair.base.ms_per_step * pair.new.ms_per_step) ** 0.25,
        )
        for pair in pairs
        if pair.base and pair.new and pair.base.ms_per_step > 0 and pair.new.ms_per_step > 0
    ]
    return 1.4826 * weighted_median(found) if found else 0.0


def weighted_median(values: Sequence[tuple[float, float]]) -> float:
    """Of (value, weight): where half of the weight lies on either side, between values by straight lines."""
    ordered = sorted(values)
    half = sum(weight for _, weight in ordered) / 2
    below = 0.0
    last_centre = last_value = None
    for value, weight in ordered:
        centre = below + weight / 2
        if centre >= half:
            if last_centre is None or last_value is None:
                return value
            return last_value + (value - last_value) * (half - last_centre) / (centre - last_centre)
        below += weight
        last_centre, last_value = centre, value
    return ordered[-1][0]
