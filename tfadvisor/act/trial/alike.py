"""Whether a changed program computes the same, by the values of its first steps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import sqrt

from tfadvisor.act.trial.effect import deviation_of
from tfadvisor.act.trial.trial_result import DIFFERS, NOT_CHECKED, SAME
from tfadvisor.comparison.statistics import t_quantile

Values = Mapping[str, float]
"""Of one run's first steps, as the clock tells them."""
_ROUNDING = 0.01
"""Sums in another order, and products of 16 bits, differ by less."""
_EXACT = 1e-6
_NOTHING = 1e-12
"""Of a value that is 0."""
_CHANCE = 0.001
"""That any of the values of a program that draws at random is taken for another."""


def compare_values(
    base: Sequence[Values],
    new: Sequence[Values],
    check: str,
) -> tuple[str, str]:
    """(same, differs or not checked; the first value that differs). base: two runs at
    least, or nothing can be said.

    check: batches, where what the loop reads must be the very same; values, where all
    else must agree as far as runs of the program itself do; none, where the change is
    meant to change results. A value that is drawn anew in each run tells something only
    once so many runs are known that Student's distribution bounds the next one.
    """
    if check == "none" or len(base) < 2 or not new:
        return NOT_CHECKED, ""

    shared = set.intersection(*map(set, (*base, *new)))
    names, rounding = _compared(shared, check)
    compared = False
    for name in sorted(names):
        known = [run[name] for run in base]
        allowed = _allowed(known, rounding, _CHANCE / len(names))
        if allowed is None:
            continue
        compared = True
        middle = sum(known) / len(known)
        if any(abs(run[name] - middle) > allowed for run in new):
            return DIFFERS, name.split(":", 1)[1].replace("@", " after step ")
    return (SAME if compared else NOT_CHECKED), ""


def _compared(
    names: set[str],
    check: str,
) -> tuple[set[str], float]:
    """(what is compared, by which share it may differ). names: what all runs have."""
    batches = {name for name in names if name.startswith("batch:")}
    if check == "batches" and batches:
        return batches, _EXACT
    return {name for name in names if name.startswith("value:")}, _ROUNDING


def _allowed(
    known: Sequence[float],
    rounding: float,
    chance: float,
) -> float | None:
    """How far from the mean of known runs another may lie; None where each has another
    value, so that it tells nothing. chance: that such a run lies further.
    """
    size = max(map(abs, known))
    allowed = rounding * size + _NOTHING
    if max(known) - min(known) > _EXACT * size:
        allowed += _reach(known, chance)
    return allowed if allowed <= size / 2 + _NOTHING else None


def _reach(
    known: Sequence[float],
    chance: float,
) -> float:
    """How far from the mean another run's value lies with this probability."""
    found = deviation_of([known])
    quantile = t_quantile(chance / 2, found.freedom)
    return quantile * found.sigma * sqrt(1 + 1 / len(known))
