"""What one host thread does at each instant: the innermost event, and what of its chain
of callers says most.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import numpy as np
from msgspec.structs import astuple, replace

from tfadvisor.arrays import true_at
from tfadvisor.timeline.host.thread_layout import Thread
from tfadvisor.timeline.host.threads import Threads
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
from tfadvisor.timeline.names.host_activities import called_name
from tfadvisor.timeline.names.host_events import calls_function, is_single_op, op_type
from tfadvisor.timeline.names.program_calls import inside_runtime
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
    frames: BoolArray
    """A Python frame."""
    doings: npt.NDArray[np.int8]
    """What it does, as `Doing` numbers it."""
    functions: frozenset[str] = frozenset()
    """The compiled functions that the program calls."""
    runs_functions: str = ""
    """The only stage of the pipeline that runs functions of the user's, "" where there
    is none or more than one.
    """


def name_kinds(threads: Threads) -> NameKinds:
    """Of every name that the host's threads use."""
    count = len(threads.names)
    kinds = NameKinds(
        users=np.zeros(count, np.bool_),
        silent=np.zeros(count, np.bool_),
        telling=np.zeros(count, np.bool_),
        calls=np.zeros(count, np.bool_),
        executed=np.zeros(count, np.bool_),
        stage=np.zeros(count, np.bool_),
        waits=np.zeros(count, np.bool_),
        frames=np.zeros(count, np.bool_),
        doings=np.zeros(count, np.int8),
    )
    functions = set()
    running = set()
    for row in true_at(threads.borne).tolist():
        name = threads.names[row]
        kinds.doings[row] = doing_of(name)
        kinds.telling[row] = not inside_runtime(name)
        if is_frame(name):
            kinds.frames[row] = True
            kinds.users[row] = is_users_frame(name)
            kinds.silent[row] = annotates(name)
            continue
        function = called_name(name)
        if function is not None:
            functions.add(function)
        kinds.executed[row] = calls_function(name)
        is_call = function is not None or is_single_op(name)
        kinds.calls[row] = is_call or op_type(name) is not None
        path = stage_path(name)
        if path is not None:
            stage = stage_kind(path)
            kinds.waits[row] = works_ahead(stage)
            if runs_function(stage):
                running.add(path)
        kinds.stage[row] = path is not None or produced_kind(name) is not None
    only = running.pop() if len(running) == 1 else ""
    return replace(kinds, functions=frozenset(functions), runs_functions=only)


class _Nesting(msgspec.Struct, frozen=True):
    """The events of a thread that are looked at, and which encloses which."""

    row: npt.NDArray[np.int32]
    """Their names."""
    parent: Int64Array
    """The event around each, -1 for none."""

    def nearest(self, wanted: BoolArray) -> npt.NDArray[np.int32]:
        """The name of the innermost wanted event around each, itself included; -1 for
        none.
        """
        if not len(self.row):
            return np.empty(0, np.int32)
        found = enclosing(wanted, self.parent)
        return np.where(found >= 0, self.row[found], -1).astype(np.int32)

    def of_parent(self, flags: BoolArray) -> BoolArray:
        """What is true of the event around each; False for outermost ones."""
        return (self.parent >= 0) & flags[self.parent] if len(flags) else flags

    def outermost(self, wanted: BoolArray) -> BoolArray:
        """The wanted events that lie in no other one."""
        return wanted & ~self.of_parent(enclosing(wanted, self.parent) >= 0)


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
    events = np.empty(0, np.int64)
    if thread is not None:
        events = _events(threads, names, steps, thread)
    start = threads.start[events]
    end = threads.end[events]
    row = threads.row[events]
    lo, hi, who = _stretches(start, end, within)
    chains = _chains(
        lo,
        hi,
        who,
        _Nesting(row, parents(start, end)),
        names,
        _step_at(steps, start),
        threads.kind[events],
        pipeline[events],
    )
    if not gaps:
        return chains
    between = difference(within, union(lo, hi))
    before, after = _beside_gaps(start, end, row, between)
    return _with_gaps(chains, between, before, after, _step_at(steps, between.starts))


def _step_at(steps: Steps, times: Int64Array) -> npt.NDArray[np.int32]:
    """The step in which each time lies, -1 before the first."""
    return (reached(steps.starts, times) - 1).astype(np.int32)


def _stretches(
    start: Int64Array,
    end: Int64Array,
    within: Intervals,
) -> tuple[Int64Array, Int64Array, npt.NDArray[np.int32]]:
    """Those of `innermost` that have a part in these instants."""
    if not len(start):
        return within.starts[:0], within.ends[:0], np.empty(0, np.int32)
    lo, hi, who = innermost(start, end)
    inside = within.within(lo, hi) > 0
    if inside.all():
        return lo, hi, who
    return lo[inside], hi[inside], who[inside]


def _chains(
    lo: Int64Array,
    hi: Int64Array,
    who: npt.NDArray[np.int32],
    nesting: _Nesting,
    names: NameKinds,
    step: npt.NDArray[np.int32],
    kind: npt.NDArray[np.int8],
    feeds: BoolArray,
) -> Chains:
    leaf = nesting.row.astype(np.int32)
    telling = nesting.nearest(names.telling[leaf])
    users = names.users[leaf]
    user = nesting.nearest(users)
    doing = nesting.nearest(names.doings[leaf] > 0)
    called = nesting.nearest(users | nesting.of_parent(users))
    calls = names.calls[leaf]
    return Chains(
        lo=lo,
        hi=hi,
        who=who,
        leaf=leaf,
        telling=np.where(telling >= 0, telling, leaf).astype(np.int32),
        user=user,
        called=np.where(user >= 0, called, -1).astype(np.int32),
        dispatched=nesting.nearest(nesting.outermost(calls)),
        stage=nesting.nearest(names.stage[leaf]),
        doing=doing,
        does=np.where(doing >= 0, names.doings[doing], 0).astype(np.int8),
        step=step,
        kind=kind,
        compiles=nesting.nearest(kind == HostClass.COMPILE.value) >= 0,
        feeds=feeds,
    )


def _with_gaps(
    chains: Chains,
    gaps: Intervals,
    before: npt.NDArray[np.int32],
    after: npt.NDArray[np.int32],
    step: npt.NDArray[np.int32],
) -> Chains:
    none = np.full(len(gaps), -1, np.int32)
    no = np.zeros(len(gaps), np.bool_)
    number = np.arange(len(gaps), dtype=np.int32)
    of_gaps = Chains(
        lo=gaps.starts,
        hi=gaps.ends,
        who=number + np.int32(len(chains.leaf)),
        leaf=none,
        telling=none,
        user=before,
        called=after,
        dispatched=none,
        stage=none,
        doing=none,
        does=np.zeros(len(gaps), np.int8),
        step=step,
        kind=np.full(len(gaps), HostClass.OTHER.value, np.int8),
        compiles=no,
        feeds=no,
    )
    pairs = zip(astuple(chains), astuple(of_gaps), strict=True)
    return Chains(*map(np.concatenate, pairs))


def _events(
    threads: Threads,
    names: NameKinds,
    steps: Steps,
    thread: Thread,
) -> Int64Array:
    """Positions of a thread's events that say something: no marker around a whole step,
    no frame of the profiler's.
    """
    start = threads.start[thread.lo : thread.hi]
    end = threads.end[thread.lo : thread.hi]
    row = threads.row[thread.lo : thread.hi]
    in_steps = (start < steps.ends[-1]) & (end > steps.starts[0])
    inside = _longest(true_at((end > start) & in_steps), end - start)
    begins = start[inside]
    step = np.minimum(reached(steps.starts, begins - np.int64(1)), len(steps) - 1)
    around = begins <= steps.starts[step]
    around &= end[inside] >= steps.span_ends[step]
    mine = row[inside]
    says = ~around | names.frames[mine] | names.calls[mine]
    return inside[says & ~names.silent[mine]] + thread.lo


def _longest(events: Int64Array, length: Int64Array) -> Int64Array:
    """Of too many events those that take longest, in their order."""
    if len(events) <= _MOST_EVENTS:
        return events
    shortest = len(events) - _MOST_EVENTS
    bound = np.partition(length[events], shortest)[shortest]
    kept: Int64Array = events[length[events] >= bound]
    return kept[: 2 * _MOST_EVENTS]


def _beside_gaps(
    start: Int64Array,
    end: Int64Array,
    row: npt.NDArray[np.int32],
    gaps: Intervals,
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]:
    """(event before, event after) each gap, as rows."""
    none = np.full(len(gaps), -1, np.int32)
    if not len(start) or not len(gaps):
        return none, none
    last = len(start) - 1
    order = np.argsort(end, kind="stable")
    before = reached(end[order], gaps.starts) - 1
    after = reached(start, gaps.ends - 1)
    ended = row[order[np.maximum(before, 0)]]
    begun = row[np.minimum(after, last)]
    return (
        np.where(before >= 0, ended, -1).astype(np.int32),
        np.where(after <= last, begun, -1).astype(np.int32),
    )
