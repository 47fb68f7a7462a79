"""What the allocators of the devices report about themselves."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
import numpy as np

from tfadvisor.arrays import distinct
from tfadvisor.timeline.host.threads import Threads
from tfadvisor.timeline.intervals import Int64Array
from tfadvisor.timeline.names import stats
from tfadvisor.timeline.names.device_events import is_host_allocator
from tfadvisor.trace.columns import HostTrace


class DeviceMemory(msgspec.Struct, frozen=True):
    """One device allocator.

    peak_bytes: the most in use. capacity_bytes: what it could have given out in all.
    """

    peak_bytes: int
    capacity_bytes: int


def device_memory(trace: HostTrace, threads: Threads) -> tuple[DeviceMemory, ...]:
    """By allocator, host memory left out; empty when no device allocator left
    events.
    """
    found = []
    for _, mine in allocators(trace, threads):
        peak, given, reserved, available = (
            numbers_at(trace, threads, stat, mine)
            for stat in (
                *(stats.PEAK_BYTES_IN_USE, stats.BYTES_ALLOCATED),
                *(stats.BYTES_RESERVED, stats.BYTES_AVAILABLE),
            )
        )
        held = given + reserved
        capacity = int((held + available).max())
        if capacity > 0:
            found.append(DeviceMemory(int(max(peak.max(), held.max())), capacity))
    return tuple(found)


def allocators(trace: HostTrace, threads: Threads) -> Iterator[tuple[str, Int64Array]]:
    """(name, positions of its events in order of time) of each allocator of a device's
    memory that left events.
    """
    column = trace.stat(stats.ALLOCATOR_NAME)
    event, code = column.codes()
    position = threads.positions(event)
    for index, name in enumerate(column.texts):
        mine = distinct(position[(code == index) & (position >= 0)])
        if len(mine) and not is_host_allocator(name):
            yield name, mine[np.argsort(threads.start[mine], kind="stable")]


def numbers_at(
    trace: HostTrace,
    threads: Threads,
    stat: str,
    positions: Int64Array,
) -> Int64Array:
    """The integer that each event bears, 0 without one."""
    where, value = threads.integers(trace.stat(stat))
    table = np.zeros(len(threads), np.int64)
    table[where] = value
    found: Int64Array = table[positions]
    return found
