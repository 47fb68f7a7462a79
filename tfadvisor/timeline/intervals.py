"""Sets of instants as sorted, disjoint, half-open intervals in int64 picoseconds, their
algebra, and the nesting of events.

Every duration in a report is the length of such a set, so that overlapping events count
once.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np

from tfadvisor.arrays import (
    NO_VALUES,
    BoolArray,
    Int32Array,
    Int64Array,
    blocks,
    falses,
    zeros,
)
from tfadvisor.timeline import sweeps


class Intervals(msgspec.Struct, frozen=True):
    """starts[i] <= t < ends[i], ascending, with a gap between one interval and the
    next.
    """

    starts: Int64Array
    ends: Int64Array

    def __len__(self) -> int:
        """Number of separate intervals."""
        return len(self.starts)

    def length(self) -> int:
        """Total length in ps."""
        return sum(
            int((self.ends[part] - self.starts[part]).sum())
            for part in blocks(len(self))
        )

    def within(self, lo: Int64Array, hi: Int64Array) -> Int64Array:
        """Length of the set inside each window lo[i] <= t < hi[i], in ps."""
        if not len(self.starts):
            return zeros(lo)
        return sweeps.within(
            self.starts,
            self.ends,
            np.ascontiguousarray(lo),
            np.ascontiguousarray(hi),
        )

    def contains(self, times: Int64Array) -> BoolArray:
        """Whether each time lies in the set."""
        if not len(self.starts):
            return falses(times)
        return sweeps.contains(self.starts, self.ends, np.ascontiguousarray(times))

    def clip(self, lo: int, hi: int) -> Intervals:
        """The part between lo and hi, which shares the memory of a set that neither
        cuts.
        """
        mine = slice(
            int(self.ends.searchsorted(lo, "right")),
            int(self.starts.searchsorted(hi, "left")),
        )
        starts = self.starts[mine]
        ends = self.ends[mine]
        if not len(starts):
            return EMPTY
        if starts[0] < lo or ends[-1] > hi:
            starts = np.maximum(starts, lo)
            ends = np.minimum(ends, hi)
        return Intervals(starts, ends)


EMPTY = Intervals(NO_VALUES, NO_VALUES)


def union(starts: Int64Array, ends: Int64Array) -> Intervals:
    """The instants that any of the given intervals covers; they may overlap and come in
    any order. Empty ones vanish.

    The set shares the arrays' memory where they are such a set already.
    """
    if not len(starts):
        return EMPTY
    return _set(sweeps.united(np.ascontiguousarray(starts), np.ascontiguousarray(ends)))


def union_where(starts: Int64Array, ends: Int64Array, mask: BoolArray) -> Intervals:
    """The union of the given intervals for which the mask holds: mostly of all or none,
    of which it makes no copies.
    """
    if mask.all():
        return union(starts, ends)
    return union(starts[mask], ends[mask]) if mask.any() else EMPTY


def union_of(*sets: Intervals) -> Intervals:
    """The instants in any of the sets."""
    full = sorted((set_ for set_ in sets if len(set_)), key=len)
    if not full:
        return EMPTY
    found = full[0]
    for instants in full[1:]:
        found = _set(
            sweeps.merged(found.starts, found.ends, instants.starts, instants.ends)
        )
    return found


def intersection(one: Intervals, other: Intervals) -> Intervals:
    """The instants in both sets."""
    if not len(one) or not len(other):
        return EMPTY
    if len(other) == 1:
        return one.clip(int(other.starts[0]), int(other.ends[0]))
    if len(one) == 1:
        return other.clip(int(one.starts[0]), int(one.ends[0]))
    return _set(sweeps.common(one.starts, one.ends, other.starts, other.ends))


def difference(one: Intervals, other: Intervals) -> Intervals:
    """The instants in `one` that are not in `other`."""
    if not len(one) or not len(other):
        return one
    return _set(sweeps.without(one.starts, one.ends, other.starts, other.ends))


def within_all(sets: Sequence[Intervals], lo: Int64Array, hi: Int64Array) -> Int64Array:
    """Length of each set inside each window lo[i] <= t < hi[i], in ps, added up: in one
    pass however many sets there are.

    Before a time lies, of every interval that has begun, time - start, less time - end
    where it has ended. Sums that pass 64 bits come back with their differences.
    """
    if len(sets) == 1:
        return sets[0].within(lo, hi)
    starts = np.sort(np.concatenate([set_.starts for set_ in sets]), kind="stable")
    ends = np.sort(np.concatenate([set_.ends for set_ in sets]), kind="stable")
    first = np.append(0, np.cumsum(starts))
    last = np.append(0, np.cumsum(ends))

    def before(times: Int64Array) -> Int64Array:
        begun = sweeps.reached(starts, times)
        ended = sweeps.reached(ends, times)
        covered: Int64Array = times * (begun - ended) - first[begun] + last[ended]
        return covered

    return before(hi) - before(lo)


def _set(bounds: tuple[Int64Array, Int64Array]) -> Intervals:
    return Intervals(*bounds) if len(bounds[0]) else EMPTY


# Which event is innermost at each instant of one thread, and who encloses whom.


def parents(starts: Int64Array, ends: Int64Array) -> Int64Array:
    """Index of the innermost event that encloses each event, -1 for outermost ones.

    Events must be sorted by start, longer ones first among equal starts. One without
    length counts as one picosecond long.
    """
    return sweeps.parents(np.ascontiguousarray(starts), np.ascontiguousarray(ends))


def innermost(
    starts: Int64Array,
    ends: Int64Array,
) -> tuple[Int64Array, Int64Array, Int32Array]:
    """(from, to, event) of the stretches of time covered by any event, with the
    innermost event of each.

    Events must be sorted by start, longer ones first among equal starts, and have a
    positive length. Stretches come in order of time, neighbours of the same event
    joined.
    """
    return sweeps.innermost(np.ascontiguousarray(starts), np.ascontiguousarray(ends))
