"""What the allocators of the devices report about themselves."""

from __future__ import annotations

import numpy as np

from tfadvisor.lean_numpy import distinct
from tfadvisor.record import record
from tfadvisor.timeline.intervals import Int64Array
from tfadvisor.timeline.threads import Threads
from tfadvisor.xplane.columns import HostTrace

_HOST_ALLOCATORS = ("cpu", "mklcpu", "host", "pinned", "gpu_host")


@record
class DeviceMemory:
    """One device allocator: the most bytes in use, and what it could have given out in all."""

    allocator: str
    peak_bytes: int
    capacity_bytes: int


def device_memory(trace: HostTrace, threads: Threads) -> tuple[DeviceMemory, ...]:
    """Peak and capacity by allocator, host memory left out; empty when no device allocator left events."""
    column = trace.stat("allocator_name")
    event, code = column.codes()
    position = threads.positions(event)
    found = []
    for index, name in enumerate(column.texts):
        if any(word in name.lower() for word in _HOST_ALLOCATORS):
            continue
        mine = distinct(position[(code == index) & (position >= 0)])
        if len(mine):
            peak = _values(trace, threads, "peak_bytes_in_use", mine)
            held = _values(trace, threads, "bytes_allocated", mine) + _values(trace, threads, "bytes_reserved", mine)
            free = _values(trace, threads, "bytes_available", mine)
            capacity = int((held + free).max())
            if capacity > 0:
                found.append(DeviceMemory(name, int(max(peak.max(), held.max())), capacity))
    return tuple(found)


def _values(trace: HostTrace, threads: Threads, stat: str, positions: Int64Array) -> Int64Array:
    where, value = threads.integers(trace.stat(stat))
    table = np.zeros(len(threads), np.int64)
    table[where] = value
    found: Int64Array = table[positions]
    return found
