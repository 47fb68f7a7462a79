"""Calls on the host that hold a step up by themselves: waits, synchronisation, allocation, dynamic loss scaling."""

from __future__ import annotations

import numpy as np

from tfadvisor.lean_numpy import is_in
from tfadvisor.record import record
from tfadvisor.timeline.classes import HostClass
from tfadvisor.timeline.host_names import op_type, runs_python
from tfadvisor.timeline.intervals import EMPTY, Int64Array, Intervals, union
from tfadvisor.timeline.memory import blocks_on_memory
from tfadvisor.timeline.model import Steps
from tfadvisor.timeline.step_windows import in_counted_steps
from tfadvisor.timeline.threads import Threads

_SYNCHRONISING = ("StreamSynchronize", "CtxSynchronize", "DeviceSynchronize", "EventSynchronize")
_LOSS_SCALING = ("lossscal", "loss_scal")
_OPS = (HostClass.OP, HostClass.CONTROL_OP, HostClass.EAGER_OP)


@record
class HostCalls:
    """Of the counted steps. waits: how often the driving thread blocks. synchronises: calls of the driver that wait for a
    stream, an event or the device, over all threads; synchronise_ps: their summed length. loss_scaling: TensorFlow's ops
    of a loss scale. python_op: the op by which the compiled step calls Python, "" when it calls none.
    """

    waits: int = 0
    synchronises: int = 0
    synchronise_ps: int = 0
    loss_scaling: int = 0
    python_op: str = ""


def host_calls(threads: Threads, steps: Steps, waits: Intervals) -> HostCalls:
    """By name, each distinct one looked at once. waits: of the driving thread."""
    synchronising, scaling, python = [], [], ""
    for row, name in enumerate(threads.names):
        if not python and runs_python(name):
            python = op_type(name) or name
        if name.endswith(_SYNCHRONISING):
            synchronising.append(row)
        elif "cal" in name and any(word in name.lower() for word in _LOSS_SCALING):
            scaling.append(row)
    synchronises, scales = (_named(threads, steps, rows) for rows in (synchronising, scaling))
    return HostCalls(
        waits=int(in_counted_steps(waits.starts, steps).sum()),
        synchronises=len(synchronises),
        synchronise_ps=int((threads.end - threads.start)[synchronises].sum()),
        loss_scaling=int(is_in(threads.kind[scales], _OPS).sum()),
        python_op=python,
    )


def allocating_time(threads: Threads) -> Intervals:
    """When any thread is inside cudaMalloc, cudaFree or their kin."""
    rows = [row for row, name in enumerate(threads.names) if blocks_on_memory(name)]
    if not rows:
        return EMPTY
    calls = np.flatnonzero(is_in(threads.row, rows))
    return union(threads.start[calls], threads.end[calls])


def _named(threads: Threads, steps: Steps, rows: list[int]) -> Int64Array:
    """Positions of the counted steps' events of these names."""
    if not rows:
        return np.empty(0, np.int64)
    positions = np.flatnonzero(is_in(threads.row, rows))
    chosen: Int64Array = positions[in_counted_steps(threads.start[positions], steps)]
    return chosen
