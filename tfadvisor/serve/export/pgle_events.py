"""The events of a trace's devices that name an instruction of a compiled program."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec
import numpy as np

from tfadvisor.arrays import NO_VALUES, BoolArray, Int64Array, distinct, falses, zeros
from tfadvisor.timeline.names import stats
from tfadvisor.timeline.names.drivers import launches_graph
from tfadvisor.trace.columns import HostTrace, Selection, Value

_SCOPE_RANGE_ID = "scope_range_id"
SELECTION = Selection(dict.fromkeys((stats.HLO_OP, stats.HLO_MODULE, _SCOPE_RANGE_ID)))
"""The stats that this needs of the decoder."""
GPU_PLANES = "/device:GPU:"
_DEVICES = (GPU_PLANES, "/device:TPU:", "/device:CUSTOM:")
"""Planes of the first of these that the trace has; XLA looks at no others beside them.
"""
_ASYNCHRONOUS = "Async XLA Ops"
"""A line that repeats what runs beside other ops."""
_ABSENT = -1


class NamedEvents(msgspec.Struct, frozen=True):
    """One row an event, in the file's order: its instruction, and when it ran.

    instance: what the events of one execution share, a scope range's number or the
    start.
    """

    ops: tuple[str, ...]
    op: Int64Array
    """Index into ops."""
    start_ps: Int64Array
    duration_ps: Int64Array
    instance: Int64Array
    """A number without a unit, or ps."""

    def __len__(self) -> int:
        """Number of events."""
        return len(self.op)


def device_lines(trace: HostTrace) -> Int64Array:
    """The lines that are counted, by index: all but the asynchronous ones of the GPUs,
    else of TPUs, else of others.
    """
    lines = trace.lines
    plane_names = [plane.name for plane in trace.planes]
    kind = next(
        (
            device
            for device in _DEVICES
            if any(name.startswith(device) for name in plane_names)
        ),
        None,
    )
    if kind is None:
        return NO_VALUES
    chosen = [
        line
        for line, plane in enumerate(lines.plane.tolist())
        if plane_names[plane].startswith(kind)
        and (lines.display_name[line] or lines.name[line]) != _ASYNCHRONOUS
    ]
    return np.array(chosen, np.int64)


def named_events(trace: HostTrace) -> NamedEvents:
    """Those that carry both an op and a module, on themselves or on their name's
    metadata.
    """
    of_device = falses(trace.lines)
    of_device[device_lines(trace)] = True
    event = np.flatnonzero(of_device[trace.line_of_event()])
    ops, op = _texts(trace, stats.HLO_OP, event)
    _, module = _texts(trace, stats.HLO_MODULE, event)
    named = (op >= 0) & (module >= 0)
    event = event[named]
    op = op[named]
    scope, scoped = _numbers(trace, _SCOPE_RANGE_ID, event)
    start = trace.events.start_ps[event]
    return NamedEvents(
        ops=ops,
        op=op,
        start_ps=start,
        duration_ps=trace.events.duration_ps[event],
        instance=np.where(scoped, scope, start),
    )


def _texts(
    trace: HostTrace,
    stat: str,
    event: Int64Array,
) -> tuple[tuple[str, ...], Int64Array]:
    """(texts, index of each event's text, -1 without). An event's own stat stands
    before that of its name.
    """
    column = trace.stat(stat)
    code = np.full(
        len(trace.events),
        _ABSENT,
        np.int64,
    )
    carrying, codes = column.codes()
    code[carrying] = codes
    texts = {text: at for at, text in enumerate(column.texts)}
    mine = code[event]
    of_names = _of_names(trace, stat, event[mine < 0])
    by_row = np.full(
        len(trace.names),
        _ABSENT,
        np.int64,
    )
    for row, text in of_names:
        if isinstance(text, str):
            by_row[row] = texts.setdefault(text, len(texts))
    return tuple(texts), np.where(mine < 0, by_row[trace.events.row[event]], mine)


def _numbers(
    trace: HostTrace,
    stat: str,
    event: Int64Array,
) -> tuple[Int64Array, BoolArray]:
    """(number of each event, whether it has one)."""
    value = zeros(trace.events)
    known = falses(trace.events)
    carrying, numbers = trace.stat(stat).integers()
    value[carrying], known[carrying] = numbers, True
    mine = value[event]
    has = known[event]
    by_row = zeros(trace.names)
    row_has = falses(trace.names)
    for row, number in _of_names(trace, stat, event[~has]):
        if isinstance(number, int) and number.bit_length() < 64:
            by_row[row], row_has[row] = number, True
    row_of = trace.events.row[event]
    return np.where(has, mine, by_row[row_of]), has | row_has[row_of]


def _of_names(
    trace: HostTrace,
    stat: str,
    event: Int64Array,
) -> list[tuple[int, Value]]:
    """(row, value) for the names of these events that carry the stat themselves, as
    TPUs' do.
    """
    rows = distinct(trace.events.row[event]).tolist()
    return [
        (row, held[stat])
        for row in rows
        if stat in (held := trace.details.metadata_stats(row))
    ]


# What makes a trace a poor profile, in words.

_NO_GPU = (
    "no plane of a GPU: only XLA's scheduler for GPUs reads such a profile. A run on "
    "CPUs or TPUs is of no use; record on "
    "GPUs."
)
_GRAPHS = (
    "kernels were launched in CUDA graphs (command buffers), in which single "
    "instructions cannot be told apart. Record with "
    "XLA_FLAGS=--xla_gpu_enable_command_buffer= and leave that out of the run that "
    "uses the profile."
)


class Facts(msgspec.Struct, frozen=True):
    """What one trace tells about itself."""

    gpu: bool
    graphs: bool
    """Whether a call starts many kernels at once."""


def facts(trace: HostTrace) -> Facts:
    """Looks at names once each, never at events one by one."""
    return Facts(
        gpu=any(plane.name.startswith(GPU_PLANES) for plane in trace.planes),
        graphs=any(launches_graph(name) for name in trace.names.name),
    )


def remarks(traces: Sequence[Facts]) -> Iterator[str]:
    """The gravest fault of the traces together; none for a good one."""
    if not any(trace.gpu for trace in traces):
        yield _NO_GPU
    elif any(trace.graphs for trace in traces):
        yield _GRAPHS
