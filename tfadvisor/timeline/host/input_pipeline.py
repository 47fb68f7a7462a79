"""The tf.data pipeline as its trace events tell it: the stages, what each costs a step,
and how it is configured.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import msgspec
import numpy as np

from tfadvisor.arrays import (
    NO_VALUES,
    BoolArray,
    Int32Array,
    Int64Array,
    distinct,
    falses,
    is_in,
    order_of,
    true_at,
    used,
    zeros,
)
from tfadvisor.timeline.host.dispatches import dispatches, outermost
from tfadvisor.timeline.host.threads import Threads
from tfadvisor.timeline.intervals import (
    EMPTY,
    Intervals,
    intersection,
    parents,
    union,
    union_of,
)
from tfadvisor.timeline.names import stats
from tfadvisor.timeline.names.classes import HostClass
from tfadvisor.timeline.names.frames import is_frame
from tfadvisor.timeline.names.host_events import is_python_op
from tfadvisor.timeline.names.program_calls import makes_tensor
from tfadvisor.timeline.names.tf_data import (
    asking_stage,
    fills_buffer,
    is_before,
    produced_kind,
    stage_depth,
    stage_kind,
    stage_path,
    works_ahead,
)
from tfadvisor.timeline.sweeps import places
from tfadvisor.timeline.timeline_parts import Steps, StepSource
from tfadvisor.trace.columns import HostTrace, Value

_MANY = 16


class InputStage(msgspec.Struct, frozen=True):
    """One stage. path: from the root, `Prefetch::Map`. kind: its last part. calls: how
    often it was asked.

    busy_ps: its own work, that of the stages before it taken off, and that of its user
    function added even where it ran on other threads. parallelism: how many calls it
    works on at once. settings: what the trace says of it. python: its function runs
    Python. filling_ps, fills: of its calls that ask the stage before it for many
    elements, as a shuffle does whose buffer is empty: how long they take with all
    before them, and how many they are.
    """

    path: str
    kind: str
    name: str
    calls: int
    busy_ps: int
    parallelism: int
    settings: dict[str, Value]
    python: bool
    filling_ps: int = 0
    fills: int = 0

    @property
    def wall_ps(self) -> int:
        """What the stage's work takes when its parallel calls overlap perfectly; Python
        calls take turns.
        """
        return self.busy_ps if self.python else self.busy_ps // max(self.parallelism, 1)


class BufferFill(NamedTuple):
    """What a shuffle does before it gives the first element."""

    elements: int
    """That its buffer holds."""
    stage: str
    """Kind of the slowest stage before it."""
    ps: int
    """That the stage takes for so many elements, its parallel calls at once."""


class InputPipeline(msgspec.Struct, frozen=True):
    """Stages from the consumer down to the source, and the time that was looked at
    (whole steps), ps.
    """

    stages: tuple[InputStage, ...]
    window_ps: int
    steps: int

    @property
    def root_works_ahead(self) -> bool:
        """Whether the last stage prepares elements in the background, as a prefetch or
        a parallel map does.
        """
        return works_ahead(self.stages[0].kind)

    def slowest(self) -> InputStage:
        """The stage with most work per unit of its parallelism."""
        return max(self.stages, key=lambda stage: stage.wall_ps)

    def buffer_fill(self) -> BufferFill | None:
        """Of the shuffle that fills for longest, as fast as elements are made in these
        steps; None where no shuffle is known to get any.
        """
        fills = (self._fill_of(stage) for stage in self.stages)
        return max(filter(None, fills), key=lambda fill: fill.ps, default=None)

    def _fill_of(self, shuffle: InputStage) -> BufferFill | None:
        size = shuffle.settings.get(stats.BUFFER_SIZE)
        before = [stage for stage in self.stages if is_before(stage.path, shuffle.path)]
        made = sum(
            stage.calls for stage in before if asking_stage(stage.path) == shuffle.path
        )
        if not fills_buffer(shuffle.kind) or not isinstance(size, int) or not made:
            return None
        slowest = max(before, key=lambda stage: stage.wall_ps)
        return BufferFill(size, slowest.kind, slowest.wall_ps * size // made)


def input_pipeline(
    trace: HostTrace,
    threads: Threads,
    steps: Steps,
) -> InputPipeline | None:
    """The pipeline's stages during the counted steps; None when the trace shows no
    tf.data iterator.
    """
    events = threads.everywhere(HostClass.DATASET, HostClass.CAPTURED)
    if not len(events):
        return None
    lo, hi, count = _window(steps)
    rows = used(threads.row[events], len(threads.names))
    del events
    path_of = {
        row: path
        for row in rows
        if (path := stage_path(threads.names[row])) is not None
    }
    if not path_of:
        return None
    found = _Found(
        dict.fromkeys(path_of.values(), 0),
        dict.fromkeys(path_of.values(), 0),
        set(),
        {},
    )
    functions = _Functions(trace, threads)
    for thread in threads.threads:
        mine = threads.of(thread, HostClass.DATASET, HostClass.CAPTURED)
        mine = mine[(threads.start[mine] >= lo) & (threads.start[mine] < hi)]
        if len(mine):
            parent = parents(threads.start[mine], threads.end[mine])
            _add_thread(threads, mine, parent, path_of, functions, found)
            _add_fills(threads, mine, parent, path_of, found.filled)
    shown = _shown_stages(trace, path_of, found)
    return InputPipeline(shown, hi - lo, count) if shown else None


class _Found(NamedTuple):
    """What the threads' events add up to, by a stage's path; ps and numbers. filled: as
    of InputStage.
    """

    busy: dict[str, int]
    calls: dict[str, int]
    python: set[str]
    filled: dict[str, tuple[int, int]]


def _among(rows: Iterable[int], threads: Threads) -> BoolArray:
    """Which names are among the rows."""
    among = falses(threads.names)
    among[list(rows)] = True
    return among


def _window(steps: Steps) -> tuple[int, int, int]:
    """(from, to, number) of the counted steps, of all where none counts."""
    chosen = true_at(steps.steady())
    if not len(chosen):
        return int(steps.starts[0]), int(steps.ends[-1]), len(steps)
    return int(steps.starts[chosen[0]]), int(steps.ends[chosen[-1]]), len(chosen)


def _add_thread(
    threads: Threads,
    events: Int64Array,
    parent: Int64Array,
    path_of: dict[int, str],
    functions: _Functions,
    found: _Found,
) -> None:
    """Adds one thread's self times: each event's length without its children's, user
    functions on top.

    parent: of each event among them, -1 for none. A stage that works in the background
    only waits in its own events; its work is that of its functions.
    """
    row = threads.row[events]
    length = threads.lengths(events)
    own = length.copy()
    is_stage = _among(path_of, threads)[row]
    nested = (parent >= 0) & is_stage
    np.subtract.at(own, parent[nested], length[nested])
    np.maximum(own, 0, out=own)
    owner, in_background = _owning_stage(parent, is_stage, row, threads, path_of)
    kind = threads.kind[events]
    captured = kind == HostClass.CAPTURED.value
    for stage_row in used(row[is_stage], len(threads.names)):
        mine = row == stage_row
        found.calls[path_of[stage_row]] += int(np.count_nonzero(mine))
        if not works_ahead(stage_kind(path_of[stage_row])):
            found.busy[path_of[stage_row]] += int(own[mine].sum())
    extra, is_python = functions.beyond(events[captured])
    extra = extra + np.where(in_background[captured], length[captured], 0)
    stage = owner[captured]
    for code in distinct(stage[stage >= 0]).tolist():
        path = path_of[code]
        mine = stage == code
        found.busy[path] += int(extra[mine].sum())
        if is_python[mine].any():
            found.python.add(path)


def _add_fills(
    threads: Threads,
    events: Int64Array,
    parent: Int64Array,
    path_of: dict[int, str],
    filled: dict[str, tuple[int, int]],
) -> None:
    """Adds one thread's calls that fill a buffer: those around very many calls of the
    stage before.
    """
    row = threads.row[events]
    rows = [code for code, path in path_of.items() if fills_buffer(stage_kind(path))]
    if not is_in(row, rows).any():
        return
    length = threads.lengths(events)
    below = parent[_among(path_of, threads)[row] & (parent >= 0)]
    asked = np.bincount(below, minlength=len(events))
    for stage_row in rows:
        fills = true_at((row == stage_row) & (asked >= _MANY))
        time, number = filled.get(path_of[stage_row], (0, 0))
        filled[path_of[stage_row]] = (
            time + int(length[fills].sum()),
            number + len(fills),
        )


def _owning_stage(
    parent: Int64Array,
    is_stage: np.ndarray,
    row: np.ndarray,
    threads: Threads,
    path_of: dict[int, str],
) -> tuple[Int32Array, np.ndarray]:
    """(row of the stage each event works for, whether it does so in the background), -1
    where none is near.

    That is the nearest stage around it, or the one that a Produce event around it
    names. Where neither is around it, as up to TensorFlow 2.3, it is the stage that
    asks the one which the thread ran just before: what that gave is worked on.
    """
    by_path = {path: code for code, path in path_of.items()}
    by_kind = {stage_kind(path): code for code, path in path_of.items()}
    named = np.full(
        int(row.max()) + 1,
        -1,
        np.int64,
    )  # the stage that a Produce event of this name works for
    consumer = np.full(
        int(row.max()) + 1,
        -1,
        np.int64,
    )  # the stage that asks the stage of this name
    for stage_row in used(row, len(threads.names)):
        if stage_row in path_of:
            consumer[stage_row] = by_path.get(asking_stage(path_of[stage_row]), -1)
        elif (kind := produced_kind(threads.names[stage_row])) is not None:
            named[stage_row] = by_kind.get(kind, -1)
    direct = np.where(is_stage, row, named[row]).astype(np.int32)
    asked = true_at(is_stage & (parent >= 0))
    asked = asked[(named[row[parent[asked]]] >= 0) & (consumer[row[asked]] >= 0)]
    direct[parent[asked]] = consumer[
        row[asked]
    ]  # what a Produce event asks tells which stage of that kind it is
    waiting = _among(
        [code for code, path in path_of.items() if works_ahead(stage_kind(path))],
        threads,
    )
    owner = np.full(len(parent), -1, np.int32)
    background = falses(parent)
    current = parent.astype(np.int32)
    for _ in range(8):  # user functions sit a level or two below their stage
        open_ = (owner < 0) & (current >= 0)
        if not open_.any():
            break
        owner[open_] = direct[current[open_]]
        kind_waits = waiting[owner[open_]] & (owner[open_] >= 0)
        background[open_] = ~is_stage[current[open_]] | kind_waits
        current[open_] = parent[current[open_]]
    outermost = true_at(is_stage & (parent < 0))
    alone = true_at(~is_stage & (parent < 0))
    before = np.searchsorted(outermost, alone) - 1
    alone = alone[before >= 0]
    before = before[before >= 0]
    owner[alone] = consumer[row[outermost[before]]]
    background[alone] = True
    return owner, background


class _Functions:
    """User functions that tf.data runs: from the call to the end of the executor work
    with the same step id.
    """

    def __init__(self, trace: HostTrace, threads: Threads) -> None:
        self._threads = threads
        captured = _captured(trace, threads)
        self._call_position, self._call_id, work_position, work_id = captured
        order = order_of(work_id)
        self._work_id = work_id[order]
        self._ids, first = np.unique(self._work_id, return_index=True)
        ends = threads.end[work_position[order]]
        if len(first):
            self._last_end = np.maximum.reduceat(ends, first)
        else:
            self._last_end = NO_VALUES
        self._python_ids = self._ids_with_python(work_position, work_id)

    def _ids_with_python(self, work: Int64Array, work_id: Int64Array) -> Int64Array:
        """Step ids of runs inside which a Python op executes."""
        threads = self._threads
        ops = threads.named(is_python_op)
        ops = ops[threads.kind[ops] == HostClass.OP.value]
        if not len(ops) or not len(work):
            return NO_VALUES
        order = order_of(work)  # position order is time order within a thread
        place = np.searchsorted(work[order], ops, side="right") - 1
        owner = order[np.maximum(place, 0)]
        inside = (place >= 0) & (threads.end[work[owner]] >= threads.end[ops])
        return distinct(work_id[owner[inside]])

    def beyond(self, calls: Int64Array) -> tuple[Int64Array, np.ndarray]:
        """(ps that each user function ran on after its call returned, whether it runs
        Python).
        """
        place = np.searchsorted(self._call_position, calls)
        place = np.minimum(place, max(len(self._call_position) - 1, 0))
        if not len(self._call_position) or not len(self._ids):
            return zeros(calls), falses(calls)
        call_id = np.where(self._call_position[place] == calls, self._call_id[place], 0)
        found = np.minimum(np.searchsorted(self._ids, call_id), len(self._ids) - 1)
        known = self._ids[found] == call_id
        length = np.maximum(self._last_end[found] - self._threads.end[calls], 0)
        return np.where(known, length, 0), known & is_in(call_id, self._python_ids)


def _shown_stages(
    trace: HostTrace,
    path_of: dict[int, str],
    found: _Found,
) -> tuple[InputStage, ...]:
    stages = []
    for path in sorted(found.busy, key=lambda path: (stage_depth(path), path)):
        settings: dict[str, Value] = {}
        for row, row_path in path_of.items():
            if row_path == path:
                settings.update(trace.details.exemplar_stats(row))
        parallelism = settings.get(stats.PARALLELISM)
        filling_ps, fills = found.filled.get(path, (0, 0))
        stages.append(
            InputStage(
                path=path,
                kind=stage_kind(path),
                name=str(settings.get(stats.STAGE_NAME) or ""),
                calls=found.calls[path],
                busy_ps=found.busy[path],
                parallelism=int(parallelism)
                if isinstance(parallelism, int) and parallelism > 0
                else 1,
                settings={
                    k: v
                    for k, v in settings.items()
                    if k not in stats.STAGE_BOOKKEEPING
                },
                python=path in found.python,
                filling_ps=filling_ps,
                fills=fills,
            )
        )
    return tuple(stages)


# Which host events are work of a tf.data pipeline.


def pipeline_work(trace: HostTrace, threads: Threads) -> BoolArray:
    """Whether each host event is work of a tf.data pipeline.

    It is when its thread works for tf.data alone, or when it lies inside an executor
    run whose step id is that of a captured function, which tf.data may run on the
    common thread pool.
    """
    work = falses(threads)
    for thread in threads.threads:
        if thread.is_pipeline:
            work[thread.lo : thread.hi] = True
    _, _, runs, _ = _captured(trace, threads)
    for thread in threads.threads:
        lo, hi = np.searchsorted(runs, [thread.lo, thread.hi])
        if lo < hi and not thread.is_pipeline:
            mine = runs[lo:hi]
            inside = threads.when(mine)
            work[thread.lo : thread.hi] = inside.contains(
                threads.start[thread.lo : thread.hi]
            )
    return work


def _captured(
    trace: HostTrace, threads: Threads
) -> tuple[Int64Array, Int64Array, Int64Array, Int64Array]:
    """(positions, step ids) of the calls of captured functions, then of the executor's
    runs with one of these ids.
    """
    position, step_id = threads.integers(trace.stat(stats.EXECUTOR_STEP))
    kind = threads.kind[position]
    call = true_at(kind == HostClass.CAPTURED.value)
    run = true_at(kind == HostClass.PROCESS.value)
    ids, ids_of_runs = step_id[call], step_id[run]
    theirs = places(distinct(ids), ids_of_runs) >= 0
    return position[call], ids, position[run[theirs]], ids_of_runs[theirs]


def crowded_by_pipeline(threads: Threads, work: BoolArray) -> Intervals:
    """When ops of the pipeline run on two threads or more at once: one alone leaves the
    pool of threads to the step.

    work: of pipeline_work.
    """
    ops = threads.everywhere(HostClass.OP, among=work)
    thread = threads.thread_of(ops)
    once = twice = EMPTY
    for thread_number in distinct(thread).tolist():
        mine = ops[thread == thread_number]
        busy = threads.when(mine)
        twice = union_of(twice, intersection(once, busy))
        once = union_of(once, busy)
    return twice


# Python of a TensorFlow loop that ends in a tensor for the next dispatch: work that
# makes the next batch.

_MOST_DISPATCHES = 8
"""A step with as many dispatches runs op by op, and most of them have a conversion
before them.
"""
_MOST_STEPS = 0.5


def made_batches(threads: Threads, steps: Steps) -> Intervals:
    """Python inside a step's marker and before its dispatch that ends in a tensor, in
    most of the steps. Other events of the thread lie inside it.
    """
    if steps.thread < 0 or not len(steps) or steps.source is not StepSource.MARKER:
        return EMPTY
    thread = threads.threads[steps.thread]
    if threads.bear(slice(thread.lo, thread.hi), is_frame).any():
        return EMPTY
    known = threads.of(thread, HostClass.LAUNCH)
    conversions = outermost(threads, known[threads.bear(known, makes_tensor)])
    batches = threads.everywhere(
        HostClass.GET_NEXT
    )  # also where a compiled function takes them, as in Keras' fit
    calls = dispatches(threads, thread)
    inside = threads.when(conversions)
    calls = calls[~inside.contains(threads.start[calls])] if len(conversions) else calls
    most = _MOST_STEPS * len(steps)
    if (
        not len(conversions)
        or len(batches) >= most
        or len(calls) >= _MOST_DISPATCHES * len(steps)
    ):
        return EMPTY

    begun = threads.start[calls]
    ended = threads.end[calls]
    first = np.searchsorted(begun, steps.starts)  # the first dispatch of each step
    has = first < len(calls)
    first = first[has]
    until = begun[first]
    after = np.where(first > 0, ended[first - 1], steps.starts[has])
    last = np.searchsorted(threads.start[conversions], until) - 1
    converted = threads.start[conversions][np.maximum(last, 0)]
    converts = (last >= 0) & (converted > after)
    if int(converts.sum()) < min(most, int(has.sum())) or not converts.any():
        return EMPTY
    after = after[converts]
    converted = converted[converts]
    start = np.maximum(steps.starts[has][converts], after)
    marked = start < converted
    return union(start[marked], converted[marked])
