"""Steps as a sequence that repeats: of dispatches on the driving thread, or of kernels on a device."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tfadvisor.arrays import true_at
from tfadvisor.timeline.host.dispatches import dispatches
from tfadvisor.timeline.host.threads import Threads
from tfadvisor.timeline.model import Device, StepSource
from tfadvisor.timeline.names.classes import DeviceClass
from tfadvisor.timeline.steps.periodicity import find_period
from tfadvisor.timeline.steps.rhythm import LEAST_CYCLES, Inferred, inferred


def repeated_dispatches(threads: Threads, driver: int) -> Inferred | None:
    """A repeated sequence of dispatched programs and ops on the driving thread."""
    if driver < 0:
        return None
    calls = dispatches(threads, threads.threads[driver])
    if len(calls) < 4 * LEAST_CYCLES:
        return None
    starts, ends = threads.start[calls], threads.end[calls]
    period = find_period(threads.row[calls].astype(np.int64), starts, ends)
    if period is None or len(period.firsts) < LEAST_CYCLES:
        return None
    lasts = np.append(period.firsts[1:] - 1, len(calls) - 1)
    about = f"a repeated sequence of {period.length} dispatches"
    return inferred(starts[period.firsts], ends[lasts], StepSource.LAUNCH_PATTERN, 0.8 * period.match, driver, about)


def repeated_kernels(devices: Sequence[Device]) -> Inferred | None:
    """A repeated sequence of kernels on the busiest device."""
    active = [device for device in devices if device.is_active]
    if not active:
        return None
    device = max(active, key=lambda one: one.compute.length())
    kernels = true_at(device.ops.kind == DeviceClass.COMPUTE.value)
    if len(kernels) < 4 * LEAST_CYCLES:
        return None
    starts, ends = device.ops.start[kernels], device.ops.end[kernels]
    period = find_period(device.ops.name[kernels].astype(np.int64), starts, ends)
    if period is None or period.length < 2 or len(period.firsts) < LEAST_CYCLES:
        return None
    lasts = np.append(period.firsts[1:] - 1, len(kernels) - 1)
    about = f"a repeated sequence of {period.length} kernels"
    return inferred(starts[period.firsts], ends[lasts], StepSource.LAUNCH_PATTERN, 0.7 * period.match, -1, about)
