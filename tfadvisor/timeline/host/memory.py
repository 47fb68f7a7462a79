"""What the allocators of the devices report about themselves, and the calls that take memory from the driver."""

from __future__ import annotations

import msgspec
import numpy as np

from tfadvisor.arrays import distinct
from tfadvisor.timeline.host.threads import Threads
from tfadvisor.timeline.intervals import Int64Array
from tfadvisor.timeline.model import Steps
from tfadvisor.timeline.names import stats
from tfadvisor.timeline.names.devices import is_host_allocator
from tfadvisor.timeline.names.drivers import blocks_on_memory
from tfadvisor.timeline.windows import in_counted_steps
from tfadvisor.trace.columns import HostTrace


class DeviceMemory(msgspec.Struct, frozen=True):
    """One device allocator.

    peak_bytes: the most in use. capacity_bytes: what it could have given out in all.
    """

    allocator: str
    peak_bytes: int
    capacity_bytes: int


def device_memory(trace: HostTrace, threads: Threads) -> tuple[DeviceMemory, ...]:
    """By allocator, host memory left out; empty when no device allocator left events."""
    column = trace.stat(stats.ALLOCATOR_NAME)
    event, code = column.codes()
    position = threads.positions(event)
    found = []
    for index, name in enumerate(column.texts):
        if is_host_allocator(name):
            continue
        mine = distinct(position[(code == index) & (position >= 0)])
        if len(mine):
            peak = _values(trace, threads, stats.PEAK_BYTES_IN_USE, mine)
            held = _values(trace, threads, stats.BYTES_ALLOCATED, mine) + _values(
                trace, threads, stats.BYTES_RESERVED, mine
            )
            capacity = int((held + _values(trace, threads, stats.BYTES_AVAILABLE, mine)).max())
            if capacity > 0:
                found.append(
                    DeviceMemory(
                        allocator=name,
                        peak_bytes=int(max(peak.max(), held.max())),
                        capacity_bytes=capacity,
                    )
                )
    return tuple(found)


def device_memory_calls(threads: Threads, steps: Steps) -> int:
    """Calls of cudaMalloc, cudaFree and their kin in the counted steps: each waits for all work on the device."""
    calls = threads.named(blocks_on_memory)
    return int(in_counted_steps(threads.start[calls], steps).sum()) if len(calls) else 0


def _values(trace: HostTrace, threads: Threads, stat: str, positions: Int64Array) -> Int64Array:
    where, value = threads.integers(trace.stat(stat))
    table = np.zeros(len(threads), np.int64)
    table[where] = value
    found: Int64Array = table[positions]
    return found
