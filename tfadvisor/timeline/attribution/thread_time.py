"""What one host thread does at each instant: the innermost event, and what of its chain of callers says most."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import numpy as np

from tfadvisor.arrays import true_at
from tfadvisor.timeline.host.threads import Thread, Threads
from tfadvisor.timeline.intervals import EMPTY, BoolArray, Int64Array, Intervals, difference, innermost, parents, union
from tfadvisor.timeline.model import Steps
from tfadvisor.timeline.names.classes import HostClass
from tfadvisor.timeline.names.frames import annotates, is_frame, is_users_frame
from tfadvisor.timeline.names.host import called_function, calls_function, is_single_op, op_type
from tfadvisor.timeline.names.input_pipeline import produced_kind, runs_function, stage_kind, stage_path, works_ahead
from tfadvisor.timeline.names.programs import inside_runtime, jitted_function
from tfadvisor.timeline.sweeps import reached

if TYPE_CHECKING:
    import numpy.typing as npt

_MOST_EVENTS = 3_000_000
"""Of one thread that are looked at; the time of the others counts as not recorded."""


class NameKinds(msgspec.Struct, frozen=True):
    """What each distinct name of a host's events says, worked out once: shape (names,)."""

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
    """The only stage of the pipeline that runs functions of the user's, "" where there is none or more than one."""
    frames: BoolArray
    """A Python frame."""


def name_kinds(threads: Threads) -> NameKinds:
    """Of every name that the host's threads use."""
    users, silent, telling, calls, executed, stage, waits, frames = (
        np.zeros(len(threads.names), np.bool_) for _ in range(8)
    )
    functions, running = set(), set()
    for row in true_at(threads.borne).tolist():
        name = threads.names[row]
        telling[row] = not inside_runtime(name)
        if is_frame(name):
            users[row], silent[row], frames[row] = is_users_frame(name), annotates(name), True
            continue
        function = called_name(name)
        if function is not None:
            functions.add(function)
        executed[row] = calls_function(name)
        calls[row] = function is not None or is_single_op(name) or op_type(name) is not None
        path = stage_path(name)
        if path is not None:
            stage[row], waits[row] = True, works_ahead(stage_kind(path))
            if runs_function(stage_kind(path)):
                running.add(path)
        stage[row] |= produced_kind(name) is not None
    only = running.pop() if len(running) == 1 else ""
    return NameKinds(users, silent, telling, calls, executed, stage, waits, frozenset(functions), only, frames)


def called_name(name: str) -> str | None:
    """The compiled function that an event is a call of; None for other events."""
    return jitted_function(name) or (called_function(name) if calls_function(name) else None)


class Chains(msgspec.Struct, frozen=True):
    """For each stretch of a thread's time the name (row) of what says most, -1 where nothing does. Shape (stretches,)."""

    lo: Int64Array
    hi: Int64Array
    leaf: npt.NDArray[np.int32]
    """The innermost event; -1 in a gap between events."""
    telling: npt.NDArray[np.int32]
    """The innermost event that is not inside a runtime, else the innermost."""
    user: npt.NDArray[np.int32]
    """The innermost function of the user's program around it; in a gap the event after which it begins."""
    called: npt.NDArray[np.int32]
    """What that function calls; itself where it calls nothing. In a gap the event that ends it."""
    dispatched: npt.NDArray[np.int32]
    """The outermost event around it that names a function or op to be dispatched."""
    stage: npt.NDArray[np.int32]
    """The innermost stage of a pipeline around it."""
    kind: npt.NDArray[np.int8]
    """The innermost event's HostClass, OTHER in a gap."""
    compiles: BoolArray
    """Whether it is compiling or inside that."""
    feeds: BoolArray
    """Whether it works for the input pipeline."""


def chains_of(
    threads: Threads, names: NameKinds, steps: Steps, thread: Thread | None, pipeline: BoolArray, *, gaps: bool
) -> Chains:
    """Of the counted steps. Without a thread all is one gap. pipeline: which of all events work for the input pipeline. gaps:
    whether the time between events counts too.
    """
    within = steps.steady_time
    none = np.full(0, -1, np.int32)
    if thread is None:
        gap = np.full(len(within), -1, np.int32)
        other, no = np.zeros(len(within), np.int8), np.zeros(len(within), np.bool_)
        return Chains(within.starts, within.ends, gap, gap, gap, gap, gap, gap, other, no, no)
    events = _events(threads, names, steps, thread)
    start, end, row = threads.start[events], threads.end[events], threads.row[events]
    lo, hi, who = innermost(start, end) if len(events) else (within.starts[:0], within.starts[:0], none)
    inside = within.within(lo, hi) > 0
    lo, hi, who = lo[inside], hi[inside], who[inside]
    parent = parents(start, end) if len(events) else within.starts[:0]
    has_user = _at(names.users[row], parent)

    def nearest(wanted: BoolArray) -> npt.NDArray[np.int32]:
        return _rows(_nearest(wanted, parent), row)[who]

    calls = names.calls[row]
    above = _nearest(calls, parent)
    outermost = calls & (np.where(parent >= 0, above[parent], -1) < 0) if len(events) else calls
    user = nearest(names.users[row])
    called = np.where(user >= 0, nearest(has_user | names.users[row]), -1).astype(np.int32)
    telling = nearest(names.telling[row])
    leaf = row[who].astype(np.int32)
    between = difference(within, union(lo, hi)) if gaps else EMPTY
    before, after = _around(start, end, row, between)
    gap = np.full(len(between), -1, np.int32)
    no = np.zeros(len(between), np.bool_)
    return Chains(
        lo=np.concatenate([lo, between.starts]),
        hi=np.concatenate([hi, between.ends]),
        leaf=np.concatenate([leaf, gap]),
        telling=np.concatenate([np.where(telling >= 0, telling, leaf), gap]).astype(np.int32),
        user=np.concatenate([user, before]),
        called=np.concatenate([called, after]),
        dispatched=np.concatenate([nearest(outermost), gap]),
        stage=np.concatenate([nearest(names.stage[row]), gap]),
        kind=np.concatenate([threads.kind[events][who], np.full(len(between), HostClass.OTHER.value, np.int8)]),
        compiles=np.concatenate([nearest(threads.kind[events] == HostClass.COMPILE.value) >= 0, no]),
        feeds=np.concatenate([pipeline[events][who], no]),
    )


def _events(threads: Threads, names: NameKinds, steps: Steps, thread: Thread) -> Int64Array:
    """Positions of a thread's events that say something: no marker around a whole step, no frame of the profiler's."""
    start, end, row = (one[thread.lo : thread.hi] for one in (threads.start, threads.end, threads.row))
    inside = true_at((end > start) & (start < steps.ends[-1]) & (end > steps.starts[0]))[:_MOST_EVENTS]
    step = np.minimum(steps.starts.searchsorted(start[inside]), len(steps) - 1)
    around = (start[inside] <= steps.starts[step]) & (end[inside] >= steps.span_ends[step])
    mine = row[inside]
    return inside[(~around | names.frames[mine] | names.calls[mine]) & ~names.silent[mine]] + thread.lo


def _nearest(wanted: BoolArray, parent: Int64Array) -> Int64Array:
    """The wanted event that each event is or lies in, the innermost one; -1 without one. By doubling the way up."""
    if not wanted.any():
        return np.full(len(parent), -1, np.int64)
    at = np.where(wanted, np.arange(len(parent)), parent)
    while True:
        climbing = true_at(at >= 0)
        climbing = climbing[~wanted[at[climbing]]]
        if not len(climbing):
            return at
        at[climbing] = at[at[climbing]]


def _at(flags: BoolArray, index: Int64Array) -> BoolArray:
    """flags[index], False where the index is -1."""
    return (index >= 0) & flags[index] if len(flags) else flags


def _rows(found: Int64Array, row: npt.NDArray[np.int32]) -> npt.NDArray[np.int32]:
    return np.where(found >= 0, row[found], -1).astype(np.int32) if len(row) else np.empty(0, np.int32)


def _around(
    start: Int64Array, end: Int64Array, row: npt.NDArray[np.int32], gaps: Intervals
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]:
    """(event before, event after) each gap, as rows."""
    none = np.full(len(gaps), -1, np.int32)
    if not len(start) or not len(gaps):
        return none, none
    order = np.argsort(end, kind="stable")
    before, after = reached(end[order], gaps.starts) - 1, reached(start, gaps.ends - 1)
    return (
        np.where(before >= 0, row[order[np.maximum(before, 0)]], -1).astype(np.int32),
        np.where(after < len(start), row[np.minimum(after, len(start) - 1)], -1).astype(np.int32),
    )
