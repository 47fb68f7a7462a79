"""The compiled functions that TensorFlow's Python calls in a step, and which of them
change what is trained.
"""

from __future__ import annotations

import msgspec
import numpy as np

from tfadvisor.arrays import Int64Array
from tfadvisor.timeline.host.dispatches import outermost
from tfadvisor.timeline.host.threads import Threads
from tfadvisor.timeline.names.classes import HostClass
from tfadvisor.timeline.names.host_events import (
    called_function,
    calls_function,
    changes_variables,
    hides_ops,
)
from tfadvisor.timeline.timeline_parts import Steps
from tfadvisor.timeline.windows import in_counted_steps, step_of


class FunctionCalls(msgspec.Struct, frozen=True):
    """Calls of one function in the counted steps."""

    name: str
    """That the program gave it: `train_step`."""
    steps: int
    """Counted ones, in which it is called."""
    total_ps: int
    """From where each call begins to where it returns."""
    changes: bool | None
    """Whether an op in it changes variables otherwise than by adding to them, as
    metrics do; None where the trace does not show its ops.
    """


def function_calls(threads: Threads, steps: Steps) -> tuple[FunctionCalls, ...]:
    """Of the driving thread, the costliest first."""
    if steps.thread < 0 or not steps.steady_time:
        return ()
    calls = threads.of(threads.threads[steps.thread], HostClass.EAGER_OP)
    calls = outermost(threads, calls[threads.bear(calls, calls_function)])
    calls = calls[in_counted_steps(threads.start[calls], steps)]
    rows, row_of_call = np.unique(threads.row[calls], return_inverse=True)
    names, name_of_row = np.unique(
        np.array([called_function(threads.names[row]) for row in rows], np.object_),
        return_inverse=True,
    )
    if len(names) < _FEWEST:
        return ()
    name_of_call = name_of_row[row_of_call]
    step_of_call = step_of(threads.start[calls], steps)
    lasts = threads.lengths(calls)
    shown, hidden, changing = _ops_in(threads, calls)
    found = []
    for number, name in enumerate(names):
        mine = name_of_call == number
        changes = bool(changing[mine].any())
        is_known = changes or (shown[mine].all() and not hidden[mine].any())
        in_steps = len(np.unique(step_of_call[mine]))
        found.append(
            FunctionCalls(
                name, in_steps, int(lasts[mine].sum()), changes if is_known else None
            )
        )
    return tuple(sorted(found, key=lambda calls: -calls.total_ps))


_FEWEST = 2
"""Functions, to compare one with another."""


def _ops_in(
    threads: Threads, calls: Int64Array
) -> tuple[Int64Array, Int64Array, Int64Array]:
    """How many ops begin within each call, how many of these hide others, and how many
    change variables. Shapes (calls,).
    """
    ops = threads.everywhere(HostClass.OP, HostClass.CONTROL_OP)
    call = np.searchsorted(threads.start[calls], threads.start[ops], side="right") - 1
    within = (call >= 0) & (threads.start[ops] < threads.end[calls[call]])
    ops, call = ops[within], call[within]

    def counted(which: Int64Array) -> Int64Array:
        return np.bincount(call[which], minlength=len(calls))

    every = np.arange(len(ops))
    hide = np.flatnonzero(threads.bear(ops, hides_ops))
    change = np.flatnonzero(threads.bear(ops, changes_variables))
    return counted(every), counted(hide), counted(change)
