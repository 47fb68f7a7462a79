"""Short names for what the columns are made of and sorted by, and a few functions of
NumPy's own that would import numpy.ma at their first call: 14 ms of the 100 that a
small trace takes.
"""

from __future__ import annotations

from collections.abc import Sequence, Sized
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

AnyArray: TypeAlias = "npt.NDArray[Any]"
BoolArray: TypeAlias = "npt.NDArray[np.bool_]"
Int8Array: TypeAlias = "npt.NDArray[np.int8]"
Int32Array: TypeAlias = "npt.NDArray[np.int32]"
Int64Array: TypeAlias = "npt.NDArray[np.int64]"
UInt8Array: TypeAlias = "npt.NDArray[np.uint8]"

NO_VALUES: Int64Array = np.empty(0, np.int64)
"""A column without rows."""
_SHORT = 256
_BLOCK = 1 << 16
_FEW = 4
"""Numbers that are compared one by one sooner than they are looked up."""


def zeros(like: Sized) -> Int64Array:
    """A zero for each row of another column."""
    return np.zeros(len(like), np.int64)


def unknown(like: Sized) -> Int64Array:
    """-1 for each row of another column."""
    return np.full(len(like), -1, np.int64)


def falses(like: Sized) -> BoolArray:
    """A mask over the rows of another column that holds none yet."""
    return np.zeros(len(like), np.bool_)


def trues(like: Sized) -> BoolArray:
    """A mask over the rows of another column that holds all yet."""
    return np.ones(len(like), np.bool_)


def order_of(keys: AnyArray) -> Int64Array:
    """The rows by rising key, those of one key in their own order."""
    return np.argsort(keys, kind="stable")


def descending(keys: AnyArray) -> Int64Array:
    """The rows by falling key, those of one key in their own order."""
    return np.argsort(-keys, kind="stable")


def changes(values: AnyArray) -> BoolArray:
    """Where a value is another than the one before it; the first always is. One row
    for no values.
    """
    return np.append(True, values[1:] != values[:-1])


def distinct(values: AnyArray) -> AnyArray:
    """The distinct values of an integer array, ascending, as np.unique."""
    if not len(values):
        return values
    ordered = values if _is_sorted(values) else np.sort(values)
    first = np.empty(len(ordered), np.bool_)
    first[0] = True
    np.not_equal(
        ordered[1:],
        ordered[:-1],
        out=first[1:],
    )
    return ordered[first]


def _is_sorted(values: AnyArray) -> bool:
    """Of a few it is not asked: they are sorted sooner than looked at."""
    if len(values) < _SHORT:
        return False
    rises = values[1:] >= values[:-1]
    return bool(rises.all())


def used(
    rows: AnyArray,
    count: int,
) -> list[int]:
    """The distinct numbers of a column, ascending, all of them below count: without a
    sort, unlike distinct.
    """
    seen = np.zeros(count, np.bool_)
    seen[rows] = True
    return np.flatnonzero(seen).tolist()


def true_at(mask: BoolArray) -> Int64Array:
    """The indexes at which a flat mask is true, as np.flatnonzero, which takes eight
    times as long for a few.
    """
    return mask.nonzero()[0]


def constant(
    value: int,
    count: int,
    kind: npt.DTypeLike = np.int32,
) -> AnyArray:
    """A column of one value, which takes no memory and cannot be written to."""
    return np.ndarray(
        count,
        kind,
        np.array(value, kind).tobytes(),
        0,
        (0,),
    )


def ranks(values: AnyArray) -> Int64Array:
    """The rank of each integer among the distinct ones, as the inverse that np.unique
    returns.
    """
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    changes = np.zeros(len(values), np.bool_)
    np.not_equal(
        ordered[1:],
        ordered[:-1],
        out=changes[1:],
    )
    rank = np.empty(len(values), np.int64)
    rank[order] = changes.cumsum()
    return rank


def occurrence(key: Int64Array) -> Int64Array:
    """How many equal keys come before each."""
    order = np.argsort(key, kind="stable")
    ordered = key[order]
    first = np.searchsorted(ordered, ordered)
    before = np.empty(len(key), np.int64)
    before[order] = np.arange(len(key)) - first
    return before


def group_spans(
    group: Int64Array,
    start: Int64Array,
    end: Int64Array,
) -> tuple[Int64Array, Int64Array]:
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
    found = []
    for start in range(0, count, _BLOCK):
        end = min(start + _BLOCK, count)
        found.append(slice(start, end))
    return found


def is_in(
    values: AnyArray,
    chosen: Sequence[int] | AnyArray,
) -> BoolArray:
    """Whether each integer is one of the chosen, as np.isin."""
    if len(chosen) <= _FEW or values.itemsize == 1:
        found = np.zeros(len(values), np.bool_)
        for number in chosen:
            found |= values == int(number)
        return found
    ordered = distinct(np.asarray(chosen, dtype=np.int64))
    place = np.searchsorted(ordered, values)
    nearest = ordered[np.minimum(place, len(ordered) - 1)]
    return np.asarray(nearest == values, np.bool_)


def of_most(counts: AnyArray) -> int:
    """The count that more than half of these share, from 0 on; 0 where none is."""
    if not len(counts):
        return 0
    often = np.bincount(counts)
    usual = int(often.argmax())
    return usual if 2 * often[usual] > len(counts) else 0


def median(values: AnyArray) -> float:
    """The middle of the values, the mean of the two middle ones of an even number, as
    np.median.
    """
    return percentile(values, 50)


def percentile(
    values: AnyArray,
    percent: float,
) -> float:
    """Linear between the two nearest values, as np.percentile. The array must not be
    empty.
    """
    ordered = np.sort(values)
    last = len(ordered) - 1
    place = percent / 100 * last
    at = int(place)
    below = float(ordered[at])
    above = float(ordered[min(at + 1, last)])
    return below + (place - at) * (above - below)
