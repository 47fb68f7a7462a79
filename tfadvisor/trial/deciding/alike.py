"""Whether a candidate computes what the program computes, by the values of the first steps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import sqrt

from tfadvisor.statistics.distributions import t_quantile
from tfadvisor.trial.deciding.deviation import deviation_of
from tfadvisor.trial.result import DIFFERS, NOT_CHECKED, SAME

Values = Mapping[str, float]
"""Of one run's first steps, as the clock tells them."""
_ROUNDING = 0.01
"""Sums in another order, and products of 16 bits, differ by less."""
_EXACT = 1e-6
_CHANCE = 0.001
"""That any of the values of a program that draws at random is taken for another."""


def compare_values(base: Sequence[Values], new: Sequence[Values], check: str) -> tuple[str, str]:
    """(same, differs or not checked; the first value that differs). base: two runs at least, or nothing can be said.

    check: batches, where what the loop reads must be the very same; values, where all else must agree as far as runs of the
    program itself do; none, where the change is meant to change results. A value that is drawn anew in each run tells something
    only once so many runs are known that Student's distribution bounds the next one.
    """
    if check == "none" or len(base) < 2 or not new:
        return NOT_CHECKED, ""
    shared = set.intersection(*map(set, (*base, *new)))
    batches = {one for one in shared if one.startswith("batch:")} if check == "batches" else set()
    names = batches or {one for one in shared if one.startswith("value:")}
    compared = False
    for name in sorted(names):
        known, found = [one[name] for one in base], [one[name] for one in new]
        size = max(map(abs, known))
        allowed = (_EXACT if batches else _ROUNDING) * size + 1e-12
        if max(known) - min(known) > _EXACT * size:
            allowed += _reach(known, _CHANCE / len(names))
        if allowed > size / 2 + 1e-12:
            continue  # each run has another: it tells nothing
        compared = True
        middle = sum(known) / len(known)
        if any(abs(one - middle) > allowed for one in found):
            return DIFFERS, name.split(":", 1)[1].replace("@", " after step ")
    return (SAME if compared else NOT_CHECKED), ""


def _reach(known: Sequence[float], chance: float) -> float:
    """How far from the mean another run's value lies with this probability."""
    found = deviation_of([known])
    return t_quantile(chance / 2, found.freedom) * found.sigma * sqrt(1 + 1 / len(known))
