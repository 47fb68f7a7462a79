"""What one host thread does at each instant: the innermost event, and what of its chain
of callers says most.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import numpy as np

from tfadvisor.arrays import true_at
from tfadvisor.timeline.host.threads import Thread, Threads
from tfadvisor.timeline.intervals import (
    BoolArray,
    Int64Array,
    Intervals,
    difference,
    innermost,
    parents,
    union,
)
from tfadvisor.timeline.names.classes import HostClass
from tfadvisor.timeline.names.doings import doing_of
from tfadvisor.timeline.names.frames import annotates, is_frame, is_users_frame
from tfadvisor.timeline.names.host_events import (
    called_function,
    calls_function,
    is_single_op,
    op_type,
)
from tfadvisor.timeline.names.program_calls import inside_runtime, jitted_function
from tfadvisor.timeline.names.tf_data import (
    produced_kind,
    runs_function,
    stage_kind,
    stage_path,
    works_ahead,
)
from tfadvisor.timeline.sweeps import enclosing, reached
from tfadvisor.timeline.timeline_parts import Steps

if TYPE_CHECKING:
    import numpy.typing as npt

_MOST_EVENTS = 3_000_000
"""Of one thread that are looked at, the longest; the time of the others belongs to what
they lie in.
"""


class NameKinds(msgspec.Struct, frozen=True):
    """What each distinct name of a host's events says, worked out once: shape
    (names,).
    """

    users: BoolArray
    """A function of the user's program."""
    silent: BoolArray
    """The profiler's own frame."""
    telling: BoolArray
    """No event inside a runtime."""
    calls: BoolArray
    """It names the function or op that is dispatched."""
    executed: BoolArray
    """It calls a tf.function, whose ops TensorFlow's executor runs on other threads."""
    stage: BoolArray
    """A stage of a tf.data pipeline."""
    waits: BoolArray
    """A stage that works ahead: where it is innermost, it waits."""
    functions: frozenset[str]
    """The compiled functions that the program calls."""
    runs_functions: str
    """The only stage of the pipeline that runs functions of the user's, "" where there
    is none or more than one.
    """
    frames: BoolArray
    """A Python frame."""
    doings: npt.NDArray[np.int8]
    """What it does, as `Doing` numbers it."""


def name_kinds(threads: Threads) -> NameKinds:
    """Of every name that the host's threads use."""
    users, silent, telling, calls, executed, stage, waits, frames = (
        np.zeros(len(threads.names), np.bool_) for _ in range(8)
    )
    doings = np.zeros(len(threads.names), np.int8)
    functions = set()
    running = set()
    for row in true_at(threads.borne).tolist():
        name = threads.names[row]
        doings[row] = doing_of(name)
        telling[row] = not inside_runtime(name)
        if is_frame(name):
            users[row], silent[row], frames[row] = (
                is_users_frame(name),
                annotates(name),
                True,
            )
            continue
        function = called_name(name)
        if function is not None:
            functions.add(function)
        executed[row] = calls_function(name)
        calls[row] = (
            function is not None or is_single_op(name) or op_type(name) is not None
        )
        path = stage_path(name)
        if path is not None:
            stage[row], waits[row] = True, works_ahead(stage_kind(path))
            if runs_function(stage_kind(path)):
                running.add(path)
        stage[row] |= produced_kind(name) is not None
    only = running.pop() if len(running) == 1 else ""
    return NameKinds(
        users,
        silent,
        telling,
        calls,
        executed,
        stage,
        waits,
        frozenset(functions),
        only,
        frames,
        doings,
    )


def called_name(name: str) -> str | None:
    """The compiled function that an event is a call of; None for other events."""
    return jitted_function(name) or (
        called_function(name) if calls_function(name) else None
    )


class Chains(msgspec.Struct, frozen=True):
    """What a thread does at each stretch of its time, and of each of its events the
    name (row) of what says most.

    Gaps between events follow the events. Rows are -1 where nothing is named.
    """

    lo: Int64Array
    """Shape (stretches,), like hi and who. Ascending up to the gaps."""
    hi: Int64Array
    who: npt.NDArray[np.int32]
    """The innermost event, or the gap."""
    leaf: npt.NDArray[np.int32]
    """The event itself; -1 for a gap. Shape (events and gaps,), like all that follow.
    """
    telling: npt.NDArray[np.int32]
    """The innermost event that is not inside a runtime, else the event itself."""
    user: npt.NDArray[np.int32]
    """The innermost function of the user's program around it; of a gap the event after
    which it begins.
    """
    called: npt.NDArray[np.int32]
    """What that function calls; itself where it calls nothing. Of a gap the event that
    ends it.
    """
    dispatched: npt.NDArray[np.int32]
    """The outermost event around it that names a function or op to be dispatched."""
    stage: npt.NDArray[np.int32]
    """The innermost stage of a pipeline around it."""
    doing: npt.NDArray[np.int32]
    """The innermost event around it that says what is done."""
    does: npt.NDArray[np.int8]
    """What that is, as `Doing` numbers it; 0 for unknown."""
    step: npt.NDArray[np.int32]
    """The step in which it begins, -1 before the first."""
    kind: npt.NDArray[np.int8]
    """Its HostClass, OTHER of a gap."""
    compiles: BoolArray
    """Whether it is compiling or inside that."""
    feeds: BoolArray
    """Whether it works for the input pipeline."""

    def gaps(self) -> Intervals:
        """When nothing of the thread is recorded."""
        gap = self.leaf[self.who] < 0
        return Intervals(self.lo[gap], self.hi[gap])


def chains_of(
    threads: Threads,
    names: NameKinds,
    steps: Steps,
    thread: Thread | None,
    pipeline: BoolArray,
    *,
    gaps: bool,
) -> Chains:
    """Of the counted steps. Without a thread all is one gap. pipeline: which of all
    events work for the input pipeline. gaps: whether the time between events counts
    too.
    """
    within = steps.steady_time
    if thread is not None:
        events = _events(threads, names, steps, thread)
    else:
        events = np.empty(0, np.int64)
    start = threads.start[events]
    end = threads.end[events]
    row = threads.row[events]
    lo = within.starts[:0]
    hi = within.ends[:0]
    who = np.empty(0, np.int32)
    parent = np.empty(0, np.int64)
    if len(events):
        lo, hi, who = innermost(start, end)
        parent = parents(start, end)
        inside = within.within(lo, hi) > 0
        if not inside.all():
            lo = lo[inside]
            hi = hi[inside]
            who = who[inside]

    def nearest(wanted: BoolArray) -> npt.NDArray[np.int32]:
        found = enclosing(wanted, parent)
        if len(row):
            return np.where(found >= 0, row[found], -1).astype(np.int32)
        return np.empty(0, np.int32)

    users = names.users[row]
    calls = names.calls[row]
    kind = threads.kind[events]
    leaf = row.astype(np.int32)
    telling = nearest(names.telling[row])
    user = nearest(users)
    doing = nearest(names.doings[row] > 0)
    called = np.where(user >= 0, nearest(users | _at(users, parent)), -1).astype(
        np.int32
    )
    one = Chains(
        lo=lo,
        hi=hi,
        who=who,
        leaf=leaf,
        telling=np.where(telling >= 0, telling, leaf).astype(np.int32),
        user=user,
        called=called,
        dispatched=nearest(calls & ~_at(enclosing(calls, parent) >= 0, parent)),
        stage=nearest(names.stage[row]),
        doing=doing,
        does=np.where(doing >= 0, names.doings[doing], 0).astype(np.int8),
        step=(reached(steps.starts, start) - 1).astype(np.int32),
        kind=kind,
        compiles=nearest(kind == HostClass.COMPILE.value) >= 0,
        feeds=pipeline[events],
    )
    if not gaps:
        return one
    between = difference(within, union(lo, hi))
    before, after = _around(start, end, row, between)
    return _with_gaps(one, between, before, after, steps)


def _with_gaps(
    one: Chains,
    gaps: Intervals,
    before: npt.NDArray[np.int32],
    after: npt.NDArray[np.int32],
    steps: Steps,
) -> Chains:
    none = np.full(len(gaps), -1, np.int32)
    no = np.zeros(len(gaps), np.bool_)
    known = {
        **{
            "lo": gaps.starts,
            "hi": gaps.ends,
            "user": before,
            "called": after,
            "compiles": no,
            "feeds": no,
            "does": np.zeros(len(gaps), np.int8),
        },
        "step": (reached(steps.starts, gaps.starts) - 1).astype(np.int32),
        "who": np.arange(len(gaps), dtype=np.int32) + np.int32(len(one.leaf)),
        "kind": np.full(len(gaps), HostClass.OTHER.value, np.int8),
    }
    columns = {
        name: np.concatenate([getattr(one, name), known.get(name, none)])
        for name in one.__struct_fields__
    }
    return Chains(**columns)


def _events(
    threads: Threads,
    names: NameKinds,
    steps: Steps,
    thread: Thread,
) -> Int64Array:
    """Positions of a thread's events that say something: no marker around a whole step,
    no frame of the profiler's.
    """
    start, end, row = (
        one[thread.lo : thread.hi] for one in (threads.start, threads.end, threads.row)
    )
    in_steps = (start < steps.ends[-1]) & (end > steps.starts[0])
    inside = _longest(true_at((end > start) & in_steps), end - start)
    step = np.minimum(
        reached(steps.starts, start[inside] - np.int64(1)), len(steps) - 1
    )
    around = (start[inside] <= steps.starts[step]) & (
        end[inside] >= steps.span_ends[step]
    )
    mine = row[inside]
    return (
        inside[(~around | names.frames[mine] | names.calls[mine]) & ~names.silent[mine]]
        + thread.lo
    )


def _longest(events: Int64Array, length: Int64Array) -> Int64Array:
    """Of too many events those that take longest, in their order."""
    if len(events) <= _MOST_EVENTS:
        return events
    shortest = len(events) - _MOST_EVENTS
    bound = np.partition(length[events], shortest)[shortest]
    kept: Int64Array = events[length[events] >= bound]
    return kept[: 2 * _MOST_EVENTS]


def _at(flags: BoolArray, index: Int64Array) -> BoolArray:
    """flags[index], False where the index is -1."""
    return (index >= 0) & flags[index] if len(flags) else flags


def _around(
    start: Int64Array,
    end: Int64Array,
    row: npt.NDArray[np.int32],
    gaps: Intervals,
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]:
    """(event before, event after) each gap, as rows."""
    none = np.full(len(gaps), -1, np.int32)
    if not len(start) or not len(gaps):
        return none, none
    order = np.argsort(end, kind="stable")
    before = reached(end[order], gaps.starts) - 1
    after = reached(start, gaps.ends - 1)
    return (
        np.where(before >= 0, row[order[np.maximum(before, 0)]], -1).astype(np.int32),
        np.where(after < len(start), row[np.minimum(after, len(start) - 1)], -1).astype(
            np.int32
        ),
    )
