"""What the allocators of the devices report about themselves."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec
import numpy as np

from tfadvisor.arrays import Int64Array, distinct, is_in, order_of, zeros
from tfadvisor.timeline.host.threads import Threads
from tfadvisor.timeline.names import stats
from tfadvisor.timeline.names.allocations import (
    is_of_filters,
    is_output,
    last_of_shape,
)
from tfadvisor.timeline.names.device_events import is_host_allocator
from tfadvisor.timeline.names.op_path import op_path
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
            yield name, mine[order_of(threads.start[mine])]


def numbers_at(
    trace: HostTrace,
    threads: Threads,
    stat: str,
    positions: Int64Array,
) -> Int64Array:
    """The integer that each event bears, 0 without one."""
    where, value = threads.integers(trace.stat(stat))
    table = zeros(threads)
    table[where] = value
    found: Int64Array = table[positions]
    return found


def texts_at(
    trace: HostTrace,
    threads: Threads,
    stat: str,
    positions: Sequence[int] | Int64Array,
) -> list[str]:
    """The text that each event bears, "" without one."""
    column = trace.stat(stat)
    event, code = column.codes()
    where = threads.positions(event)
    table = np.full(len(threads), -1)
    table[where[where >= 0]] = code[where >= 0]
    chosen = table[np.asarray(positions, np.int64)].tolist()
    return [column.texts[index] if index >= 0 else "" for index in chosen]


def filters_by_layer(trace: HostTrace, threads: Threads) -> dict[str, int]:
    """How many filters the convolution of each layer has, which TensorFlow's allocators
    tell while it is trained; empty where none did.
    """
    column = trace.stat(stats.TF_OP)
    event, code = column.codes()
    wanted = [at for at, op in enumerate(column.texts) if is_of_filters(op)]
    where = threads.positions(event[is_in(code, wanted)])
    where = where[where >= 0]
    if not len(where):
        return {}
    regions = texts_at(trace, threads, stats.REGION_TYPE, where)
    outputs = where[np.array(list(map(is_output, regions)), np.bool_)]
    shapes = zip(
        texts_at(trace, threads, stats.TF_OP, outputs),
        texts_at(trace, threads, stats.BLOCK_SHAPE, outputs),
        strict=True,
    )
    found = {}
    for op, shape in dict.fromkeys(shapes):
        path = op_path(op)
        count = last_of_shape(shape)
        if path is not None and count is not None:
            found[path.layer] = count
    return found
