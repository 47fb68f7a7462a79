"""When a call makes arrays of a device out of arrays of the host: JAX converts and copies each NumPy argument."""

from __future__ import annotations

from tfadvisor.timeline.host.threads import Threads
from tfadvisor.timeline.intervals import EMPTY, Intervals, union


def handing_time(threads: Threads, driver: int) -> Intervals:
    """Of the driving thread; a loader's thread may do it without holding the step up."""
    if driver < 0:
        return EMPTY
    thread = threads.threads[driver]
    calls = threads.named(lambda name: name.startswith("DevicePut"))
    calls = calls[(calls >= thread.lo) & (calls < thread.hi)]
    return union(threads.start[calls], threads.end[calls])
