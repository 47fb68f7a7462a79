"""Which functions were traced or compiled while the steps ran, and which libraries the
program uses.
"""

from __future__ import annotations

from functools import lru_cache

import msgspec
import numpy as np

from tfadvisor.arrays import distinct
from tfadvisor.errors import TraceError
from tfadvisor.program.arguments_differ import Differing, differing
from tfadvisor.program.find_modules import Modules
from tfadvisor.timeline.host.threads import Threads
from tfadvisor.timeline.intervals import Intervals, intersection
from tfadvisor.timeline.names import stats
from tfadvisor.timeline.names.classes import HostClass, is_keras, is_py_dataset
from tfadvisor.timeline.names.entries import entry_point
from tfadvisor.timeline.names.frames import bare_frame
from tfadvisor.timeline.names.host_events import calls_function
from tfadvisor.timeline.names.op_path import (
    is_cudnn_recurrence,
    is_of_another_replica,
)
from tfadvisor.timeline.names.program_calls import calls_module, jitted_function
from tfadvisor.timeline.timeline_parts import Steps
from tfadvisor.trace.columns import HostTrace

_MOST_PROGRAMS = 6
"""So many programs of one function tell whether its arguments change."""


class Compiled(msgspec.Struct, frozen=True):
    """A function compiled during the counted steps: how often, and the time that took,
    ps.

    arguments: how those of its programs differ, None where the trace does not hold two
    of them.
    """

    function: str
    times: int
    compile_ps: int
    arguments: Differing | None = None


def compiled_in_steps(
    trace: HostTrace,
    threads: Threads,
    steps: Steps,
    compiling: Intervals,
    programs: Modules,
) -> tuple[Compiled, ...]:
    """Each counted step's compilations by the function whose call brought them on, the
    costliest first.
    """
    if steps.thread < 0 or not steps.steady_time or not compiling:
        return ()
    thread = threads.threads[steps.thread]
    calls = threads.of(thread, HostClass.LAUNCH, HostClass.COMPILE)
    position = threads.positions(trace.stat(stats.TF_FUNCTION_CALL).event)
    position = position[(position >= thread.lo) & (position < thread.hi)]
    calls = distinct(
        np.concatenate(
            [
                calls[
                    threads.bear(calls, lambda name: jitted_function(name) is not None)
                ],
                position,
            ]
        )
    )
    lo = threads.start[calls]
    hi = threads.end[calls]
    spent = compiling.within(lo, hi)
    counted = intersection(compiling, steps.steady_time).within(lo, hi)
    counts = (2 * counted > spent) & (
        spent >= 0.2 * (hi - lo)
    )  # a host that is ahead calls before the device's step
    calls = calls[counts]
    spent = spent[counts]
    lo = lo[counts]
    hi = hi[counts]
    outer = np.ones(len(calls), np.bool_)
    outer[1:] = lo[1:] >= np.maximum.accumulate(hi)[:-1]
    calls = calls[outer]
    spent = spent[outer]
    found = []
    for row in distinct(threads.row[calls]).tolist():
        mine = threads.row[calls] == row
        function = jitted_function(threads.names[row])
        function = threads.names[row] if function is None else function
        found.append(
            Compiled(
                function,
                int(mine.sum()),
                int(spent[mine].sum()),
                _differing(threads.names[row], programs),
            )
        )
    return tuple(sorted(found, key=lambda one: -one.compile_ps))


def _differing(call: str, programs: Modules) -> Differing | None:
    """How the arguments of a jitted function's first programs differ, None where fewer
    than two can be read.
    """
    keys = [key for key in programs.keys if calls_module(call, key.name)]
    if len(keys) < 2:
        return None
    try:
        return differing([programs.open(key) for key in keys[:_MOST_PROGRAMS]])
    except TraceError:
        return None


# Which libraries a program is written with, as far as names in its trace prove it.


class Libraries(msgspec.Struct, frozen=True):
    """The first name that proves each, "" where none does."""

    keras: str = ""
    """Keras' own training loop, by a function that it compiled where there is one."""
    py_dataset: str = ""
    """A PyDataset, in Keras 2 a Sequence, from which Keras takes its batches."""
    replica: str = ""
    """An op of a second replica under one of TensorFlow's strategies."""
    cudnn_recurrence: str = ""
    """A recurrent layer that cuDNN runs in one kernel."""
    entry: str = ""
    """What runs the steps: see `names.entries`."""


@lru_cache(maxsize=4)  # the hosts of a run mostly have the same names
def libraries(names: tuple[str, ...]) -> Libraries:
    """By the names of host events, each distinct one looked at once."""
    return Libraries(
        keras=bare_frame(
            min(
                filter(is_keras, names),
                key=lambda name: not calls_function(name),
                default="",
            )
        ),
        py_dataset=bare_frame(next(filter(is_py_dataset, names), "")),
        replica=next(filter(is_of_another_replica, names), ""),
        cudnn_recurrence=next(filter(is_cudnn_recurrence, names), ""),
        entry=entry_point(names),
    )
