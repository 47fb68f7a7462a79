"""Calls on host threads that start programs and ops."""

from __future__ import annotations

import re

import numpy as np

from tfadvisor.lean_numpy import distinct, is_in
from tfadvisor.timeline.classes import HostClass
from tfadvisor.timeline.intervals import Int64Array
from tfadvisor.timeline.threads import Thread, Threads

_PJIT = re.compile(r"^PjitFunction\((.*)\)$")
_NAMED = ("PjitFunction", "EagerLocalExecute: ", "Iterator", "PjRt", "TfrtCpuExecutable")


def calls_of_module(threads: Threads, module: str) -> Int64Array:
    """Positions of the outermost calls of the jitted function that XLA compiled to this module, in order of time."""
    calls = threads.named(lambda name: _module_of_call(name) == module)
    found = [outermost(threads, calls[threads.thread_of(calls) == one]) for one in distinct(threads.thread_of(calls))]
    joined = np.concatenate(found) if found else calls
    return joined[np.argsort(threads.start[joined], kind="stable")]


def _module_of_call(name: str) -> str | None:
    """`PjitFunction(train_step)` -> `jit_train_step`, the module that XLA names after it."""
    match = _PJIT.match(name)
    return f"jit_{re.sub(r'[^A-Za-z0-9_]', '_', match.group(1))}" if match else None


def dispatches(threads: Threads, thread: Thread) -> Int64Array:
    """Positions of a thread's outermost dispatches that name a program or an op."""
    candidates = threads.of(thread, HostClass.LAUNCH, HostClass.EAGER_OP, HostClass.GET_NEXT)
    rows = distinct(threads.row[candidates])
    named = [row for row in rows.tolist() if threads.names[row].startswith(_NAMED)]
    return outermost(threads, candidates[is_in(threads.row[candidates], named)])


def outermost(threads: Threads, positions: Int64Array) -> Int64Array:
    """The positions (ascending, of one thread) that do not lie inside an earlier one."""
    if not len(positions):
        return positions
    reach = np.maximum.accumulate(threads.end[positions])
    keep = np.ones(len(positions), np.bool_)
    keep[1:] = threads.start[positions[1:]] >= reach[:-1]
    return positions[keep]
