"""How a run without an accelerator shares its cores between the step and its tf.data pipeline."""

from __future__ import annotations

import msgspec
import numpy as np

from tfadvisor.arrays import distinct
from tfadvisor.timeline.devices.cpu import computing_events
from tfadvisor.timeline.host.threads import Threads
from tfadvisor.timeline.intervals import BoolArray, Int64Array, Intervals, difference, union
from tfadvisor.timeline.model import Steps
from tfadvisor.timeline.names.classes import HostClass
from tfadvisor.timeline.names.input_pipeline import may_wait, stage_kind, stage_path
from tfadvisor.timeline.windows import in_counted_steps
from tfadvisor.xplane.columns import HostTrace


class SharedCores(msgspec.Struct, frozen=True):
    """Of the counted steps. computing, preparing: how many threads run ops of the step and of the pipeline; preparing_ps: the
    time of the pipeline's ops and of its stages' own work, summed over its threads.
    """

    computing: int = 0
    preparing: int = 0
    preparing_ps: int = 0


def shared_cores(trace: HostTrace, threads: Threads, steps: Steps, pipeline: BoolArray) -> SharedCores:
    """pipeline: for every host event, whether it is work of the pipeline."""
    stages = _counted(threads, steps, threads.everywhere(HostClass.DATASET, among=pipeline))
    waits, own = stages[threads.bear(stages, _waits)], stages[threads.bear(stages, _works)]
    del stages
    ops = _counted(threads, steps, threads.everywhere(HostClass.OP, among=pipeline))
    work = np.sort(np.concatenate([ops, own]))
    if not len(work):
        return SharedCores()
    del ops, own
    thread, waits_of = threads.thread_of(work), threads.thread_of(waits)
    preparing = distinct(thread)
    return SharedCores(
        computing=len(
            distinct(threads.thread_of(_counted(threads, steps, computing_events(trace, threads, pipeline))))
        ),
        preparing=len(preparing),
        preparing_ps=sum(
            difference(_covered(threads, work[thread == one]), _covered(threads, waits[waits_of == one])).length()
            for one in preparing.tolist()
        ),
    )


def _counted(threads: Threads, steps: Steps, events: Int64Array) -> Int64Array:
    return events[in_counted_steps(threads.start[events], steps)]


def _works(name: str) -> bool:
    """Whether a stage does its work on the thread that asks it: it cuts, batches and copies elements."""
    path = stage_path(name)
    return path is not None and not _waits(name)


def _waits(name: str) -> bool:
    path = stage_path(name)
    return path is not None and may_wait(stage_kind(path))


def _covered(threads: Threads, events: Int64Array) -> Intervals:
    """The time of one thread's events, nested ones counted once."""
    return union(threads.start[events], threads.end[events])
