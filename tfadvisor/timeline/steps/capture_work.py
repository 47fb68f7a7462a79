"""What starting and stopping the profiler costs the thread that drives the steps, before the first and after the last.

Keras' TensorBoard callback exports the graph and flushes its writer when it stops the profiler: 1 to 51 ms in captures of
one batch. No step holds that time; the report names it, since a viewer that ends the step with the last event does not.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tfadvisor.arrays import true_at
from tfadvisor.timeline.host.threads import Thread, Threads
from tfadvisor.timeline.intervals import Int64Array
from tfadvisor.timeline.model import Steps
from tfadvisor.timeline.names.host import is_profiler_call, writes_file


def capture_work_ps(threads: Threads, steps: Steps) -> tuple[int, int]:
    """(before the first step, after the last one), ps; 0 where nothing there is the profiler's or its callback's.

    Files that are also written in or between the steps are the program's own.
    """
    if steps.thread < 0:
        return 0, 0
    thread = threads.threads[steps.thread]
    first, last = int(steps.starts[0]), int(steps.ends.max())
    own, writes = (_named(threads, thread, wanted) for wanted in (is_profiler_call, writes_file))
    before = own[threads.end[own] <= first]
    after = own[threads.start[own] >= last]
    if (threads.start[writes] >= last).all():
        after = np.concatenate([after, writes])
    return (
        first - int(threads.start[before].min()) if len(before) else 0,
        int(threads.end[after].max()) - last if len(after) else 0,
    )


def _named(threads: Threads, thread: Thread, wanted: Callable[[str], bool]) -> Int64Array:
    return true_at(threads.bear(slice(thread.lo, thread.hi), wanted)) + thread.lo
