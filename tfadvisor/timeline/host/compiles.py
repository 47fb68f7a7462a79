"""Which functions were traced or compiled while the steps ran, and which libraries the
program uses.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from tfadvisor.arrays import distinct, is_in, trues
from tfadvisor.errors import TraceError
from tfadvisor.program import Modules
from tfadvisor.timeline.host.threads import Threads
from tfadvisor.timeline.intervals import Intervals, intersection
from tfadvisor.timeline.names import stats
from tfadvisor.timeline.names.classes import HostClass, is_keras, is_py_dataset
from tfadvisor.timeline.names.doings import makes_program
from tfadvisor.timeline.names.entries import entry_point
from tfadvisor.timeline.names.frames import (
    bare_frame,
    clears_caches,
    makes_jitted,
)
from tfadvisor.timeline.names.host_events import calls_function
from tfadvisor.timeline.names.op_path import (
    is_cudnn_recurrence,
    is_of_another_replica,
)
from tfadvisor.timeline.names.program_calls import (
    calls_module,
    is_jitted,
    jitted_function,
)
from tfadvisor.timeline.timeline_parts import Steps
from tfadvisor.trace.columns import HostTrace

if TYPE_CHECKING:
    from tfadvisor.program.arguments_differ import Differing
    from tfadvisor.program.recompiled import Recompilation

_MOST_PROGRAMS = 6
"""So many programs of one function tell whether its arguments change."""


class Compiled(msgspec.Struct, frozen=True):
    """A function compiled during the counted steps: how often, and the time that took,
    ps.
    """

    function: str
    times: int
    compile_ps: int
    steps: int = 0
    """In how many of the counted steps."""
    arguments: Differing | None = None
    """How those of its programs differ; None where the trace does not hold two of
    them.
    """
    why: Recompilation | None = None
    """What else differs, sizes included; None as above."""


def compiled_in_steps(
    trace: HostTrace,
    threads: Threads,
    steps: Steps,
    compiling: Intervals,
    programs: Modules,
) -> tuple[Compiled, ...]:
    """Each counted step's compilations by the function whose call brought them on, the
    costliest first. A call that only traces, as one inside of `jax.eval_shape`,
    compiles nothing.
    """
    if steps.thread < 0 or not steps.steady_time or not compiling:
        return ()
    thread = threads.threads[steps.thread]
    calls = threads.of(thread, HostClass.LAUNCH, HostClass.COMPILE)
    position = threads.positions(trace.stat(stats.TF_FUNCTION_CALL).event)
    position = position[thread.holds(position)]
    jitted = calls[threads.bear(calls, is_jitted)]
    calls = distinct(np.concatenate([jitted, position]))
    lo = threads.start[calls]
    hi = threads.end[calls]
    spent = compiling.within(lo, hi)
    counted = intersection(compiling, steps.steady_time).within(lo, hi)
    counts = (2 * counted > spent) & (
        spent >= 0.2 * (hi - lo)
    )  # a host that is ahead calls before the device's step
    built = threads.of(thread, HostClass.COMPILE)
    built = np.sort(threads.start[built[threads.bear(built, makes_program)]])
    makes = built.searchsorted(hi) > built.searchsorted(lo)
    counts &= makes | ~is_in(calls, jitted)  # what TensorFlow traces is a new graph
    calls = calls[counts]
    spent = spent[counts]
    lo = lo[counts]
    hi = hi[counts]
    outer = trues(calls)
    outer[1:] = lo[1:] >= np.maximum.accumulate(hi)[:-1]
    calls = calls[outer]
    spent = spent[outer]
    step = steps.starts.searchsorted(lo[outer], side="right")
    found = []
    for row in distinct(threads.row[calls]).tolist():
        mine = threads.row[calls] == row
        function = jitted_function(threads.names[row])
        arguments, why = _why(threads.names[row], programs)
        found.append(
            Compiled(
                function=threads.names[row] if function is None else function,
                times=int(mine.sum()),
                compile_ps=int(spent[mine].sum()),
                steps=len(distinct(step[mine])),
                arguments=arguments,
                why=_by_frames(why, threads, steps),
            )
        )
    return tuple(sorted(found, key=lambda each: -each.compile_ps))


def _why(call: str, programs: Modules) -> tuple[Differing | None, Recompilation | None]:
    """By the first programs of a jitted function, in the order in which they were
    made; None where fewer than two can be read.
    """
    keys = [key for key in programs.keys if calls_module(call, key.name)]
    keys.sort(key=lambda key: key.program_id)
    if len(keys) < 2:
        return None, None
    # few runs recompile
    from tfadvisor.program.arguments_differ import differing
    from tfadvisor.program.recompiled import why_compiled

    try:
        opened = [programs.open(key) for key in keys[:_MOST_PROGRAMS]]
        arguments = differing(opened)
        return arguments, why_compiled(opened, arguments)
    except TraceError:
        return None, None


def _by_frames(
    why: Recompilation | None, threads: Threads, steps: Steps
) -> Recompilation | None:
    """What frames say of a program that was made again without a change."""
    if why is None:
        return None
    from tfadvisor.program import recompiled  # few runs recompile

    if why.cause != recompiled.SAME:
        return why
    seen = ((clears_caches, recompiled.FORGOTTEN), (makes_jitted, recompiled.MADE_ANEW))
    for holds, reason in seen:
        begun = threads.start[threads.named(holds)]
        if steps.steady_time.contains(begun).any():
            return reason
    has_frames = len(threads.everywhere(HostClass.FRAME)) > 0
    return recompiled.UNSEEN if has_frames else why


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
