"""Which host events are work of a tf.data pipeline."""

from __future__ import annotations

import numpy as np

from tfadvisor.arrays import distinct, is_in
from tfadvisor.timeline.host.threads import Threads
from tfadvisor.timeline.intervals import EMPTY, BoolArray, Intervals, intersection, union, union_of
from tfadvisor.timeline.names import stats
from tfadvisor.timeline.names.classes import HostClass
from tfadvisor.xplane.columns import HostTrace


def pipeline_work(trace: HostTrace, threads: Threads) -> BoolArray:
    """Whether each host event is work of a tf.data pipeline.

    It is when its thread works for tf.data alone, or when it lies inside an executor run whose step id is that of a
    captured function, which tf.data may run on the common thread pool.
    """
    work = np.zeros(len(threads), np.bool_)
    for thread in threads.threads:
        if thread.is_pipeline:
            work[thread.lo : thread.hi] = True
    position, step_id = threads.integers(trace.stat(stats.EXECUTOR_STEP))
    kind = threads.kind[position]
    captured_ids = distinct(step_id[kind == HostClass.CAPTURED.value])
    if not len(captured_ids):
        return work
    runs = position[(kind == HostClass.PROCESS.value) & is_in(step_id, captured_ids)]
    for thread in threads.threads:
        lo, hi = np.searchsorted(runs, [thread.lo, thread.hi])
        if lo < hi and not thread.is_pipeline:
            mine = runs[lo:hi]
            inside = union(threads.start[mine], threads.end[mine])
            work[thread.lo : thread.hi] = inside.contains(threads.start[thread.lo : thread.hi])
    return work


def crowded_by_pipeline(threads: Threads, work: BoolArray) -> Intervals:
    """When ops of the pipeline run on two threads or more at once: one alone leaves the pool of threads to the step.

    work: of pipeline_work.
    """
    ops = threads.everywhere(HostClass.OP, among=work)
    thread = threads.thread_of(ops)
    once = twice = EMPTY
    for one in distinct(thread).tolist():
        mine = ops[thread == one]
        busy = union(threads.start[mine], threads.end[mine])
        twice = union_of(twice, intersection(once, busy))
        once = union_of(once, busy)
    return twice
