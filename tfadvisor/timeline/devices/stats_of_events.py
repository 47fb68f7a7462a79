"""One stat of a device's events, beside them: a number or a text for each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tfadvisor.arrays import constant
from tfadvisor.timeline.intervals import BoolArray, Int64Array
from tfadvisor.timeline.sweeps import places
from tfadvisor.xplane.columns import LAST_EVENT, StatColumn

if TYPE_CHECKING:
    import numpy.typing as npt


def value_at(where: Int64Array, value: npt.NDArray[Any], positions: Int64Array, without: int) -> npt.NDArray[Any]:
    """The value at each position; of several at one position the last. without: what stands for none.

    where: the position of each value, in any order.
    """
    if not len(where):
        return np.full(len(positions), without, value.dtype)
    if (where[1:] < where[:-1]).any():
        order = np.argsort(where, kind="stable")
        where, value = where[order], value[order]
    if (where[1:] == where[:-1]).any():
        last = np.append(where[1:] != where[:-1], True)
        where, value = where[last], value[last]
    place = places(where, positions)
    found: npt.NDArray[Any] = value[place]
    found[place < 0] = without
    return found


def texts_of(column: StatColumn, events: Int64Array, offset: int) -> npt.NDArray[np.int32]:
    """Index of each event's text, counted from the offset; -1 without one."""
    column_event, code = column.codes()
    if not len(column_event) or not len(events):
        return constant(-1, len(events))
    place = places(column_event, events)
    return np.where(place >= 0, code[place] + offset, -1).astype(np.int32)


def first_texts_of(
    columns: Sequence[StatColumn], events: Int64Array, offset: int
) -> tuple[npt.NDArray[np.int32], tuple[str, ...]]:
    """(index of each event's text by the first column that has one, counted from the offset, -1 without; all texts)."""
    out = constant(-1, len(events))
    texts: tuple[str, ...] = ()
    for column in columns:
        if len(column):
            told = texts_of(column, events, offset + len(texts))
            out = np.where(out >= 0, out, told).astype(np.int32)
            texts += column.texts
    return out, texts


def numbers_of(column: StatColumn, events: Int64Array) -> tuple[Int64Array, BoolArray]:
    """(number of each event as int64, whether it has one)."""
    number, known = numbers_as_stored(column, events)
    return number.astype(np.int64, copy=False), known


def numbers_as_stored(column: StatColumn, events: Int64Array) -> tuple[Int64Array | npt.NDArray[np.int32], BoolArray]:
    """The same, in four bytes where they suffice."""
    column_event, value = column.integers_between(0, LAST_EVENT)
    if not len(column_event) or not len(events):
        return constant(0, len(events), np.int64), constant(False, len(events), np.bool_)
    place = places(column_event, events)
    known = place >= 0
    out = value[place]
    if not known.all():
        out[~known] = 0
    return out, known
