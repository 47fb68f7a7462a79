"""Which time a finding is about."""

from __future__ import annotations

import numpy as np

from tfadvisor.timeline.intervals import Int64Array, Intervals, intersection, union
from tfadvisor.vocabulary import TimeClass

_OF_CATEGORY = {
    "imbalance": TimeClass.COLLECTIVE,
    "precision": TimeClass.COMPUTE,
    "kernel": TimeClass.COMPUTE,
    "placement": TimeClass.TRANSFER,
}


def class_of(category: str) -> TimeClass | None:
    """The class of time that findings of a category are about; None where it is about none, or about idle time."""
    by_name = {one.name.lower(): one for one in TimeClass if one is not TimeClass.IDLE}
    return by_name.get(category) or _OF_CATEGORY.get(category)


def longest(instants: Intervals, starts: Int64Array, ends: Int64Array, most: int) -> Intervals:
    """The part of the instants inside the windows; where that is more than so many pieces, the longest of them."""
    inside = _cut(intersection(instants, union(starts, ends)), starts)
    if len(inside) <= most:
        return inside
    chosen = np.sort(np.argsort(inside.starts - inside.ends, kind="stable")[:most])
    return Intervals(inside.starts[chosen], inside.ends[chosen])


def _cut(instants: Intervals, places: Int64Array) -> Intervals:
    """Instants that go on across a place in two pieces, so that each lies in one step."""
    index = np.searchsorted(instants.starts, places, side="left") - 1
    inside = (index >= 0) & (places < instants.ends[np.maximum(index, 0)]) if len(instants) else np.zeros(0, np.bool_)
    if not inside.any():
        return instants
    cuts = places[inside]
    return Intervals(np.sort(np.append(instants.starts, cuts)), np.sort(np.append(instants.ends, cuts)))
