"""Steps as batches that the loop takes from tf.data, one each."""

from __future__ import annotations

import numpy as np

from tfadvisor.arrays import is_in
from tfadvisor.timeline.host.dispatches import dispatches, outermost
from tfadvisor.timeline.host.threads import Threads
from tfadvisor.timeline.intervals import Int64Array
from tfadvisor.timeline.model import StepSource
from tfadvisor.timeline.names.classes import HostClass
from tfadvisor.timeline.steps.rhythm import LEAST_CYCLES, Inferred, inferred


def batches_taken(threads: Threads, driver: int) -> Inferred | None:
    """One batch a step: each time the driving thread asks tf.data for one."""
    if driver < 0:
        return None
    calls = _first_of_each_batch(threads, driver)
    if len(calls) < LEAST_CYCLES:
        return None
    return inferred(
        threads.start[calls],
        threads.end[calls],
        StepSource.HOST_LOOP,
        0.8,
        driver,
        "batches taken from the input pipeline",
    )


def batches_of_layered_steps(threads: Threads, functions: Inferred | None) -> Inferred | None:
    """A loop that takes one batch for several calls of a function steps from batch to batch: each layer is a function."""
    if functions is None:
        return functions
    batches = batches_taken(threads, functions.thread)
    if batches is None or not batches.confidence or len(functions.starts) < 2 * len(batches.starts):
        return functions
    return batches


def thread_that_takes_most(threads: Threads) -> int:
    """The thread that takes most batches from tf.data, -1 when none does. With replicas it is not the one that dispatches."""
    taken = [(len(threads.of(one, HostClass.GET_NEXT)), -one.index) for one in threads.threads if not one.is_pipeline]
    most, index = max(taken, default=(0, 0))
    return -index if most else -1


def _first_of_each_batch(threads: Threads, index: int) -> Int64Array:
    """Calls that take a batch from tf.data; of several in a row, one for each replica, the first."""
    thread = threads.threads[index]
    calls = outermost(threads, threads.of(thread, HostClass.GET_NEXT))
    others = dispatches(threads, thread)
    others = others[~is_in(others, calls)]
    between = np.searchsorted(others, calls)
    return calls[np.insert(np.diff(between) > 0, 0, True)] if len(calls) else calls
