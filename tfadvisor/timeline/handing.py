"""When a call makes arrays of a device out of arrays of the host: JAX converts and copies each NumPy argument."""

from __future__ import annotations

import numpy as np

from tfadvisor.lean_numpy import is_in
from tfadvisor.timeline.intervals import EMPTY, Intervals, union
from tfadvisor.timeline.threads import Threads


def handing_time(threads: Threads, driver: int) -> Intervals:
    """Of the driving thread; a loader's thread may do it without holding the step up."""
    rows = [row for row, name in enumerate(threads.names) if name.startswith("DevicePut")]
    if driver < 0 or not rows:
        return EMPTY
    thread = threads.threads[driver]
    calls = np.flatnonzero(is_in(threads.row[thread.lo : thread.hi], rows)) + thread.lo
    return union(threads.start[calls], threads.end[calls])
