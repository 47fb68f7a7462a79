"""The period of a sequence of names that a training loop repeats, for traces without step markers."""

from __future__ import annotations

import msgspec
import numpy as np

from tfadvisor.arrays import true_at
from tfadvisor.timeline.intervals import Int64Array

_LOOKED_AT = 1 << 17
_MOST_LAGS = 96
_LEAST_MATCH = 0.85
_AS_GOOD = 0.97


class Period(msgspec.Struct, frozen=True):
    """length: items a cycle. match: share of items that equal the one a cycle earlier. firsts: where cycles begin."""

    length: int
    match: float
    firsts: Int64Array


def find_period(codes: Int64Array, starts: Int64Array, ends: Int64Array) -> Period | None:
    """The shortest cycle that explains the sequence, cut where the largest pauses are; None when nothing repeats thrice.

    codes: name of each item, in order of time. starts, ends: its time, ps.

    Candidate lengths are the distances between successive uses of each name. Of those whose match is nearly the best,
    the shortest wins. A cycle begins after the longest average pause.
    """
    n = min(len(codes), _LOOKED_AT)
    lags = _candidate_lags(codes[:n])
    if not len(lags):
        return None
    match = np.array([float(np.mean(codes[lag:n] == codes[: n - lag])) for lag in lags.tolist()])
    best = float(match.max())
    if best < _LEAST_MATCH:
        return None
    length = int(lags[match >= best * _AS_GOOD].min())
    pause = np.zeros(len(codes), np.int64)
    pause[1:] = np.maximum(starts[1:] - np.maximum.accumulate(ends)[:-1], 0)
    by_phase = pause[: len(codes) // length * length].reshape(-1, length)[1:].mean(axis=0)
    return Period(length, best, _cycle_starts(codes, length, int(np.argmax(by_phase))))


def _candidate_lags(codes: Int64Array) -> Int64Array:
    """Distances between successive uses of a name that leave room for three cycles, the most frequent first."""
    order = np.argsort(codes, kind="stable")
    same = codes[order][1:] == codes[order][:-1]
    distances = np.diff(order)[same]
    distances = distances[distances * 3 <= len(codes)]
    lags, count = np.unique(distances, return_counts=True)
    weight = lags * count  # a long cycle has few repeats but each explains many items
    return np.sort(lags[np.argsort(-weight, kind="stable")][:_MOST_LAGS])


def _cycle_starts(codes: Int64Array, length: int, phase: int) -> Int64Array:
    """Where cycles begin: at each use of the name at this phase if a cycle uses it once, else every `length` items."""
    regular = np.arange(phase, len(codes), length, dtype=np.int64)
    uses = true_at(codes == codes[phase])
    if abs(len(uses) - len(regular)) <= 1:
        return uses.astype(np.int64)
    return regular
