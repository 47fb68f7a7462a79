"""The time that a finding claims, and the longest stretches of it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

import numpy as np

from tfadvisor.timeline.intervals import EMPTY, Int64Array, Intervals, difference, intersection, union, union_of
from tfadvisor.vocabulary import TimeClass


def claimed(classes: Mapping[TimeClass, Intervals], claims: Collection[str]) -> Iterator[tuple[TimeClass, Intervals]]:
    """Each class that a finding claims with its instants, those taken out that a class before it has: devices differ in
    what they do at an instant, and a track shows one class at a time."""
    taken = EMPTY
    for one in TimeClass:
        if one.label in claims:
            yield one, difference(classes[one], taken)
            taken = union_of(taken, classes[one])


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
