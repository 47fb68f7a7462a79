"""One stat of a device's events, beside them: a number or a text for each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from tfadvisor.timeline.intervals import BoolArray, Int64Array
from tfadvisor.xplane.columns import StatColumn

if TYPE_CHECKING:
    import numpy.typing as npt


def texts_of(column: StatColumn, events: Int64Array, offset: int) -> npt.NDArray[np.int32]:
    """Index of each event's text, counted from the offset; -1 without one."""
    column_event, code = column.codes()
    out = np.full(len(events), -1, np.int32)
    if len(column_event) and len(events):
        place = np.minimum(np.searchsorted(column_event, events), len(column_event) - 1)
        hit = column_event[place] == events
        out[hit] = code[place[hit]] + offset
    return out


def first_texts_of(
    columns: Sequence[StatColumn], events: Int64Array, offset: int
) -> tuple[npt.NDArray[np.int32], tuple[str, ...]]:
    """(index of each event's text by the first column that has one, counted from the offset, -1 without; all texts)."""
    out = np.full(len(events), -1, np.int32)
    texts: tuple[str, ...] = ()
    for column in columns:
        if len(column):
            told = texts_of(column, events, offset + len(texts))
            out = np.where(out >= 0, out, told).astype(np.int32)
            texts += column.texts
    return out, texts


def numbers_of(column: StatColumn, events: Int64Array) -> tuple[Int64Array, BoolArray]:
    """(number of each event as int64, whether it has one)."""
    column_event, value = column.integers()
    out, known = np.zeros(len(events), np.int64), np.zeros(len(events), np.bool_)
    if len(column_event) and len(events):
        place = np.minimum(np.searchsorted(column_event, events), len(column_event) - 1)
        known = column_event[place] == events
        out[known] = value[place[known]]
    return out, known
