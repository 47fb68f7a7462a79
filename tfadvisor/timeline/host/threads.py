"""The host's threads: their events in order, with a class each."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from tfadvisor.arrays import blocks, true_at, used
from tfadvisor.tallies import listed
from tfadvisor.timeline.intervals import (
    EMPTY,
    BoolArray,
    Int64Array,
    Intervals,
    parents,
    union,
)
from tfadvisor.timeline.names.classes import HostClass, is_host_plane
from tfadvisor.timeline.names.frames import is_frame, takes_sample
from tfadvisor.timeline.names.host_events import host_classes
from tfadvisor.timeline.names.tf_data import is_pipeline_thread
from tfadvisor.trace.columns import (
    LAST_EVENT,
    NUM_OCCURRENCES,
    Events,
    HostTrace,
    StatColumn,
)

if TYPE_CHECKING:
    import numpy.typing as npt

_FEW_NAMES = 4096
_OTHERS = 1.25
"""Where a trace has so many times the events of its threads, theirs are worth a copy:
the others' memory can go.
"""
_MANY = 1 << 20
"""From so many events their memory matters."""


class Thread(msgspec.Struct, frozen=True):
    """One host thread. lo, hi: its range in the columns of `Threads`. is_pipeline: it
    works for tf.data only.
    """

    index: int
    name: str
    lo: int
    hi: int
    is_pipeline: bool


class Threads(msgspec.Struct, frozen=True):
    """Events of all host threads: thread by thread, by start, longer ones first among
    equal starts.

    kind: a HostClass. row: into HostTrace.names. The event first_event + i of the trace
    is at i, or where position_of is there at position_of[i], -1 for one that is on no
    host thread.
    """

    threads: tuple[Thread, ...]
    start: Int64Array
    end: Int64Array
    kind: npt.NDArray[np.int8]
    row: npt.NDArray[np.int32]
    names: tuple[str, ...]
    first_event: int
    position_of: npt.NDArray[np.int32] | None
    borne: BoolArray
    """Which names any event bears, by row."""
    classes: int
    """A bit for each HostClass that an event may have: most of them are no event's in
    most traces.
    """
    dispatched: dict[int, Int64Array] = msgspec.field(default_factory=dict)
    """What `dispatches` found on each thread by its index: several questions rest on
    it.
    """
    answers: dict[Callable[[str], bool], BoolArray] = msgspec.field(
        default_factory=dict
    )
    """Which names each question wants, by row: hosts with the same names share what is
    known.
    """

    def __len__(self) -> int:
        """Number of events."""
        return len(self.start)

    def positions(self, events: Int64Array | npt.NDArray[np.int32]) -> Int64Array:
        """Positions of trace events in these columns, -1 for events that are not on a
        host thread.
        """
        count = len(self) if self.position_of is None else len(self.position_of)
        position = events.astype(np.int64)
        position -= self.first_event
        position[(position < 0) | (position >= count)] = -1
        if self.position_of is not None:
            position = (
                np.where(position >= 0, self.position_of[position], -1)
                if count
                else position
            )
        return position.astype(np.int64, copy=False)

    def integers(self, column: StatColumn) -> tuple[Int64Array, Int64Array]:
        """(position, value) of an integer stat, for the events on host threads, in
        order of position.
        """
        position, value = self.integers_as_stored(column)
        return position.astype(np.int64), value.astype(np.int64)

    def integers_as_stored(
        self,
        column: StatColumn,
    ) -> tuple[Int64Array | npt.NDArray[np.int32], Int64Array | npt.NDArray[np.int32]]:
        """The same, each in four bytes where they suffice; not to be written to."""
        count = len(self) if self.position_of is None else len(self.position_of)
        event, value = column.integers_between(
            self.first_event,
            self.first_event + count,
        )
        if not len(event):
            return np.empty(0, np.int64), np.empty(0, np.int64)
        if self.position_of is None:
            return event - event.dtype.type(
                self.first_event
            ) if self.first_event else event, value
        position = self.position_of[event - self.first_event]
        keep = position >= 0
        if not keep.all():
            position, value = position[keep], value[keep]
        if (position[1:] < position[:-1]).any():
            order = np.argsort(position, kind="stable")
            position, value = position[order], value[order]
        return position, value

    def integers_elsewhere(
        self,
        column: StatColumn,
    ) -> Int64Array | npt.NDArray[np.int32]:
        """Values of an integer stat for the events that are on no host thread, in four
        bytes where they suffice.
        """
        until = self.first_event + (
            len(self) if self.position_of is None else len(self.position_of)
        )
        parts = [
            column.integers_between(0, self.first_event)[1],
            column.integers_between(until, LAST_EVENT)[1],
        ]
        if self.position_of is not None:
            event, value = column.integers_between(self.first_event, until)
            parts.append(value[self.position_of[event - self.first_event] < 0])
        found: npt.NDArray[Any] = np.concatenate(parts)
        return found

    def thread_of(self, positions: Int64Array) -> Int64Array:
        """Index of the thread that each position belongs to."""
        firsts = np.array([thread.lo for thread in self.threads], np.int64)
        return np.searchsorted(firsts, positions, side="right") - 1

    def of(self, thread: Thread, *kinds: HostClass) -> Int64Array:
        """Positions of a thread's events of the given classes, in order."""
        found = self._of_classes(self.kind[thread.lo : thread.hi], kinds)
        found += thread.lo
        return found

    def everywhere(
        self,
        *kinds: HostClass,
        among: BoolArray | None = None,
    ) -> Int64Array:
        """Positions of all events of the given classes. among: which events count, of
        every event; None for all.
        """
        return self._of_classes(self.kind, kinds, among)

    def covered(self, chosen: BoolArray, *kinds: HostClass) -> Intervals:
        """The instants at which a chosen event of the given classes runs. chosen: of
        every event.
        """
        parts = [EMPTY]
        for part in blocks(len(self)):
            mine = self._of_classes(self.kind[part], kinds, chosen[part])
            parts.append(union(self.start[part][mine], self.end[part][mine]))
        return union(
            np.concatenate([one.starts for one in parts]),
            np.concatenate([one.ends for one in parts]),
        )

    def _of_classes(
        self,
        kind: npt.NDArray[np.int8],
        kinds: tuple[HostClass, ...],
        among: BoolArray | None = None,
    ) -> Int64Array:
        there = [one.value for one in kinds if self.classes >> one & 1]
        if not there:
            return np.empty(0, np.int64)
        found = kind == there[0]
        for one in there[1:]:
            found |= kind == one
        if among is not None:
            found &= among
        return true_at(found)

    def named(self, wanted: Callable[[str], bool]) -> Int64Array:
        """Positions of all events whose name is wanted; each distinct name is looked at
        once.
        """
        rows = self.wanted_rows(wanted)
        return (
            true_at(rows[self.row])
            if (rows & self.borne).any()
            else np.empty(0, np.int64)
        )

    def bear(
        self,
        positions: Int64Array | npt.NDArray[np.int32] | slice,
        wanted: Callable[[str], bool],
    ) -> BoolArray:
        """Which of the positions bear a wanted name. Of many names only those are
        looked at that the positions bear.
        """
        rows = self.row[positions]
        if not len(rows):
            return np.zeros(0, np.bool_)
        if wanted in self.answers or len(self.names) <= _FEW_NAMES:
            return self.wanted_rows(wanted)[rows]
        borne = np.zeros(len(self.names), np.bool_)
        borne[
            [row for row in used(rows, len(self.names)) if wanted(self.names[row])]
        ] = True
        return borne[rows]

    def wanted_rows(self, wanted: Callable[[str], bool]) -> BoolArray:
        """Which names are wanted, by row; not to be written to."""
        return _wanted_rows(self.names, self.answers, wanted)

    def on_pipeline_threads(self, positions: Int64Array) -> BoolArray:
        """Whether each position is on a thread that works for tf.data only."""
        pipeline = np.array([thread.is_pipeline for thread in self.threads], np.bool_)
        return pipeline[self.thread_of(positions)]


@lru_cache(maxsize=8)  # the hosts of a run mostly have the same names
def _answers(names: tuple[str, ...]) -> dict[Callable[[str], bool], BoolArray]:
    return {}


def _wanted_rows(
    names: tuple[str, ...],
    answers: dict[Callable[[str], bool], BoolArray],
    wanted: Callable[[str], bool],
) -> BoolArray:
    found = answers.get(wanted)
    if found is None:
        found = answers[wanted] = np.fromiter(map(wanted, names), np.bool_, len(names))
    return found


def host_threads(trace: HostTrace) -> Threads:
    """The threads of a host's planes. Lines of one plane with the same id are one
    thread.

    Events that are only counted (num_occurrences), and those of tfadvisor's own
    sampler, have no place in time and are left out of every class.
    """
    lines = trace.lines
    host = np.array([is_host_plane(plane.name) for plane in trace.planes], np.bool_)
    groups = listed(
        ((trace.planes[int(lines.plane[line])].name, int(lines.id[line])), line)
        for line in range(len(lines))
        if host[lines.plane[line]] and lines.first[line + 1] > lines.first[line]
    )
    row_kind = host_classes(trace.names.name)
    ordered = [line for group in groups.values() for line in group]
    contiguous = all(len(group) == 1 for group in groups.values()) and all(
        lines.first[a + 1] == lines.first[b] for a, b in pairwise(ordered)
    )
    threads, at = [], 0
    for index, group in enumerate(groups.values()):
        count = sum(int(lines.first[line + 1] - lines.first[line]) for line in group)
        name = lines.name[group[0]] or lines.display_name[group[0]]
        threads.append(Thread(index, name, at, at + count, is_pipeline_thread(name)))
        at += count

    event: Int64Array | None
    if contiguous and ordered:
        lo, hi = int(lines.first[ordered[0]]), int(lines.first[ordered[-1] + 1])
        start, duration, row = (
            trace.events.start_ps[lo:hi],
            trace.events.duration_ps[lo:hi],
            trace.events.row[lo:hi],
        )
        if _OTHERS * (hi - lo) < len(
            trace.events
        ):  # a view would keep the columns of all events
            start, row = start.copy(), row.copy()
        event, first_event = None, lo
    else:
        parts = [
            np.arange(lines.first[line], lines.first[line + 1]) for line in ordered
        ]
        event = (
            np.concatenate(parts).astype(np.int64) if parts else np.empty(0, np.int64)
        )
        start, duration, row = (
            trace.events.start_ps[event],
            trace.events.duration_ps[event],
            trace.events.row[event],
        )
        first_event = 0
    end = np.maximum(duration, 0)
    end += start
    np.maximum(end, start, out=end)
    order = _order(threads, start, end)
    if order is not None:
        start, end, row = start[order], end[order], row[order]
        event = order + first_event if event is None else event[order]
    answers = _answers(trace.names.name)
    end = _nested(
        threads,
        _wanted_rows(trace.names.name, answers, is_frame),
        start,
        end,
        row,
    )
    kind = row_kind[row]
    position_of = None
    if event is not None:
        first_event = int(event.min()) if len(event) else 0
        position_of = np.full(
            int(event.max()) - first_event + 1 if len(event) else 0,
            -1,
            np.int32,
        )
        position_of[event - first_event] = np.arange(len(event), dtype=np.int32)
        del event, order
    borne = np.zeros(len(row_kind), np.bool_)
    borne[row] = True
    result = Threads(
        tuple(threads),
        start,
        end,
        kind,
        row,
        trace.names.name,
        first_event,
        position_of,
        borne,
        _classes_of(row_kind[borne]),
        answers=answers,
    )
    counted, _ = result.integers(trace.stat(NUM_OCCURRENCES))
    for placeless in (
        counted,
        _samplers_own(
            threads,
            _wanted_rows(trace.names.name, answers, takes_sample),
            start,
            end,
            row,
        ),
    ):
        kind[placeless] = HostClass.OTHER
        end[placeless] = start[placeless]
    return result


def _samplers_own(
    threads: list[Thread],
    takes_sample: BoolArray,
    start: Int64Array,
    end: Int64Array,
    row: npt.NDArray[np.int32],
) -> Int64Array:
    """Positions of what a sampler does in the program's threads: what a signal calls is
    no part of what it interrupts.
    """
    found = [np.empty(0, np.int64)]
    for thread in threads if takes_sample.any() else ():
        part = slice(thread.lo, thread.hi)
        mine = takes_sample[row[part]]
        if mine.any():
            found.append(
                true_at(union(start[part][mine], end[part][mine]).contains(start[part]))
                + thread.lo
            )
    return np.concatenate(found)


def without_threads(trace: HostTrace, threads: Threads) -> HostTrace:
    """The trace with zeros for what its threads' events have in columns of their own,
    where these are many: memory that is never written to is none.
    """
    lo = threads.first_event
    hi = lo + (
        len(threads) if threads.position_of is None else len(threads.position_of)
    )
    alone = threads.position_of is None or (threads.position_of >= 0).all()
    if hi - lo < _MANY or not alone:
        return trace
    every = trace.events
    columns: list[npt.NDArray[Any]] = []
    for whole, own in (
        (every.start_ps, threads.start),
        (every.duration_ps, threads.end),
        (every.row, threads.row),
    ):
        others = whole
        if not np.may_share_memory(whole, own):
            others = np.zeros(len(whole), whole.dtype)
            others[:lo], others[hi:] = whole[:lo], whole[hi:]
        columns.append(others)
    return msgspec.structs.replace(trace, events=Events(*columns))


def _classes_of(kinds: npt.NDArray[np.int8]) -> int:
    """A bit for each class, those included that an event becomes later. NumPy 1 would
    shift by int8 into eight bits.
    """
    bits = np.left_shift(1, kinds, dtype=np.int64)
    return (
        int(np.bitwise_or.reduce(bits, initial=0))
        | 1 << HostClass.OTHER
        | 1 << HostClass.FRAME
    )


def _nested(
    threads: list[Thread],
    is_frame: BoolArray,
    start: Int64Array,
    end: Int64Array,
    row: npt.NDArray[np.int32],
) -> Int64Array:
    """The ends, with no thread's long Python frames crossing each other. is_frame: by
    row.
    """
    if not threads or not is_frame.any():
        return end
    parts = [slice(thread.lo, thread.hi) for thread in threads]
    return np.concatenate(
        [
            without_crossings(start[part], end[part], is_frame[row[part]])
            for part in parts
        ]
    )


def _order(
    threads: list[Thread],
    start: Int64Array,
    end: Int64Array,
) -> Int64Array | None:
    """The permutation that sorts every thread by start, longer first; None when all are
    sorted already.
    """
    late = (start[1:] < start[:-1]) | ((start[1:] == start[:-1]) & (end[1:] > end[:-1]))
    edges = np.array([thread.lo for thread in threads[1:]], np.int64) - 1
    late[edges] = False
    if not late.any():
        return None
    order = np.arange(len(start), dtype=np.int64)
    for thread in threads:
        if late[thread.lo : max(thread.hi - 1, thread.lo)].any():
            part = slice(thread.lo, thread.hi)
            order[part] = thread.lo + np.lexsort((-end[part], start[part]))
    return order


# Python frames that cross: one begins within another and outlives it, which no call
# stack does.

_LONG_PS = 1_000_000_000
"""Shorter frames (1 ms) take no time worth telling from the caller's."""
_MOST_ROUNDS = 64


def without_crossings(
    start: Int64Array,
    end: Int64Array,
    frames: BoolArray,
) -> Int64Array:
    """Ends of one thread's events, ps, such that long frames enclose each other or lie
    apart.

    start, end: sorted by start, longer ones first among equal starts. frames: which of
    them are Python frames.

    Where most of the later frame lies behind the end of the earlier one, or the earlier
    one begins with the recording, the earlier had ended when the later began; else the
    later one ends with it.
    """
    long = np.flatnonzero(frames & (end - start >= _LONG_PS))
    if len(long) < 2:
        return end
    recording = start[np.argmax(frames)]
    begins, ends = start[long], end[long].copy()
    for _ in range(_MOST_ROUNDS):
        inner, outer = _crossing(begins, ends)
        if not len(inner):
            break
        beyond = (ends[inner] - ends[outer] > ends[outer] - begins[inner]) | (
            begins[outer] == recording
        )
        np.minimum.at(ends, outer[beyond], begins[inner[beyond]])
        np.minimum.at(ends, inner[~beyond], ends[outer[~beyond]])
    if (ends == end[long]).all():
        return end
    mended = end.copy()
    mended[long] = ends
    return mended


def _crossing(begins: Int64Array, ends: Int64Array) -> tuple[Int64Array, Int64Array]:
    """(frames that outlive the one in which they begin, that one)."""
    outer = parents(begins, ends)
    inner = np.flatnonzero(outer >= 0)
    outer = outer[inner]
    crosses = (begins[inner] < ends[outer]) & (ends[inner] > ends[outer])
    return inner[crosses], outer[crosses]
