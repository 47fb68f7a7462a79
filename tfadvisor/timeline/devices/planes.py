"""Devices from planes of their own: their events in order, classed, and linked to the
host calls that launched them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from tfadvisor.arrays import (
    NO_VALUES,
    BoolArray,
    Int8Array,
    Int32Array,
    Int64Array,
    constant,
    distinct,
    falses,
    is_in,
    order_of,
    true_at,
    used,
)
from tfadvisor.tallies import listed
from tfadvisor.timeline.devices.event_stats import first_texts_of, numbers_of, texts_of
from tfadvisor.timeline.devices.launches import LaunchLinks, held_back
from tfadvisor.timeline.devices.protocol import DeviceOfPlanes, Properties, RecordedHost
from tfadvisor.timeline.intervals import Intervals, union, union_of
from tfadvisor.timeline.names import stats
from tfadvisor.timeline.names.classes import COPIES, DeviceClass
from tfadvisor.timeline.names.collective_events import op_collective
from tfadvisor.timeline.names.device_events import is_command_buffer
from tfadvisor.timeline.names.program_calls import program_name, program_number
from tfadvisor.timeline.timeline_parts import COLUMNS, Device, DeviceOps
from tfadvisor.trace.columns import NUM_OCCURRENCES, HostTrace, Plane, StatColumn
from tfadvisor.vocabulary import DeviceKind

_POSITIVE = (1 << 63) - 1


def devices_of_planes(
    questions: DeviceOfPlanes,
    recorded: RecordedHost,
) -> tuple[Device, ...]:
    """The devices of one kind, by number; planes of the same number are one device."""
    numbers = (questions.number(plane.name) for plane in recorded.trace.planes)
    planes = listed(
        (number, index) for index, number in enumerate(numbers) if number is not None
    )
    if not planes:
        return ()
    links = LaunchLinks(recorded.trace, recorded.threads)
    return tuple(
        _device(questions, recorded, number, planes[number], links)
        for number in sorted(planes)
    )


def _device(
    questions: DeviceOfPlanes,
    recorded: RecordedHost,
    number: int,
    planes: list[int],
    links: LaunchLinks,
) -> Device:
    trace = recorded.trace
    events, stream, start = _events_in_order(questions, trace, planes)
    ops = _ops(
        questions,
        trace,
        planes,
        events,
        stream,
        start,
        links.of(events, number),
        links,
    )
    del events
    ops = _rows(
        ops,
        ~_covers_its_body(questions, trace, ops.name, ops)
        & (ops.kind != DeviceClass.NO_WORK.value),
    )
    if questions.kind is DeviceKind.GPU:
        from tfadvisor.timeline.devices.alignment import with_aligned

        ops = with_aligned(ops, recorded.programs)
    compute = ops.covered(DeviceClass.COMPUTE)
    collective = ops.covered(DeviceClass.COLLECTIVE)
    transfer = ops.covered(*COPIES)
    return Device(
        name=f"{questions.label}:{number}",
        kind=questions.kind,
        model=questions.model(_properties([trace.planes[planes[0]]])),
        host=recorded.host,
        properties=_properties(trace.planes[index] for index in planes),
        ops=ops,
        compute=compute,
        collective=collective,
        transfer=transfer,
        infeed=ops.covered(DeviceClass.INFEED),
        stated=questions.stated(trace, used(ops.name, len(trace.names))),
        awaits=_awaits(questions, trace, planes),
        held=held_back(ops, union_of(compute, collective, transfer)),
        programs=union_of(
            *(
                spans_of(trace, line)
                for line in _program_lines(questions, trace, planes)
            )
        ),
    )


def _ops(
    questions: DeviceOfPlanes,
    trace: HostTrace,
    planes: list[int],
    events: Int64Array,
    stream: Int64Array,
    start: Int64Array,
    launch: Int32Array,
    links: LaunchLinks,
) -> DeviceOps:
    """One row an event. launch: index into the callers of the call that launched each,
    -1 where none is found.
    """
    callers = links.callers
    row = trace.events.row[events]
    kind = _row_classes(questions, trace, row)[row]
    copies = questions.copies(trace, events, kind, callers.of(launch, callers.row))
    del kind
    end = trace.events.duration_ps[events]
    np.maximum(end, 0, out=end)
    end += start
    modules = trace.stat(stats.HLO_MODULE)
    ops = trace.stat(stats.HLO_OP)
    framework_paths = trace.stat(stats.TF_OP), trace.stat(stats.OUTERMOST_ANNOTATION)
    path, paths = first_texts_of(
        framework_paths,
        events,
        len(trace.names) + len(modules.texts) + len(ops.texts),
    )
    if (path < 0).any():
        path = np.where(path < 0, links.framework_ops(launch), path).astype(np.int32)
    names = trace.names.name + modules.texts + ops.texts + paths
    details = trace.stat(stats.KERNEL_DETAILS)
    ids, known = questions.programs(trace, events, row)
    module = texts_of(modules, events, len(trace.names))
    around, called = _programs_around(questions, trace, planes, start)
    if called:
        inside = around >= 0
        ids = np.where(
            known,
            ids,
            np.array([program_number(call) for call in called])[around],
        )
        known = known | inside
        module = np.where(
            (module < 0) & inside,
            around + len(names) + len(details.texts),
            module,
        ).astype(np.int32)
    every = distinct(ids[known])
    run, has_run = numbers_of(trace.stat(stats.RUN_ID), events)
    if len(every):
        program = np.where(known, np.searchsorted(every, ids), -1).astype(np.int32)
    else:
        program = constant(-1, len(row))
    return DeviceOps(
        start=start,
        end=end,
        kind=_exchanged(_between_devices(copies.kind, launch, links), ops, events),
        stream=stream,
        name=row,
        op=_single_ops(ops, events, len(trace.names) + len(modules.texts)),
        module=module,
        program=program,
        path=path,
        bytes=copies.bytes,
        meeting=np.where(has_run, run & _POSITIVE, -1)
        if has_run.any()
        else constant(-1, len(row), np.int64),
        memory=copies.memory,
        launch=launch,
        details=texts_of(details, events, len(names)),
        callers=callers,
        names=names + details.texts + tuple(map(program_name, called)),
        program_ids=tuple(every.tolist()),
    )


def _programs_around(
    questions: DeviceOfPlanes,
    trace: HostTrace,
    planes: list[int],
    start: Int64Array,
) -> tuple[Int64Array, list[str]]:
    """(index of the program that runs at each instant, -1 without one; the programs'
    names), by the device's line of programs.
    """
    lines = _program_lines(questions, trace, planes)
    if not lines:
        return constant(-1, len(start), np.int64), []
    events = np.concatenate([_of_line(trace, line, bool) for line in lines])
    events = events[order_of(trace.events.start_ps[events])]
    begin = np.append(np.iinfo(np.int64).min, trace.events.start_ps[events])
    end = np.append(
        begin[0],
        begin[1:] + np.maximum(trace.events.duration_ps[events], 0),
    )
    at = np.searchsorted(begin, start, "right") - 1
    rows, code = np.unique(trace.events.row[events], return_inverse=True)
    return np.where(start < end[at], np.append(-1, code)[at], -1), [
        trace.names.name[row] for row in rows.tolist()
    ]


def _program_lines(
    questions: DeviceOfPlanes,
    trace: HostTrace,
    planes: list[int],
) -> list[int]:
    lines = true_at(is_in(trace.lines.plane, planes)).tolist()
    return [
        line
        for line in lines
        if questions.holds_programs(
            trace.planes[planes[0]].name, trace.lines.name[line]
        )
    ]


def _single_ops(
    ops: StatColumn,
    events: Int64Array,
    offset: int,
) -> Int32Array:
    """Index of each event's op, counted from the offset; -1 without one, and for one
    that stands for all kernels of a graph: what is known of these is their own names.
    """
    buffers = [code for code, text in enumerate(ops.texts) if is_command_buffer(text)]
    found = texts_of(ops, events, offset)
    if buffers:
        return np.where(
            is_in(found, np.array(buffers, np.int64) + offset),
            -1,
            found,
        ).astype(np.int32)
    return found


def _between_devices(
    kind: Int8Array,
    launch: Int32Array,
    links: LaunchLinks,
) -> Int8Array:
    """The classes, with copies that the runtime hands to another device as such: AMD's
    tracer calls them DeviceToDevice.
    """
    within = is_in(kind, (DeviceClass.D2D,))
    if within.any():
        return np.where(within & links.to_peers(launch), DeviceClass.P2P, kind).astype(
            np.int8
        )
    return kind


def _exchanged(
    kind: Int8Array,
    ops: StatColumn,
    events: Int64Array,
) -> Int8Array:
    """The classes, with copies to a peer that a collective op asked for as collectives:
    copy engines run them.
    """
    to_peers = is_in(kind, (DeviceClass.P2P, DeviceClass.OTHER_COPY))
    if not to_peers.any() or not len(ops):
        return kind
    exchange = np.array(
        [op_collective(text) is not None for text in ops.texts] or [False],
        np.bool_,
    )
    text = texts_of(ops, events, 0)
    return np.where(
        to_peers & (text >= 0) & exchange[text],
        DeviceClass.COLLECTIVE,
        kind,
    ).astype(np.int8)


def _rows(ops: DeviceOps, keep: BoolArray) -> DeviceOps:
    if keep.all():
        return ops
    columns = {name: getattr(ops, name)[keep] for name in COLUMNS}
    return DeviceOps(
        **columns,
        callers=ops.callers,
        names=ops.names,
        program_ids=ops.program_ids,
    )


def _events_in_order(
    questions: DeviceOfPlanes,
    trace: HostTrace,
    planes: list[int],
) -> tuple[Int64Array, Int64Array, Int64Array]:
    """(event indexes, line id and start of each) of the lines that hold what the device
    ran, by start, longer ones first.
    """
    lines = trace.lines
    kind = next(
        dtype
        for dtype in (np.int16, np.int32, np.int64)
        if (lines.id.astype(dtype) == lines.id).all()
    )
    events = [NO_VALUES]
    stream = [np.empty(0, kind)]
    for line in true_at(is_in(lines.plane, planes)).tolist():
        line_id = int(lines.id[line])
        lo = int(lines.first[line])
        hi = int(lines.first[line + 1])
        if hi == lo:
            continue
        wanted = questions.part_of_line(lines.name[line])
        if wanted is not None:
            mine = _of_line(trace, line, wanted)
        elif questions.holds_work(lines.name[line], line_id):
            mine = np.arange(lo, hi, dtype=np.int64)
        else:
            continue
        events.append(mine.astype(np.int64))
        stream.append(np.full(len(mine), line_id, kind))
    found = np.concatenate(events)
    of_line = np.concatenate(stream)
    del events, stream
    counted = trace.stat(NUM_OCCURRENCES).event
    if len(counted):
        placed = ~is_in(found, counted)
        found = found[placed]
        of_line = of_line[placed]
    order = order_of(trace.events.start_ps[found])
    found = found[order]
    of_line = of_line[order]
    del order
    start = trace.events.start_ps[found]
    if (start[1:] == start[:-1]).any():
        order = np.lexsort(
            (-(start + np.maximum(trace.events.duration_ps[found], 0)), start)
        )
        found = found[order]
        of_line = of_line[order]
        start = start[order]
    return found, of_line, start


def _of_line(
    trace: HostTrace,
    line: int,
    wanted: Callable[[str], bool],
) -> Int64Array:
    """Indexes of a line's events of the wanted names."""
    lo = int(trace.lines.first[line])
    hi = int(trace.lines.first[line + 1])
    rows = trace.events.row[lo:hi]
    chosen = [
        code for code in used(rows, len(trace.names)) if wanted(trace.names.name[code])
    ]
    return lo + true_at(is_in(rows, chosen))


def _awaits(
    questions: DeviceOfPlanes,
    trace: HostTrace,
    planes: list[int],
) -> Intervals:
    """When kernels of the device wait for their own copies."""
    lines = true_at(is_in(trace.lines.plane, planes)).tolist()
    asked = [(line, questions.waits_on_line(trace.lines.name[line])) for line in lines]
    return union_of(
        *(spans_of(trace, line, wanted) for line, wanted in asked if wanted is not None)
    )


def spans_of(
    trace: HostTrace,
    line: int,
    wanted: Callable[[str], bool] = bool,
) -> Intervals:
    """When events of the wanted names run on a line."""
    events = _of_line(trace, line, wanted)
    start = trace.events.start_ps[events]
    return union(start, start + np.maximum(trace.events.duration_ps[events], 0))


def _row_classes(
    questions: DeviceOfPlanes,
    trace: HostTrace,
    row: Int32Array,
) -> Int8Array:
    """By name row; each distinct name is looked at once."""
    table = np.zeros(len(trace.names), np.int8)
    for code in used(row, len(trace.names)):
        table[code] = questions.class_of(trace, code)
    return table


def _covers_its_body(
    questions: DeviceOfPlanes,
    trace: HostTrace,
    row: Int32Array,
    ops: DeviceOps,
) -> BoolArray:
    """Which events are loops, branches or calls around the ops that follow them on
    their line.
    """
    named = [
        code
        for code in used(row, len(trace.names))
        if questions.runs_others(trace.names.name[code])
    ]
    out = falses(row)
    if not named:
        return out
    candidate = is_in(row, np.array(named, np.int64))
    for line in distinct(ops.stream).tolist():
        mine = true_at(ops.stream == line)
        following = np.append(ops.start[mine[1:]], np.iinfo(np.int64).max)
        out[mine] = candidate[mine] & (following < ops.end[mine])
    return out


def _properties(planes: Iterable[Plane]) -> Properties:
    merged: dict[str, float | int | str] = {}
    for plane in planes:
        merged.update(
            {k: v for k, v in plane.stats.items() if isinstance(v, int | float | str)}
        )
    return merged
