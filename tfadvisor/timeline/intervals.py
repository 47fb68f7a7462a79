"""Sets of instants as sorted, disjoint, half-open intervals in int64 picoseconds, and their algebra.

Every duration in a report is the length of such a set, so that overlapping events count once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import msgspec
import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

Int64Array: TypeAlias = "npt.NDArray[np.int64]"
BoolArray: TypeAlias = "npt.NDArray[np.bool_]"


class Intervals(msgspec.Struct, frozen=True):
    """starts[i] <= t < ends[i], ascending, with a gap between one interval and the next."""

    starts: Int64Array
    ends: Int64Array

    def __len__(self) -> int:
        """Number of separate intervals."""
        return len(self.starts)

    def length(self) -> int:
        """Total length in ps."""
        return int((self.ends - self.starts).sum())

    def covered_before(self, times: Int64Array) -> Int64Array:
        """How much of the set lies before each time, in ps; the difference of two is the length between them."""
        if not len(self.starts):
            return np.zeros(len(times), np.int64)
        total = np.concatenate([[0], np.cumsum(self.ends - self.starts)])
        index = np.searchsorted(self.starts, times, side="right")
        before = np.maximum(index - 1, 0)
        partial = np.minimum(times, self.ends[before]) - self.starts[before]
        return np.where(index > 0, total[before] + partial, 0).astype(np.int64)

    def within(self, lo: Int64Array, hi: Int64Array) -> Int64Array:
        """Length of the set inside each window lo[i] <= t < hi[i], in ps."""
        return self.covered_before(hi) - self.covered_before(lo)

    def contains(self, times: Int64Array) -> BoolArray:
        """Whether each time lies in the set."""
        if not len(self.starts):
            return np.zeros(len(times), np.bool_)
        index = np.searchsorted(self.starts, times, side="right") - 1
        return (index >= 0) & (times < self.ends[np.maximum(index, 0)])

    def clip(self, lo: int, hi: int) -> Intervals:
        """The part between lo and hi."""
        starts, ends = np.maximum(self.starts, lo), np.minimum(self.ends, hi)
        keep = starts < ends
        return Intervals(starts[keep], ends[keep])


EMPTY = Intervals(np.empty(0, np.int64), np.empty(0, np.int64))


def union(starts: Int64Array, ends: Int64Array) -> Intervals:
    """The instants that any of the given intervals covers; they may overlap and come in any order. Empty ones vanish.

    With starts and ends sorted apart, the i-th start opens a new interval exactly when all i intervals before it have
    ended, that is when it lies beyond the (i-1)-th end.
    """
    keep = ends > starts
    if not keep.all():
        starts, ends = starts[keep], ends[keep]
    if not len(starts):
        return EMPTY
    starts, ends = _ascending(starts), _ascending(ends)
    opens = np.empty(len(starts), np.bool_)
    opens[0] = True
    np.greater(starts[1:], ends[:-1], out=opens[1:])
    last = np.empty(len(starts), np.bool_)
    last[-1] = True
    last[:-1] = opens[1:]
    return Intervals(starts[opens], ends[last])


def _ascending(times: Int64Array) -> Int64Array:
    """Sorted; events of one stream come in order, and to look is twenty times as fast as to sort."""
    return times if (times[1:] >= times[:-1]).all() else np.sort(times)


def union_of(*sets: Intervals) -> Intervals:
    """The instants in any of the sets."""
    full = [one for one in sets if len(one)]
    if len(full) <= 1:
        return full[0] if full else EMPTY
    return union(np.concatenate([one.starts for one in full]), np.concatenate([one.ends for one in full]))


def intersection(one: Intervals, other: Intervals) -> Intervals:
    """The instants in both sets: where two are open at once."""
    return _sweep(one, other, lambda a, b: (a > 0) & (b > 0))


def difference(one: Intervals, other: Intervals) -> Intervals:
    """The instants in `one` that are not in `other`."""
    if not len(other):
        return one
    return _sweep(one, other, lambda a, b: (a > 0) & (b == 0))


def gaps(inside: Intervals, lo: int, hi: int) -> Intervals:
    """The instants between lo and hi that are not in the set."""
    window = Intervals(np.array([lo], np.int64), np.array([hi], np.int64)) if hi > lo else EMPTY
    return difference(window, inside.clip(lo, hi))


def _sweep(one: Intervals, other: Intervals, wanted) -> Intervals:  # type: ignore[no-untyped-def]
    """Walks all boundaries in order, keeping how many intervals of each set are open; ends come before starts."""
    if not len(one):
        return EMPTY
    times = np.concatenate([one.ends, other.ends, one.starts, other.starts])
    step_one = np.zeros(len(times), np.int8)
    step_other = np.zeros(len(times), np.int8)
    n, m = len(one), len(other)
    step_one[:n] = -1
    step_other[n : n + m] = -1
    step_one[n + m : 2 * n + m] = 1
    step_other[2 * n + m :] = 1
    order = np.argsort(times, kind="stable")
    times = times[order]
    keep = wanted(np.cumsum(step_one[order]), np.cumsum(step_other[order]))[:-1]
    return union(times[:-1][keep], times[1:][keep])
