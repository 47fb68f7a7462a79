"""One stat of a device's events, beside them: a number or a text for each."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tfadvisor.arrays import (
    AnyArray,
    BoolArray,
    Int8Array,
    Int32Array,
    Int64Array,
    constant,
    distinct,
    order_of,
)
from tfadvisor.timeline.devices.protocol import Copies
from tfadvisor.timeline.names import stats
from tfadvisor.timeline.names.classes import DeviceClass
from tfadvisor.timeline.names.device_events import (
    ON_DEVICE,
    PAGEABLE,
    PINNED,
    copy_bytes,
    direction_of,
    memory_kinds,
)
from tfadvisor.timeline.sweeps import places
from tfadvisor.timeline.timeline_parts import HostMemory
from tfadvisor.trace.columns import LAST_EVENT, HostTrace, StatColumn


def value_at(
    where: Int64Array,
    value: AnyArray,
    positions: Int64Array,
    without: int,
) -> AnyArray:
    """The value at each position; of several at one position the last. without: what
    stands for none.

    where: the position of each value, in any order.
    """
    if not len(where):
        return np.full(len(positions), without, value.dtype)
    if (where[1:] < where[:-1]).any():
        order = order_of(where)
        where = where[order]
        value = value[order]
    if (where[1:] == where[:-1]).any():
        last = np.append(where[1:] != where[:-1], True)
        where = where[last]
        value = value[last]
    place = places(where, positions)
    found: AnyArray = value[place]
    found[place < 0] = without
    return found


def texts_of(
    column: StatColumn,
    events: Int64Array,
    offset: int,
) -> Int32Array:
    """Index of each event's text, counted from the offset; -1 without one."""
    column_event, code = column.codes()
    if not len(column_event) or not len(events):
        return constant(-1, len(events))
    place = places(column_event, events)
    return np.where(place >= 0, code[place] + offset, -1).astype(np.int32)


def first_texts_of(
    columns: Sequence[StatColumn],
    events: Int64Array,
    offset: int,
) -> tuple[Int32Array, tuple[str, ...]]:
    """(index of each event's text by the first column that has one, counted from the
    offset, -1 without; all texts).
    """
    out = constant(-1, len(events))
    texts: tuple[str, ...] = ()
    for column in columns:
        if len(column):
            told = texts_of(column, events, offset + len(texts))
            out = np.where(out >= 0, out, told).astype(np.int32)
            texts += column.texts
    return out, texts


def numbers_of(column: StatColumn, events: Int64Array) -> tuple[Int64Array, BoolArray]:
    """(number of each event as int64, whether it has one)."""
    number, known = numbers_as_stored(column, events)
    return number.astype(np.int64, copy=False), known


def numbers_as_stored(
    column: StatColumn,
    events: Int64Array,
) -> tuple[Int64Array | Int32Array, BoolArray]:
    """The same, in four bytes where they suffice."""
    column_event, value = column.integers_between(0, LAST_EVENT)
    if not len(column_event) or not len(events):
        return constant(0, len(events), np.int64), constant(
            False,
            len(events),
            np.bool_,
        )
    place = places(column_event, events)
    known = place >= 0
    out = value[place]
    if not known.all():
        out[~known] = 0
    return out, known


# Direction, bytes and host memory of copies on a GPU, by the stat `memcpy_details` and
# the call that launched them.


def copies_by_details(
    trace: HostTrace,
    events: Int64Array,
    kind: Int8Array,
    launch_row: Int32Array,
) -> Copies:
    """What has copy details is a copy, whatever its collector calls it.

    kind: a DeviceClass by the event's name. launch_row: of the launching call's name,
    -1 where none is known."""
    column = trace.stat(stats.MEMCPY_DETAILS)
    text = texts_of(column, events, 0)
    said = text >= 0
    size = constant(-1, len(events), np.int64)
    memory = constant(0, len(events), np.int8)
    if said.any():
        kind = np.where(
            said & (kind == DeviceClass.COMPUTE.value),
            DeviceClass.OTHER_COPY,
            kind,
        ).astype(np.int8)
        size = size.copy()
        memory = memory.copy()
        size[said] = np.array(
            [copy_bytes(column_text) for column_text in column.texts], np.int64
        )[text[said]]
        memory[said] = np.array(
            [host_memory(column_text) for column_text in column.texts], np.int8
        )[text[said]]
    undirected = (kind == DeviceClass.OTHER_COPY.value) & (launch_row >= 0)
    if undirected.any():
        kind = kind.copy()
    for used in distinct(launch_row[undirected]).tolist():
        kind[undirected & (launch_row == used)] = direction_of(trace.names.name[used])
    return Copies(kind, size, memory)


def no_details(kind: Int8Array) -> Copies:
    """Of a device whose trace says nothing of its copies but their class."""
    return Copies(
        kind,
        constant(-1, len(kind), np.int64),
        constant(0, len(kind), np.int8),
    )


def host_memory(details: str) -> HostMemory:
    """The host side of a copy; pageable memory is copied twice."""
    ends = memory_kinds(details)
    if PAGEABLE in ends:
        return HostMemory.PAGEABLE
    if PINNED in ends:
        return HostMemory.PINNED
    return HostMemory.NONE if ends and set(ends) <= ON_DEVICE else HostMemory.UNKNOWN
