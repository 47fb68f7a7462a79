"""Calls on the host that hold a step up by themselves, and the time that each kind of
them takes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from functools import cache

import msgspec
import numpy as np

from tfadvisor.arrays import (
    NO_VALUES,
    BoolArray,
    Int64Array,
    descending,
    distinct,
    is_in,
    of_most,
    true_at,
    zeros,
)
from tfadvisor.timeline.host.dispatches import (
    dispatches,
    one_by_one,
    ops_run_eagerly,
)
from tfadvisor.timeline.host.driver import waits_for_threads
from tfadvisor.timeline.host.input_pipeline import crowded_by_pipeline
from tfadvisor.timeline.host.step_python import StepPython
from tfadvisor.timeline.host.threads import Threads
from tfadvisor.timeline.host.xla_runs import turns_of_loops, updates_of_graphs
from tfadvisor.timeline.intervals import (
    EMPTY,
    Intervals,
    difference,
    intersection,
    union,
    union_of,
)
from tfadvisor.timeline.names.classes import HostClass
from tfadvisor.timeline.names.drivers import blocks_on_memory, finds_buffers
from tfadvisor.timeline.names.host_events import (
    is_allocation,
    is_single_op,
    keeps_state,
    makes_dataset,
    scales_loss,
    writes_file,
)
from tfadvisor.timeline.names.program_calls import puts_on_device
from tfadvisor.timeline.names.tf_data import builds_pipeline
from tfadvisor.timeline.timeline_parts import Device, HostActivity, Steps
from tfadvisor.timeline.windows import in_counted_steps, step_of
from tfadvisor.units import PS_PER_MS
from tfadvisor.vocabulary import TimeClass

_OPS = (HostClass.OP, HostClass.CONTROL_OP, HostClass.EAGER_OP)


_FROM_DRIVER_PS = 1_000_000_000
"""XLA finds a program's buffers in its pool within 0.67 ms, as 42 programs on an H200
did; from the driver it took 2.3 ms.
"""
_EAGER_OPS = 8
"""A step that dispatches fewer ops by themselves is not run op by op."""
_PYTHON_BETWEEN_PS = 5 * PS_PER_MS
"""Python of the host that takes so long between two ops builds no pipeline: tf.data's
own takes a millisecond there, and what it traces is an event.
"""


_MOST_NAMES = 200
"""Of what is dispatched."""


class HostCalls(msgspec.Struct, frozen=True):
    """Counts over the counted steps of calls that hold a step up, over all threads
    where nothing else is said.
    """

    dispatches: int = -1
    """Programs and ops that the driving thread dispatches, -1 when no thread dispatches
    any by name.
    """
    dispatches_of_most: int = 0
    """The number that more than half of the counted steps dispatch, 0 for none."""
    by_name: Mapping[str, int] = {}
    """How many of them are events of each name."""
    run_eagerly: int = 0
    """Single ops that TensorFlow's eager runtime runs."""
    waits: int = 0
    """How often the driving thread blocks."""
    waiting_steps: int = 0
    """Counted steps in which it does."""
    memory_calls: int = 0
    """Calls of cudaMalloc, cudaFree and their kin: each waits for all work on the
    device.
    """
    loss_scaling: int = 0
    """TensorFlow's ops of a loss scale."""
    python: StepPython | None = None
    """The op by which the compiled step calls most Python, None when it calls none."""
    writes: int = 0
    """TensorFlow's ops that write files."""
    builds: int = 0
    """Counted steps in which the driving thread builds a tf.data pipeline."""
    makes_datasets: bool = False
    """Whether any op there makes a dataset, not only an iterator of one."""
    eager_steps: int = -1
    """Counted steps in which Python dispatches eight ops or more by themselves, those
    that save or restore variables left out; -1 where it dispatches none at all."""
    loop_iterations: int = 0
    """Iterations of the longest while loop inside each step's compiled functions, added
    up.
    """


def host_calls(
    threads: Threads,
    steps: Steps,
    waits: Intervals,
    building: Intervals,
    iterations: tuple[Int64Array, Int64Array],
    alone: Int64Array,
    python: StepPython | None = None,
) -> HostCalls:
    """By name, each distinct one looked at once.

    waits: of the driving thread. building: see building_time. iterations: see
    counted_iterations. alone: of calls_of_one_op. python: that which takes most of what
    the step calls.
    """
    driver = threads.threads[steps.thread] if steps.thread >= 0 else None
    dispatched = NO_VALUES if driver is None else dispatches(threads, driver)
    scales = _in_counted_steps(threads, steps, scales_loss)
    counted = dispatched[in_counted_steps(threads.start[dispatched], steps)]
    blocked = waits.starts[in_counted_steps(waits.starts, steps)]
    return HostCalls(
        dispatches=len(counted) if len(dispatched) else -1,
        dispatches_of_most=of_most(
            _of_each_step(threads.start[counted], steps)[steps.steady()]
        ),
        by_name=_by_name(threads, counted),
        run_eagerly=int(
            in_counted_steps(threads.start[ops_run_eagerly(threads)], steps).sum()
        ),
        waits=len(blocked),
        waiting_steps=len(distinct(step_of(blocked, steps))),
        memory_calls=int(
            in_counted_steps(threads.start[_memory_calls(threads)], steps).sum()
        ),
        loss_scaling=int(is_in(threads.kind[scales], _OPS).sum()),
        python=python,
        writes=len(_in_counted_steps(threads, steps, writes_file)),
        builds=len(distinct(step_of(building.starts, steps))),
        makes_datasets=len(_in_counted_steps(threads, steps, makes_dataset)) > 0,
        eager_steps=max(
            eager_steps(threads, steps), _steps_of_many(threads.start[alone], steps)
        ),
        loop_iterations=counted_iterations(steps, *iterations),
    )


def _by_name(threads: Threads, calls: Int64Array) -> Mapping[str, int]:
    """The number of these calls of each name, the commonest first."""
    rows, count = np.unique(threads.row[calls], return_counts=True)
    most = descending(count)[:_MOST_NAMES]
    return {
        threads.names[int(rows[index])]: int(count[index]) for index in most.tolist()
    }


def eager_steps(threads: Threads, steps: Steps) -> int:
    """In how many counted steps Python dispatches eight ops or more that neither keep
    state nor prepare a file; -1 where it dispatches no op."""
    ops = _in_counted_steps(threads, steps, is_single_op)
    if not len(ops):
        return -1
    ops = ops[
        ~threads.bear(ops, keeps_state)
        & ~writing_time(threads, steps).contains(threads.start[ops])
    ]
    return int((_of_each_step(threads.start[ops], steps) >= _EAGER_OPS).sum())


def _steps_of_many(starts: Int64Array, steps: Steps) -> int:
    """As eager_steps, of JAX's calls."""
    starts = starts[in_counted_steps(starts, steps)]
    if not len(starts):
        return -1
    return int((_of_each_step(starts, steps) >= _EAGER_OPS).sum())


def _of_each_step(starts: Int64Array, steps: Steps) -> Int64Array:
    """How many of these begin in each step. starts: in counted steps."""
    return np.bincount(step_of(starts, steps), minlength=len(steps))


def writing_time(threads: Threads, steps: Steps) -> Intervals:
    """What the driving thread does for the sake of files: from the end of the last
    function that is called before a step's last write to that write, or from the step's
    start where the files are written before any. Where no function is called, from the
    end of the longest op."""
    writes = _in_counted_steps(threads, steps, writes_file)
    if steps.thread < 0 or not len(writes):
        return EMPTY
    thread = threads.threads[steps.thread]
    calls = dispatches(threads, thread)
    alone = threads.bear(calls, is_single_op)
    writes = writes[thread.holds(writes)]
    lo = []
    hi = []
    for start, end in zip(steps.starts.tolist(), steps.ends.tolist(), strict=True):
        inside = (threads.start[calls] >= start) & (threads.start[calls] < end)
        mine = calls[inside & ~alone]
        if not len(mine) and inside.any():
            lengths = threads.lengths(calls) * inside
            mine = calls[[int(lengths.argmax())]]
        written = writes[
            (threads.start[writes] >= start) & (threads.start[writes] < end)
        ]
        if len(mine) and len(written):
            last = int(threads.end[written[-1]])
            before = threads.end[mine][threads.end[mine] < last]
            lo.append(int(before[-1]) if len(before) else start)
            hi.append(last)
    return union(np.array(lo, np.int64), np.array(hi, np.int64)) if lo else EMPTY


def building_time(threads: Threads, steps: Steps) -> Intervals:
    """What the driving thread does to build tf.data pipelines: in each counted step,
    from the first op that makes a dataset or an iterator to the end of the last before
    the step computes, with the tracing of functions between them, and on until the
    first batch is there, at the latest inside the next call, though the next step may
    begin with that. A step computes where it calls a compiled function, or dispatches
    eight ops or more of other kinds."""
    if steps.thread < 0:
        return EMPTY
    thread = threads.threads[steps.thread]
    ops = _in_counted_steps(threads, steps, builds_pipeline)
    ops = ops[thread.holds(ops)]
    if not len(ops):
        return EMPTY
    others = dispatches(threads, thread)
    others = others[~threads.bear(others, builds_pipeline)]
    calls = others[~threads.bear(others, is_single_op)]
    step = step_of(threads.start[ops], steps)
    call = np.searchsorted(threads.start[calls], threads.start[ops])
    eager = (
        np.diff(np.searchsorted(threads.start[others], threads.start[ops]))
        >= _EAGER_OPS
    )
    first = np.append(
        0,
        true_at((np.diff(step) != 0) | (np.diff(call) != 0) | eager) + 1,
    )
    built = np.maximum.reduceat(threads.end[ops], first)
    never = np.iinfo(np.int64).max
    batches = threads.of(thread, HostClass.GET_NEXT)
    following = np.searchsorted(threads.start[batches], built)
    taken = np.append(threads.end[batches], -1)[following]
    asked = np.append(threads.start[batches], never)[following]
    ends = steps.ends[step[first]]
    between = np.searchsorted(threads.start[others], asked) - np.searchsorted(
        threads.start[others],
        built,
    )
    here = (asked < np.append(threads.end[calls], never)[call[first]]) & (
        between < _EAGER_OPS
    )
    done = np.where(here & (asked < ends), np.minimum(taken, ends), built)
    # where steps begin with their batch, the next one's was built here
    done = np.where(here & (asked == ends), taken, done)
    return union(threads.start[ops[first]], done)


def _without_long(building: Intervals, python: Intervals) -> Intervals:
    """What remains of the time of building without long stretches of Python of the
    host: tf.data runs an op every few milliseconds, and the program's own Python may
    lie between two pipelines.
    """
    between = intersection(building, python)
    is_long = between.ends - between.starts >= _PYTHON_BETWEEN_PS
    starts, ends = between.starts[is_long], between.ends[is_long]
    return difference(building, union(starts, ends)) if len(starts) else building


def counted_iterations(
    steps: Steps,
    start: Int64Array,
    iteration: Int64Array,
) -> int:
    """Iterations of the longest while loop of each counted step, added up.

    start, iteration: of the executor's events, which number the iterations of every
    loop from 1 on.
    """
    inside = in_counted_steps(start, steps)
    step = np.searchsorted(steps.starts, start[inside], side="right") - 1
    longest = zeros(steps)
    np.maximum.at(longest, step, iteration[inside])
    return int(longest.sum())


def handing_time(threads: Threads, driver: int) -> Intervals:
    """When the driving thread makes arrays of a device out of arrays of the host: JAX
    converts and copies each NumPy argument.

    A loader's thread may do it without holding the step up.
    """
    if driver < 0:
        return EMPTY
    thread = threads.threads[driver]
    calls = threads.named(puts_on_device)
    calls = calls[thread.holds(calls)]
    return threads.when(calls)


def _in_counted_steps(
    threads: Threads,
    steps: Steps,
    wanted: Callable[[str], bool],
) -> Int64Array:
    """Positions of the counted steps' events whose name is wanted."""
    positions = threads.named(wanted)
    chosen: Int64Array = positions[in_counted_steps(threads.start[positions], steps)]
    return chosen


# What a host spends time on that a fix could give back, one kind of work at a time.


class HostCost(Enum):
    """Kinds of work that a host's time goes to. They may overlap each other.

    A timeline has the instants of each, a summary the time that each takes of the
    counted steps.
    """

    WAITING = "waiting"
    """The driving thread blocks, whether devices work or not."""
    WAITING_IDLE = "waiting_idle"
    """No device works, nothing else on the host explains it, and the driving thread
    blocks, as while a value is read.
    """
    WRITING = "writing"
    """The driving thread writes files, or prepares to, whether devices work or not; see
    writing_time.
    """
    BUILDING = "building"
    """The driving thread builds a tf.data pipeline, whether devices work or not; see
    building_time.
    """
    ALLOCATING = "allocating"
    """No device works, and any thread takes memory from the driver or gives it back."""
    STEP_PYTHON = "step_python"
    """No device works, and the step's compiled program is in Python."""
    BEHIND_LOADER = "behind_loader"
    """No device works, and the driving thread is in no event while threads that make
    its batches run Python: the lock lets one thread at a time do so.
    """
    BATCH_PYTHON = "batch_python"
    """No device works, and the loop's own Python makes the next batch."""
    EAGER = "eager"
    """No device works, and the driving thread dispatches ops one by one, other than to
    build a pipeline.
    """
    LOOP_TURNS = "loop_turns"
    """No device works, and the host runs a compiled program's loop turn by turn."""
    GRAPH_UPDATES = "graph_updates"
    """No device works, and the host writes buffers' addresses into CUDA graphs."""
    HANDING = "handing"
    """No device works, and the driving thread makes arrays of a device out of arrays of
    the host.
    """
    CROWDED_LAUNCH = "crowded_launch"
    """No device works, the host dispatches, and ops of a tf.data pipeline run on two
    threads or more; see crowded_by_pipeline.
    """


def _for_others(threads: Threads, steps: Steps) -> Intervals:
    """When the driving thread waits for other threads."""
    if steps.thread < 0:
        return EMPTY
    waits = waits_for_threads(threads, threads.threads[steps.thread])
    return threads.when(waits)


def _memory_calls(threads: Threads) -> Int64Array:
    """Positions of the calls that take memory from the driver or give it back, and of
    XLA's searches for buffers so long that they do: where no pool of memory tells what
    it gives out."""
    found = threads.named(finds_buffers)
    found = found[:0] if len(found) and len(threads.named(is_allocation)) else found
    found = found[threads.lengths(found) >= _FROM_DRIVER_PS]
    return np.concatenate([threads.named(blocks_on_memory), found])


def host_costs(
    threads: Threads,
    steps: Steps,
    activity: HostActivity,
    classes: Mapping[TimeClass, Intervals],
    devices: Sequence[Device],
    pipeline: BoolArray,
    alone_calls: Int64Array,
) -> Mapping[HostCost, Intervals]:
    """The instants of every cost, in the whole trace. classes: of host_classes_of_time.
    devices: the active ones.

    pipeline: for every host event, whether it is work of the input pipeline.
    alone_calls: of calls_of_one_op.
    """
    building = _without_long(building_time(threads, steps), classes[TimeClass.HOST])
    calls = _memory_calls(threads)
    eager = union_of(activity.eager, one_by_one(threads, steps, alone_calls))

    @cache
    def works() -> Intervals:
        return union_of(
            *(
                part
                for device in devices
                for part in (device.compute, device.collective, device.transfer)
            )
        )

    def alone(time: Intervals, of: TimeClass | None = None) -> Intervals:
        """Where no device works; of: a class of the host's time that it must belong to
        besides.
        """
        if not len(time):
            return EMPTY
        return difference(
            time if of is None else intersection(classes[of], time),
            works(),
        )

    return {
        HostCost.WAITING: activity.wait,
        HostCost.WAITING_IDLE: difference(
            alone(activity.wait),
            union_of(
                *classes.values(),
                *(device.held for device in devices),
                _for_others(threads, steps),
            ),
        ),
        HostCost.WRITING: writing_time(threads, steps),
        HostCost.BUILDING: building,
        HostCost.ALLOCATING: alone(threads.when(calls)),
        HostCost.STEP_PYTHON: alone(activity.step_python, TimeClass.HOST),
        HostCost.BEHIND_LOADER: alone(activity.behind_loader, TimeClass.INPUT),
        HostCost.BATCH_PYTHON: alone(activity.batch_python, TimeClass.INPUT),
        HostCost.EAGER: alone(difference(eager, building), TimeClass.LAUNCH),
        HostCost.LOOP_TURNS: alone(turns_of_loops(threads), TimeClass.LAUNCH),
        HostCost.GRAPH_UPDATES: alone(updates_of_graphs(threads), TimeClass.LAUNCH),
        HostCost.HANDING: alone(handing_time(threads, steps.thread), TimeClass.LAUNCH),
        HostCost.CROWDED_LAUNCH: alone(
            crowded_by_pipeline(threads, pipeline),
            TimeClass.LAUNCH,
        ),
    }
