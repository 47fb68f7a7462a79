"""Which of a trace's events lie on the host's threads, and in which order: what no name
has a say in.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple, TypeAlias

import msgspec
import numpy as np

from tfadvisor.arrays import (
    NO_VALUES,
    AnyArray,
    BoolArray,
    Int32Array,
    Int64Array,
    order_of,
)
from tfadvisor.tallies import listed
from tfadvisor.timeline.intervals import Intervals, union
from tfadvisor.timeline.names.classes import is_host_plane
from tfadvisor.timeline.names.tf_data import is_pipeline_thread
from tfadvisor.trace.columns import LAST_EVENT, Events, HostTrace, Lines, StatColumn

_OTHERS = 1.25
"""Where a trace has so many times the events of its threads, theirs are worth a copy:
the others' memory can go.
"""
_MANY = 1 << 20
"""From so many events their memory matters."""
_Chosen: TypeAlias = "Int64Array | Int32Array | BoolArray | slice"
"""Which events of the columns."""


class Thread(msgspec.Struct, frozen=True):
    """One host thread. lo, hi: its range in the columns of `Threads`. is_pipeline: it
    works for tf.data only.
    """

    index: int
    name: str
    lo: int
    hi: int
    is_pipeline: bool

    @property
    def events(self) -> slice:
        """Its range in the columns."""
        return slice(self.lo, self.hi)

    def holds(self, positions: Int64Array) -> BoolArray:
        """Which positions in the columns are its own."""
        return (positions >= self.lo) & (positions < self.hi)


class ThreadLayout(msgspec.Struct, frozen=True, kw_only=True):
    """Events of all host threads: thread by thread, by start, longer ones first among
    equal starts.

    row: into HostTrace.names. The event first_event + i of the trace is at i, or where
    position_of is there at position_of[i], -1 for one that is on no host thread.
    """

    threads: tuple[Thread, ...]
    start: Int64Array
    end: Int64Array
    row: Int32Array
    first_event: int
    position_of: Int32Array | None

    def __len__(self) -> int:
        """Number of events."""
        return len(self.start)

    def when(self, events: _Chosen) -> Intervals:
        """The instants at which any of these events runs."""
        return union(self.start[events], self.end[events])

    def lengths(self, events: _Chosen) -> Int64Array:
        """How long each of these events takes, ps."""
        return self.end[events] - self.start[events]

    @property
    def until(self) -> int:
        """Behind the last event of the trace that is on a host thread."""
        inside = self.start if self.position_of is None else self.position_of
        return self.first_event + len(inside)

    def positions(self, events: Int64Array | Int32Array) -> Int64Array:
        """Positions of trace events in these columns, -1 for events that are not on a
        host thread.
        """
        position = events.astype(np.int64)
        position -= self.first_event
        elsewhere = (position < 0) | (position >= self.until - self.first_event)
        position[elsewhere] = 0
        if self.position_of is not None and len(self.position_of):
            position = self.position_of[position].astype(np.int64)
        position[elsewhere] = -1
        return position

    def integers(self, column: StatColumn) -> tuple[Int64Array, Int64Array]:
        """(position, value) of an integer stat, for the events on host threads, in
        order of position.
        """
        position, value = self.integers_as_stored(column)
        return position.astype(np.int64), value.astype(np.int64)

    def integers_as_stored(
        self,
        column: StatColumn,
    ) -> tuple[Int64Array | Int32Array, Int64Array | Int32Array]:
        """The same, each in four bytes where they suffice; not to be written to."""
        event, value = column.integers_between(self.first_event, self.until)
        if not len(event):
            return NO_VALUES, NO_VALUES
        if self.position_of is None:
            if self.first_event:
                event = event - event.dtype.type(self.first_event)
            return event, value
        position = self.position_of[event - self.first_event]
        keep = position >= 0
        if not keep.all():
            position = position[keep]
            value = value[keep]
        if (position[1:] < position[:-1]).any():
            order = order_of(position)
            position = position[order]
            value = value[order]
        return position, value

    def integers_elsewhere(
        self,
        column: StatColumn,
    ) -> Int64Array | Int32Array:
        """Values of an integer stat for the events that are on no host thread, in four
        bytes where they suffice.
        """
        _, before = column.integers_between(0, self.first_event)
        _, behind = column.integers_between(self.until, LAST_EVENT)
        parts = [before, behind]
        if self.position_of is not None:
            event, value = column.integers_between(self.first_event, self.until)
            parts.append(value[self.position_of[event - self.first_event] < 0])
        found: AnyArray = np.concatenate(parts)
        return found

    def thread_of(self, positions: Int64Array) -> Int64Array:
        """Index of the thread that each position belongs to."""
        firsts = np.array([thread.lo for thread in self.threads], np.int64)
        return np.searchsorted(firsts, positions, side="right") - 1

    def on_pipeline_threads(self, positions: Int64Array) -> BoolArray:
        """Whether each position is on a thread that works for tf.data only."""
        pipeline = np.array([thread.is_pipeline for thread in self.threads], np.bool_)
        return pipeline[self.thread_of(positions)]


class _Columns(NamedTuple):
    """Of the events of all threads."""

    start: Int64Array
    end: Int64Array
    row: Int32Array


def thread_layout(trace: HostTrace) -> ThreadLayout:
    """The threads of a host's planes. Lines of one plane with the same id are one
    thread.
    """
    lines_of_threads = _lines_of_threads(trace)
    threads = _threads(trace.lines, lines_of_threads)
    events = _events_on(trace.lines, lines_of_threads)
    columns, order = _in_order(threads, _columns_at(trace.events, events))
    first_event, position_of = _positions_of(events, order)
    return ThreadLayout(
        threads=threads,
        start=columns.start,
        end=columns.end,
        row=columns.row,
        first_event=first_event,
        position_of=position_of,
    )


def _lines_of_threads(trace: HostTrace) -> list[list[int]]:
    """The lines with events of each thread of the host."""
    lines = trace.lines
    host = [is_host_plane(plane.name) for plane in trace.planes]
    of_host = [
        line
        for line in range(len(lines))
        if host[lines.plane[line]] and lines.first[line + 1] > lines.first[line]
    ]
    groups = listed(
        ((trace.planes[int(lines.plane[line])].name, int(lines.id[line])), line)
        for line in of_host
    )
    return list(groups.values())


def _threads(lines: Lines, lines_of_threads: list[list[int]]) -> tuple[Thread, ...]:
    threads = []
    at = 0
    for index, group in enumerate(lines_of_threads):
        count = sum(int(lines.first[line + 1] - lines.first[line]) for line in group)
        name = lines.name[group[0]] or lines.display_name[group[0]]
        threads.append(Thread(index, name, at, at + count, is_pipeline_thread(name)))
        at += count
    return tuple(threads)


def _events_on(lines: Lines, lines_of_threads: list[list[int]]) -> slice | Int64Array:
    """The trace's events on the threads, thread by thread: a slice where they lie
    behind each other.
    """
    ordered = [line for group in lines_of_threads for line in group]
    alone = all(len(group) == 1 for group in lines_of_threads)
    joined = all(lines.first[a + 1] == lines.first[b] for a, b in pairwise(ordered))
    if ordered and alone and joined:
        return slice(int(lines.first[ordered[0]]), int(lines.first[ordered[-1] + 1]))
    parts = [np.arange(lines.first[line], lines.first[line + 1]) for line in ordered]
    return np.concatenate([NO_VALUES, *parts]).astype(np.int64, copy=False)


def _columns_at(every: Events, events: slice | Int64Array) -> _Columns:
    start = every.start_ps[events]
    row = every.row[events]
    # A view would keep the columns of all events.
    if isinstance(events, slice) and _OTHERS * len(start) < len(every):
        start = start.copy()
        row = row.copy()
    end = np.maximum(every.duration_ps[events], 0)
    end += start
    np.maximum(end, start, out=end)
    return _Columns(start, end, row)


def _in_order(
    threads: tuple[Thread, ...],
    columns: _Columns,
) -> tuple[_Columns, Int64Array | None]:
    """The columns with every thread sorted, and the order that does that; None where
    they are sorted already.
    """
    order = _order(threads, columns.start, columns.end)
    if order is None:
        return columns, None
    start = columns.start[order]
    end = columns.end[order]
    row = columns.row[order]
    return _Columns(start, end, row), order


def _positions_of(
    events: slice | Int64Array,
    order: Int64Array | None,
) -> tuple[int, Int32Array | None]:
    """first_event and position_of of a layout. order: in which the events are taken."""
    if isinstance(events, slice):
        if order is None:
            return events.start, None
        event = order + events.start
    else:
        event = events if order is None else events[order]
    if not len(event):
        return 0, np.empty(0, np.int32)
    first_event = int(event.min())
    position_of = np.full(int(event.max()) - first_event + 1, -1, np.int32)
    position_of[event - first_event] = np.arange(len(event), dtype=np.int32)
    return first_event, position_of


def _order(
    threads: tuple[Thread, ...],
    start: Int64Array,
    end: Int64Array,
) -> Int64Array | None:
    """The permutation that sorts every thread by start, longer first; None when all are
    sorted already.
    """
    late = (start[1:] == start[:-1]) & (end[1:] > end[:-1])
    late |= start[1:] < start[:-1]
    edges = np.array([thread.lo for thread in threads[1:]], np.int64) - 1
    late[edges] = False
    if not late.any():
        return None
    order = np.arange(len(start), dtype=np.int64)
    for thread in threads:
        part = thread.events
        if late[thread.lo : max(thread.hi - 1, thread.lo)].any():
            order[part] = thread.lo + np.lexsort((-end[part], start[part]))
    return order


def without_threads(trace: HostTrace, threads: ThreadLayout) -> HostTrace:
    """The trace with zeros for what its threads' events have in columns of their own,
    where these are many: memory that is never written to is none.
    """
    lo = threads.first_event
    hi = threads.until
    alone = threads.position_of is None or (threads.position_of >= 0).all()
    if hi - lo < _MANY or not alone:
        return trace
    every = trace.events
    pairs = (
        (every.start_ps, threads.start),
        (every.duration_ps, threads.end),
        (every.row, threads.row),
    )
    columns: list[AnyArray] = []
    for whole, own in pairs:
        others = whole
        if not np.may_share_memory(whole, own):
            others = np.zeros(len(whole), whole.dtype)
            others[:lo] = whole[:lo]
            others[hi:] = whole[hi:]
        columns.append(others)
    return msgspec.structs.replace(trace, events=Events(*columns))
