"""Direction, bytes and host memory of copies on a GPU, by the stat `memcpy_details` and the call that launched them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tfadvisor.arrays import constant, distinct
from tfadvisor.timeline.devices.protocol import Copies
from tfadvisor.timeline.devices.stats_of_events import texts_of
from tfadvisor.timeline.intervals import Int64Array
from tfadvisor.timeline.model import HostMemory
from tfadvisor.timeline.names import stats
from tfadvisor.timeline.names.classes import DeviceClass
from tfadvisor.timeline.names.copies_and_memory import (
    ON_DEVICE,
    PAGEABLE,
    PINNED,
    copy_bytes,
    direction_of,
    memory_kinds,
)
from tfadvisor.xplane.columns import HostTrace

if TYPE_CHECKING:
    import numpy.typing as npt


def copies_by_details(
    trace: HostTrace, events: Int64Array, kind: npt.NDArray[np.int8], launch_row: npt.NDArray[np.int32]
) -> Copies:
    """What has copy details is a copy, whatever its collector calls it.

    kind: a DeviceClass by the event's name. launch_row: of the launching call's name, -1 where none is known."""
    column = trace.stat(stats.MEMCPY_DETAILS)
    text = texts_of(column, events, 0)
    said = text >= 0
    size, memory = constant(-1, len(events), np.int64), constant(0, len(events), np.int8)
    if said.any():
        kind = np.where(said & (kind == DeviceClass.COMPUTE.value), DeviceClass.OTHER_COPY, kind).astype(np.int8)
        size, memory = size.copy(), memory.copy()
        size[said] = np.array([copy_bytes(one) for one in column.texts], np.int64)[text[said]]
        memory[said] = np.array([host_memory(one) for one in column.texts], np.int8)[text[said]]
    undirected = (kind == DeviceClass.OTHER_COPY.value) & (launch_row >= 0)
    if undirected.any():
        kind = kind.copy()
    for used in distinct(launch_row[undirected]).tolist():
        kind[undirected & (launch_row == used)] = direction_of(trace.names.name[used])
    return Copies(kind, size, memory)


def no_details(kind: npt.NDArray[np.int8]) -> Copies:
    """Of a device whose trace says nothing of its copies but their class."""
    return Copies(kind, constant(-1, len(kind), np.int64), constant(0, len(kind), np.int8))


def host_memory(details: str) -> HostMemory:
    """The host side of a copy; pageable memory is copied twice."""
    ends = memory_kinds(details)
    if PAGEABLE in ends:
        return HostMemory.PAGEABLE
    if PINNED in ends:
        return HostMemory.PINNED
    return HostMemory.NONE if ends and set(ends) <= ON_DEVICE else HostMemory.UNKNOWN
