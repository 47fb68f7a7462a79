"""Which runs of TensorFlow's eager runtime are kernels of one op, and which are functions that it waits for."""

from __future__ import annotations

import numpy as np

from tfadvisor.arrays import distinct, is_in
from tfadvisor.timeline.host.threads import Threads
from tfadvisor.timeline.intervals import Int64Array
from tfadvisor.timeline.names.classes import HostClass
from tfadvisor.timeline.names.host import is_kernel_of_one_op


def eager_kernels(threads: Threads) -> tuple[Int64Array, Int64Array]:
    """Positions of (kernels that the eager runtime runs itself, runs of functions that it waits for).

    The op is named by the `EagerLocalExecute: Op` around the run. A run inside a GET_NEXT event is neither.
    """
    kernels, waits = [], []
    for thread in threads.threads:
        runs = threads.of(thread, HostClass.RUN_EAGER)
        if not len(runs):
            continue
        around = threads.of(thread, HostClass.EAGER_OP, HostClass.GET_NEXT)
        if not len(around):
            waits.append(runs)
            continue
        place = np.searchsorted(threads.start[around], threads.start[runs], side="right") - 1
        owner = around[np.maximum(place, 0)]
        enclosed = (place >= 0) & (threads.end[owner] >= threads.end[runs])
        plain_rows = [row for row in distinct(threads.row[owner]).tolist() if is_kernel_of_one_op(threads.names[row])]
        plain = is_in(threads.row[owner], plain_rows)
        get_next = enclosed & (threads.kind[owner] == HostClass.GET_NEXT)
        kernels.append(runs[enclosed & plain & ~get_next])
        waits.append(runs[~(enclosed & plain) & ~get_next])
    return _joined(kernels), _joined(waits)


def _joined(parts: list[Int64Array]) -> Int64Array:
    return np.sort(np.concatenate(parts)) if parts else np.empty(0, np.int64)
