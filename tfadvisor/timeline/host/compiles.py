"""Which functions were traced or compiled while the steps ran."""

from __future__ import annotations

import msgspec
import numpy as np

from tfadvisor.arrays import distinct
from tfadvisor.timeline.host.threads import Threads
from tfadvisor.timeline.intervals import Intervals
from tfadvisor.timeline.model import Steps
from tfadvisor.timeline.names import stats
from tfadvisor.timeline.names.classes import HostClass
from tfadvisor.timeline.names.programs import jitted_function
from tfadvisor.xplane.columns import HostTrace


class Compiled(msgspec.Struct, frozen=True):
    """A function compiled during the counted steps: how often, and the time that took, ps."""

    function: str
    times: int
    compile_ps: int


def compiled_in_steps(trace: HostTrace, threads: Threads, steps: Steps, compiling: Intervals) -> tuple[Compiled, ...]:
    """Each counted step's compilations by the function whose call brought them on, the costliest first."""
    steady = steps.steady()
    if steps.thread < 0 or not steady.any() or not len(compiling):
        return ()
    thread = threads.threads[steps.thread]
    calls = threads.of(thread, HostClass.LAUNCH, HostClass.COMPILE)
    position = threads.positions(trace.stat(stats.TF_FUNCTION_CALL).event)
    position = position[(position >= thread.lo) & (position < thread.hi)]
    named = np.array([jitted_function(name) is not None for name in threads.names], np.bool_)
    calls = distinct(np.concatenate([calls[named[threads.row[calls]]], position]))
    lo, hi = threads.start[calls], threads.end[calls]
    spent = compiling.within(lo, hi)
    step = np.searchsorted(steps.starts, lo, side="right") - 1
    counts = (step >= 0) & steady[np.maximum(step, 0)] & (spent > 0) & (spent >= 0.2 * (hi - lo))
    calls, spent, lo, hi = calls[counts], spent[counts], lo[counts], hi[counts]
    outer = np.ones(len(calls), np.bool_)
    outer[1:] = lo[1:] >= np.maximum.accumulate(hi)[:-1]
    calls, spent = calls[outer], spent[outer]
    found = []
    for row in distinct(threads.row[calls]).tolist():
        mine = threads.row[calls] == row
        function = jitted_function(threads.names[row])
        function = threads.names[row] if function is None else function
        found.append(Compiled(function, int(mine.sum()), int(spent[mine].sum())))
    return tuple(sorted(found, key=lambda one: -one.compile_ps))
