"""Steps as calls of a tf.function, and as iterations of a loop inside one."""

from __future__ import annotations

import numpy as np

from tfadvisor.arrays import distinct
from tfadvisor.timeline.host.dispatches import outermost
from tfadvisor.timeline.host.threads import Threads
from tfadvisor.timeline.model import StepSource
from tfadvisor.timeline.names import stats
from tfadvisor.timeline.names.classes import HostClass
from tfadvisor.timeline.names.host import function_name, is_eager_function
from tfadvisor.timeline.steps.rhythm import LEAST_CYCLES, Inferred, inferred
from tfadvisor.timeline.steps.same_name import grouped
from tfadvisor.xplane.columns import HostTrace

_FILLS = 0.25
"""Calls of a function are steps where they take at least this share of the time from the first to the last."""
_TAKEN = 0.8
"""Iterations are steps where at least so many batches are taken meanwhile, for each of them."""


def calls_of_tf_function(trace: HostTrace, threads: Threads) -> Inferred | None:
    """Calls of the tf.function that takes most time on its thread."""
    position = threads.positions(trace.stat(stats.TF_FUNCTION_CALL).event)
    position = distinct(position[position >= 0])
    if not len(position):
        position = threads.everywhere(HostClass.EAGER_OP)
        position = position[threads.bear(position, is_eager_function)]
    position = position[~threads.on_pipeline_threads(position)]
    if not len(position):
        return None
    names, code = grouped(threads.row[position], threads.names, function_name)
    thread = threads.thread_of(position)
    best: Inferred | None = None
    longest = 0
    for one in distinct(thread * len(names) + code).tolist():
        mine = outermost(threads, position[thread * len(names) + code == one])
        starts, ends = threads.start[mine], threads.end[mine]
        total = int((ends - starts).sum())
        fills = total >= _FILLS * int(ends[-1] - starts[0])
        if len(mine) >= LEAST_CYCLES and fills and total > longest:
            about = f"calls of {names[one % len(names)]}"
            best = inferred(starts, ends, StepSource.MODULE, 0.9, one // len(names), about)
            longest = total
    return best


def iterations_in_function(trace: HostTrace, threads: Threads) -> Inferred | None:
    """Iterations of a TensorFlow training loop inside one function call: `iter_num` of the executor's work.

    A loop over time steps of one batch looks the same; a training loop takes a batch from the pipeline each time.
    """
    position, iteration = threads.integers(trace.stat(stats.LOOP_ITERATION))
    id_position, step_id = threads.integers(trace.stat(stats.EXECUTOR_STEP))
    if not len(id_position):
        return None
    where = np.minimum(np.searchsorted(id_position, position), len(id_position) - 1)
    matches = id_position[where] == position
    position, iteration, run = position[matches], iteration[matches], step_id[where[matches]]
    if not len(position):
        return None
    runs, inverse = np.unique(run, return_inverse=True)
    most = np.zeros(len(runs), np.int64)
    np.maximum.at(most, inverse, iteration)
    mine = (inverse == int(np.argmax(most))) & (iteration > 0)
    numbers, group = np.unique(iteration[mine], return_inverse=True)
    if len(numbers) < LEAST_CYCLES:
        return None
    starts = np.full(len(numbers), np.iinfo(np.int64).max)
    ends = np.zeros(len(numbers), np.int64)
    np.minimum.at(starts, group, threads.start[position[mine]])
    np.maximum.at(ends, group, threads.end[position[mine]])
    batches = threads.start[threads.everywhere(HostClass.GET_NEXT)]
    taken = int(((batches >= starts[0]) & (batches <= ends[-1])).sum())
    if (np.diff(starts) <= 0).any() or taken < _TAKEN * len(numbers):
        return None
    about = "iterations of a loop inside one function call"
    return inferred(starts, ends, StepSource.HOST_LOOP, 0.8, -1, about)
