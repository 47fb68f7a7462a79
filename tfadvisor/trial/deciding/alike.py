"""Whether a candidate computes what the program computes, by the values of the first steps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tfadvisor.trial.result import DIFFERS, NOT_CHECKED, SAME

Values = Mapping[str, float]
"""Of one run's first steps, as the clock tells them."""
_ROUNDING = 0.01
"""Sums in another order, and products of 16 bits, differ by less."""
_EXACT = 1e-6
_SPREADS = 3.0


def compare_values(base: Sequence[Values], new: Sequence[Values], check: str) -> tuple[str, str]:
    """(same, differs or not checked; the first value that differs). base: two runs at least, or nothing can be said.

    check: batches, where what the loop reads must be the very same; values, where all else must agree as far as runs of the
    program itself do; none, where the change is meant to change results. What differs from run to run allows for as much.
    """
    if check == "none" or len(base) < 2 or not new:
        return NOT_CHECKED, ""
    shared = set.intersection(*map(set, (*base, *new)))
    batches = {one for one in shared if one.startswith("batch:")} if check == "batches" else set()
    names = batches or {one for one in shared if one.startswith("value:")}
    compared = False
    for name in sorted(names):
        known, found = [one[name] for one in base], [one[name] for one in new]
        spread = max(known) - min(known)
        size = max(map(abs, known))
        if spread > size / 2:
            continue  # each run has another: it tells nothing
        compared = True
        allowed = _SPREADS * spread + (_EXACT if batches else _ROUNDING) * size + 1e-12
        if any(one > max(known) + allowed or one < min(known) - allowed for one in found):
            return DIFFERS, name.split(":", 1)[1].replace("@", " after step ")
    return (SAME if compared else NOT_CHECKED), ""
