"""Steps of a capture too short for a rhythm: calls of the compiled function in which the devices' work is launched.

Keras' `TensorBoard(profile_batch=2)` records one batch. Its step is one call of the training function; what the callback
does after that, when it exports the graph and stops the profiler, is none of it. A function that does most of the devices'
work is the step, too, where its calls keep no rhythm: a validation or a checkpoint lies between them.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np

from tfadvisor.arrays import distinct, is_in
from tfadvisor.timeline.host.dispatches import outermost
from tfadvisor.timeline.host.threads import Threads
from tfadvisor.timeline.intervals import Int64Array
from tfadvisor.timeline.model import Device, StepSource
from tfadvisor.timeline.names import stats
from tfadvisor.timeline.names.host import function_name, is_eager_function, is_jitted_call
from tfadvisor.timeline.steps.rhythm import LEAST_CYCLES, Inferred
from tfadvisor.vocabulary import DeviceKind
from tfadvisor.xplane.columns import HostTrace

_MANY_CALLS = 8
_OF_MANY_CALLS = 0.6
_OF_UNEVEN_CALLS = 0.45
"""Confidence in calls without a rhythm. Of three to seven of them no share is typical: rules abstain below 0.5."""
_NEARLY_ALL_WORK = 0.8
"""Calls without a rhythm are steps only where little else computes; one op of an eager program is none."""
_MOST_WORK = 0.5
"""The function in which at least this share of the devices' work is launched is what the program steps by."""


class Calls(msgspec.Struct, frozen=True):
    """Calls of one function on one thread, ascending."""

    starts: Int64Array
    """When each call begins, ps."""
    ends: Int64Array
    """When the last device work launched in the call ends, or the call where nothing is launched after it returns. ps."""
    share: float
    """Of all device work, how much the calls launch: 0..1."""
    thread: int
    name: str
    """The function, as its calls are named, without numbers that a runtime appended."""

    def about(self) -> str:
        """What such steps were found by, for the report."""
        return f"calls of {self.name}, which launch {self.share:.0%} of the device work"


def uneven_calls(calls: Calls | None) -> Inferred | None:
    """Three calls or more that launch nearly all device work: the program's steps, though they keep no rhythm."""
    if calls is None or len(calls.starts) < LEAST_CYCLES or calls.share < _NEARLY_ALL_WORK:
        return None
    sure = _OF_MANY_CALLS if len(calls.starts) >= _MANY_CALLS else _OF_UNEVEN_CALLS
    return Inferred(calls.starts, calls.ends, StepSource.MODULE, sure, calls.thread, calls.about())


def calls_with_device_work(trace: HostTrace, threads: Threads, devices: Sequence[Device]) -> Calls | None:
    """Of the compiled functions that Python calls, the one whose calls launch most device work; None without such.

    It must be at least half of all. Functions are distinguished by name; numbers that a runtime appends do not count.
    """
    position = _outer_calls(trace, threads)
    label = {row: function_name(threads.names[row]) for row in distinct(threads.row[position]).tolist()}
    thread = threads.thread_of(position)
    best: Calls | None = None
    for one in sorted(set(thread.tolist())):
        for name in sorted(set(label.values())):
            rows = [row for row, text in label.items() if text == name]
            mine = position[(thread == one) & is_in(threads.row[position], rows)]
            found = _launching(threads, outermost(threads, mine), devices, one, name) if len(mine) else None
            if found is not None and (best is None or found.share > best.share):
                best = found
    return best


def _outer_calls(trace: HostTrace, threads: Threads) -> Int64Array:
    """Positions at which Python calls a tf.function or a jitted function; without these, functions run eagerly."""
    position = threads.positions(trace.stat(stats.TF_FUNCTION_CALL).event)
    position = distinct(np.append(position[position >= 0], threads.named(is_jitted_call)))
    if not len(position):
        position = threads.named(is_eager_function)
    return position[~threads.on_pipeline_threads(position)]


def _launching(threads: Threads, calls: Int64Array, devices: Sequence[Device], thread: int, name: str) -> Calls | None:
    """The calls that launch device work; None where they launch less than half of all.

    An accelerator's work belongs to the call during which it was launched. A CPU's runs during the call itself.
    """
    starts, ends = threads.start[calls], threads.end[calls]
    finished, worked = ends.copy(), np.zeros(len(calls), np.int64)
    everything = 0
    for device in devices:
        ops = device.ops
        unknown = ops.start if device.kind is DeviceKind.CPU else np.full(len(ops), -1, np.int64)
        begun = np.where(ops.launch_start >= 0, ops.launch_start, unknown)
        call = np.searchsorted(starts, begun, side="right") - 1
        inside = (call >= 0) & (begun < ends[np.maximum(call, 0)])
        np.maximum.at(finished, call[inside], ops.end[inside])
        np.add.at(worked, call[inside], (ops.end - ops.start)[inside])
        everything += int((ops.end - ops.start).sum())
    if worked.sum() < max(_MOST_WORK * everything, 1):
        return None
    mine = worked > 0
    return Calls(starts[mine], finished[mine], float(worked.sum() / everything), thread, name)
