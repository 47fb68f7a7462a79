"""The host's threads: their events in order, with a class each."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import msgspec
import numpy as np

from tfadvisor.arrays import (
    NO_VALUES,
    BoolArray,
    Int8Array,
    Int32Array,
    Int64Array,
    blocks,
    falses,
    true_at,
    used,
)
from tfadvisor.timeline.host.crossing_frames import without_crossings
from tfadvisor.timeline.host.thread_layout import Thread, ThreadLayout, thread_layout
from tfadvisor.timeline.intervals import EMPTY, Intervals, union
from tfadvisor.timeline.names.classes import HostClass
from tfadvisor.timeline.names.frames import is_frame, takes_sample
from tfadvisor.timeline.names.host_events import host_classes
from tfadvisor.trace.columns import NUM_OCCURRENCES, HostTrace

_FEW_NAMES = 4096
_Answers = dict[Callable[[str], bool], BoolArray]
"""Which names each question wants, by row."""


class Threads(ThreadLayout, frozen=True, kw_only=True):
    """Events of all host threads in their layout, each with its class."""

    kind: Int8Array
    """A HostClass of each event."""
    names: tuple[str, ...]
    """Of events, by row."""
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
    called: dict[str, Int64Array] = msgspec.field(default_factory=dict)
    """What `calls_of_modules` found, which each device asks."""
    answers: _Answers = msgspec.field(default_factory=dict)
    """Hosts with the same names share what is known of them."""

    def of(self, thread: Thread, *kinds: HostClass) -> Int64Array:
        """Positions of a thread's events of the given classes, in order."""
        found = self._of_classes(self.kind[thread.events], kinds)
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
        starts = [part.starts for part in parts]
        ends = [part.ends for part in parts]
        return union(np.concatenate(starts), np.concatenate(ends))

    def _of_classes(
        self,
        kind: Int8Array,
        kinds: tuple[HostClass, ...],
        among: BoolArray | None = None,
    ) -> Int64Array:
        there = [wanted.value for wanted in kinds if self.classes >> wanted & 1]
        if not there:
            return NO_VALUES
        found = kind == there[0]
        for wanted in there[1:]:
            found |= kind == wanted
        if among is not None:
            found &= among
        return true_at(found)

    def named(self, wanted: Callable[[str], bool]) -> Int64Array:
        """Positions of all events whose name is wanted; each distinct name is looked at
        once.
        """
        rows = self.wanted_rows(wanted)
        if not (rows & self.borne).any():
            return NO_VALUES
        return true_at(rows.take(self.row))

    def bear(
        self,
        positions: Int64Array | Int32Array | slice,
        wanted: Callable[[str], bool],
    ) -> BoolArray:
        """Which of the positions bear a wanted name. Of many names only those are
        looked at that the positions bear.
        """
        rows = self.row[positions]
        if not len(rows):
            return np.zeros(0, np.bool_)
        if wanted in self.answers or len(self.names) <= _FEW_NAMES:
            answer = self.wanted_rows(wanted)
            return answer.take(rows) if answer.any() else falses(rows)
        borne = falses(self.names)
        for row in used(rows, len(self.names)):
            borne[row] = wanted(self.names[row])
        return borne.take(rows)

    def wanted_rows(self, wanted: Callable[[str], bool]) -> BoolArray:
        """Which names are wanted, by row; not to be written to."""
        return _wanted_rows(self.names, self.answers, wanted)


@lru_cache(maxsize=8)  # the hosts of a run mostly have the same names
def _answers(names: tuple[str, ...]) -> _Answers:
    return {}


def _wanted_rows(
    names: tuple[str, ...],
    answers: _Answers,
    wanted: Callable[[str], bool],
) -> BoolArray:
    found = answers.get(wanted)
    if found is None:
        found = np.fromiter(map(wanted, names), np.bool_, len(names))
        answers[wanted] = found
    return found


def host_threads(trace: HostTrace) -> Threads:
    """The threads of a host's planes, each event with its class.

    Events that are only counted (num_occurrences), and those of tfadvisor's own
    sampler, have no place in time and are left out of every class.
    """
    layout = thread_layout(trace)
    names = trace.names.name
    answers = _answers(names)
    end = _nested_ends(layout, _wanted_rows(names, answers, is_frame))
    counted, _ = layout.integers(trace.stat(NUM_OCCURRENCES))
    own = _samplers_own(layout, end, _wanted_rows(names, answers, takes_sample))

    kind_of_name = host_classes(names)
    kind = kind_of_name.take(layout.row)
    for placeless in (counted, own):
        kind[placeless] = HostClass.OTHER
        end[placeless] = layout.start[placeless]
    borne = falses(names)
    borne[layout.row] = True
    return Threads(
        threads=layout.threads,
        start=layout.start,
        end=end,
        row=layout.row,
        first_event=layout.first_event,
        position_of=layout.position_of,
        kind=kind,
        names=names,
        borne=borne,
        classes=_classes_of(kind_of_name[borne]),
        answers=answers,
    )


def _nested_ends(layout: ThreadLayout, is_frame: BoolArray) -> Int64Array:
    """The ends, with no thread's long Python frames crossing each other. is_frame: by
    row.
    """
    if not layout.threads or not is_frame.any():
        return layout.end
    ends = []
    for thread in layout.threads:
        part = thread.events
        frames = is_frame.take(layout.row[part])
        ends.append(without_crossings(layout.start[part], layout.end[part], frames))
    return np.concatenate(ends)


def _samplers_own(
    layout: ThreadLayout,
    end: Int64Array,
    takes_sample: BoolArray,
) -> Int64Array:
    """Positions of what a sampler does in the program's threads: what a signal calls is
    no part of what it interrupts. takes_sample: by row.
    """
    found = [NO_VALUES]
    for thread in layout.threads if takes_sample.any() else ():
        part = thread.events
        start = layout.start[part]
        mine = takes_sample.take(layout.row[part])
        if mine.any():
            sampling = union(start[mine], end[part][mine])
            found.append(thread.lo + true_at(sampling.contains(start)))
    return np.concatenate(found)


def _classes_of(kinds: Int8Array) -> int:
    """A bit for each class, those included that an event becomes later. NumPy 1 would
    shift by int8 into eight bits.
    """
    bits = np.left_shift(1, kinds, dtype=np.int64)
    found = int(np.bitwise_or.reduce(bits, initial=0))
    return found | 1 << HostClass.OTHER | 1 << HostClass.FRAME
