"""A few functions of NumPy's own that would import numpy.ma at their first call: 14 ms
of the 100 that a small trace takes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt


_SHORT = 256
_BLOCK = 1 << 16
_FEW = 4
"""Numbers that are compared one by one sooner than they are looked up."""


def distinct(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The distinct values of an integer array, ascending, as np.unique."""
    if not len(values):
        return values
    if (
        len(values) < _SHORT or not (values[1:] >= values[:-1]).all()
    ):  # a few are sorted sooner than looked at
        values = values.copy()
        values.sort()
    ordered = values
    first = np.empty(len(ordered), np.bool_)
    first[0] = True
    np.not_equal(ordered[1:], ordered[:-1], out=first[1:])
    return ordered[first]


def used(rows: npt.NDArray[Any], count: int) -> list[int]:
    """The distinct numbers of a column, ascending, all of them below count: without a
    sort, unlike distinct.
    """
    seen = np.zeros(count, np.bool_)
    seen[rows] = True
    return np.flatnonzero(seen).tolist()


def true_at(mask: npt.NDArray[np.bool_]) -> npt.NDArray[np.int64]:
    """The indexes at which a flat mask is true, as np.flatnonzero, which takes eight
    times as long for a few.
    """
    return mask.nonzero()[0]


def constant(
    value: int,
    count: int,
    kind: npt.DTypeLike = np.int32,
) -> npt.NDArray[Any]:
    """A column of one value, which takes no memory and cannot be written to."""
    return np.ndarray(count, kind, np.array(value, kind).tobytes(), 0, (0,))


def ranks(values: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    """The rank of each integer among the distinct ones, as the inverse that np.unique
    returns.
    """
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    rank = np.empty(len(values), np.int64)
    changes = np.zeros(len(values), np.bool_)
    np.not_equal(ordered[1:], ordered[:-1], out=changes[1:])
    rank[order] = changes.cumsum()
    return rank


def occurrence(key: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """How many equal keys come before each."""
    order = np.argsort(key, kind="stable")
    ordered = key[order]
    out = np.empty(len(key), np.int64)
    out[order] = np.arange(len(key)) - np.searchsorted(ordered, ordered)
    return out


def group_spans(
    group: npt.NDArray[np.int64],
    start: npt.NDArray[np.int64],
    end: npt.NDArray[np.int64],
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """(first start, last end) of each group. group: of each row, as ranks gives
    them.
    """
    groups = int(group.max()) + 1 if len(group) else 0
    begins = np.full(groups, np.iinfo(np.int64).max)
    ends = np.zeros(groups, np.int64)
    np.minimum.at(begins, group, start)
    np.maximum.at(ends, group, end)
    return begins, ends


def blocks(count: int) -> list[slice]:
    """What is worked on at once, so that memory for results on the way does not grow
    with the trace.
    """
    return [slice(lo, min(lo + _BLOCK, count)) for lo in range(0, count, _BLOCK)]


def is_in(
    values: npt.NDArray[Any], chosen: Sequence[int] | npt.NDArray[Any]
) -> npt.NDArray[np.bool_]:
    """Whether each integer is one of the chosen, as np.isin."""
    if len(chosen) <= _FEW or values.itemsize == 1:
        found = np.zeros(len(values), np.bool_)
        for one in chosen:
            found |= values == int(one)
        return found
    ordered = distinct(np.asarray(chosen, dtype=np.int64))
    place = np.minimum(np.searchsorted(ordered, values), len(ordered) - 1)
    return np.asarray(ordered[place] == values, np.bool_)


def median(values: npt.NDArray[Any]) -> float:
    """The middle of the values, the mean of the two middle ones of an even number, as
    np.median.
    """
    return percentile(values, 50)


def percentile(values: npt.NDArray[Any], percent: float) -> float:
    """Linear between the two nearest values, as np.percentile. The array must not be
    empty.
    """
    ordered = np.sort(values)
    place = percent / 100 * (len(ordered) - 1)
    below = int(place)
    above = min(below + 1, len(ordered) - 1)
    return float(ordered[below]) + (place - below) * (
        float(ordered[above]) - float(ordered[below])
    )
