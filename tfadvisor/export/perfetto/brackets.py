"""Events of one line as brackets: when each opens and closes, so that what opens last closes first.

Trace formats with begin and end events need that. Where events of a line only overlap, they are laid out in lanes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import numpy as np

if TYPE_CHECKING:
    from tfadvisor.timeline.intervals import BoolArray, Int64Array


class Brackets(msgspec.Struct, frozen=True):
    """Two rows an event, by time. event: index into what was given. opens: whether it begins here."""

    event: Int64Array
    opens: BoolArray


def brackets(start: Int64Array, end: Int64Array) -> Brackets:
    """Of events that nest, in any order, none ending before it begins.

    At one instant ends come first, inner ones before outer ones; then begins, longer events first; then events without
    length, each closed at once.
    """
    order = np.lexsort((-end, start))
    lo, hi = start[order], end[order]
    count = len(order)
    rank = np.arange(count, dtype=np.int64)
    point = lo == hi
    time = np.concatenate([lo, hi])
    phase = np.concatenate([np.where(point, 2, 1), np.where(point, 2, 0)]).astype(np.int8)
    tie = np.concatenate([np.where(point, 2 * rank, rank), np.where(point, 2 * rank + 1, -rank)])
    sequence = np.lexsort((tie, phase, time))
    opens = sequence < count
    return Brackets(order[np.where(opens, sequence, sequence - count)], opens)


def nests(found: Brackets) -> bool:
    """Whether every bracket closes the one that was opened last."""
    if not len(found.event):
        return True
    depth = np.cumsum(np.where(found.opens, 1, -1))
    if depth.min() < 0:
        return False
    level = np.where(found.opens, depth, depth + 1)
    by_level = found.event[np.argsort(level, kind="stable")]
    return bool((by_level[0::2] == by_level[1::2]).all())


def lanes(start: Int64Array, end: Int64Array) -> list[Int64Array]:
    """Indices of events that nest among each other, lane by lane; a single lane where all do."""
    everything = np.arange(len(start), dtype=np.int64)
    if nests(brackets(start, end)):
        return [everything]
    found: list[list[int]] = []
    open_: list[list[int]] = []
    order = np.lexsort((-end, start))
    for event, lo, hi in zip(order.tolist(), start[order].tolist(), end[order].tolist(), strict=True):
        for lane, ends in zip(found, open_, strict=True):
            while ends and ends[-1] <= lo:
                ends.pop()
            if not ends or ends[-1] >= hi:
                lane.append(event)
                ends.append(hi)
                break
        else:
            found.append([event])
            open_.append([hi])
    return [np.array(lane, np.int64) for lane in found]
