"""What one host thread does at each instant: the innermost event, and what of its chain
of callers says most.
"""

from __future__ import annotations

from functools import lru_cache

import msgspec
import numpy as np
from msgspec.structs import replace

from tfadvisor.arrays import (
    AnyArray,
    BoolArray,
    Int8Array,
    Int32Array,
    Int64Array,
    UInt8Array,
    true_at,
)
from tfadvisor.timeline import walks
from tfadvisor.timeline.host.thread_layout import Thread
from tfadvisor.timeline.host.threads import Threads
from tfadvisor.timeline.intervals import Intervals
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
from tfadvisor.timeline.timeline_parts import Steps
from tfadvisor.timeline.walks_twin import (
    IS_CALL,
    IS_DOING,
    IS_FRAME,
    IS_SILENT,
    IS_STAGE,
    IS_TELLING,
    IS_USERS,
)

_MOST_EVENTS = 3_000_000
"""Of one thread that are looked at, the longest; the time of the others belongs to what
they lie in.
"""


class NameKinds(msgspec.Struct, frozen=True, eq=False):
    """What each distinct name of a host's events says, worked out once: shape
    (names,). Hosts with the same names share one.
    """

    names: tuple[str, ...]
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
    doings: Int8Array
    """What it does, as `Doing` numbers it."""
    functions: frozenset[str] = frozenset()
    """The compiled functions that the program calls."""
    runs_functions: str = ""
    """The only stage of the pipeline that runs functions of the user's, "" where there
    is none or more than one.
    """

    def bits(self) -> UInt8Array:
        """What a walk asks of a name, as bits."""
        meanings = {
            IS_USERS: self.users,
            IS_TELLING: self.telling,
            IS_CALL: self.calls,
            IS_STAGE: self.stage,
            IS_FRAME: self.frames,
            IS_SILENT: self.silent,
            IS_DOING: self.doings > 0,
        }
        found = np.zeros(len(self.users), np.uint8)
        for bit, names in meanings.items():
            found[names] |= bit
        return found


def name_kinds(threads: Threads) -> NameKinds:
    """Of every name that the host's threads use."""
    return _name_kinds(threads.names, threads.borne.tobytes())


@lru_cache(maxsize=4)  # the hosts of a run mostly have the same names
def _name_kinds(names: tuple[str, ...], borne: bytes) -> NameKinds:
    """borne: of Threads."""
    count = len(names)
    kinds = NameKinds(
        names=names,
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
    for row in true_at(np.frombuffer(borne, np.bool_)).tolist():
        name = names[row]
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


class Chains(msgspec.Struct, frozen=True):
    """What a thread does at each stretch of its time, and of each distinct chain of
    callers the name (row) of what says most.

    A place is a chain in one step: of the events, then of the gaps between them. Rows
    are -1 where nothing is named.
    """

    events: int
    """How many the thread has."""
    lo: Int64Array
    """Shape (stretches,), like hi, who and event. Ascending up to the gaps."""
    hi: Int64Array
    who: Int32Array
    """The place of the innermost event, or of the gap."""
    event: Int32Array
    """That event, counted from the thread's first; -1 for a gap."""
    chain: Int32Array
    """Of each place."""
    step: Int32Array
    """The step in which it begins, -1 before the first. Of each place."""
    leaf: Int32Array
    """The event itself; -1 for a gap. Shape (chains,), like all that follow."""
    telling: Int32Array
    """The innermost event that is not inside a runtime, else the event itself."""
    user: Int32Array
    """The innermost function of the user's program around it; of a gap the event after
    which it begins.
    """
    called: Int32Array
    """What that function calls; itself where it calls nothing. Of a gap the event that
    ends it.
    """
    dispatched: Int32Array
    """The outermost event around it that names a function or op to be dispatched."""
    stage: Int32Array
    """The innermost stage of a pipeline around it."""
    doing: Int32Array
    """The innermost event around it that says what is done."""
    kind: Int8Array
    """Its HostClass, OTHER of a gap."""
    compiles: BoolArray
    """Whether it is compiling or inside that."""
    feeds: BoolArray
    """Whether it works for the input pipeline."""

    def at_stretches(self, of_chains: BoolArray) -> BoolArray:
        """What is true of each chain, of each stretch."""
        return of_chains.take(self.chain).take(self.who)

    def gaps(self) -> Intervals:
        """When nothing of the thread is recorded."""
        gap = self.event < 0
        return Intervals(self.lo[gap], self.hi[gap])


def chains_of(
    threads: Threads,
    names: NameKinds,
    steps: Steps,
    thread: Thread | None,
    pipeline: BoolArray,
    wanted: Intervals,
    *,
    gaps: bool = True,
) -> Chains:
    """Of the wanted instants, which are of counted steps. Without a thread all is one
    gap. pipeline: which of all events work for the input pipeline. gaps: whether the
    time between events counts too.
    """
    mine = thread.events if thread is not None else slice(0, 0)
    start, end = threads.start[mine], threads.end[mine]
    of_events, of_gaps = walks.chains(
        start,
        end,
        threads.row[mine],
        threads.kind[mine],
        pipeline[mine].view(np.uint8),
        names.bits(),
        HostClass.COMPILE.value,
        HostClass.OTHER.value,
        steps.starts,
        steps.span_ends,
        int(steps.ends[-1]),
        steps.steady_time.starts,
        steps.steady_time.ends,
        wanted.starts,
        wanted.ends,
        _shortest(start, end, steps),
        2 * _MOST_EVENTS,
        gaps,
    )
    if len(of_gaps[0]):
        of_events = _joined(of_events, of_gaps)
    return Chains(len(start), *of_events)


def _joined(
    of_events: tuple[AnyArray, ...], of_gaps: tuple[AnyArray, ...]
) -> tuple[AnyArray, ...]:
    """The stretches, places and chains of both, those of events first."""
    lo, hi, who, event, chain, *others = of_gaps
    places, chains = np.int32(len(of_events[4])), np.int32(len(of_events[6]))
    behind = (lo, hi, who + places, event, chain + chains, *others)
    return tuple(map(np.concatenate, zip(of_events, behind, strict=True)))


def _shortest(start: Int64Array, end: Int64Array, steps: Steps) -> int:
    """Of too many events those that take longest are looked at: how long these are."""
    if len(start) <= _MOST_EVENTS:
        return 1
    length = (end - start)[(start < steps.ends[-1]) & (end > steps.starts[0])]
    length = length[length > 0]
    if len(length) <= _MOST_EVENTS:
        return 1
    shortest = len(length) - _MOST_EVENTS
    return int(np.partition(length, shortest)[shortest])
