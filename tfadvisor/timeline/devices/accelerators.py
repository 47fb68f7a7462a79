"""GPU and TPU planes as devices: their events in order, classed, and linked to the host calls that launched them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from tfadvisor.arrays import distinct, is_in
from tfadvisor.timeline.host.threads import Threads
from tfadvisor.timeline.intervals import BoolArray, Int64Array
from tfadvisor.timeline.model import Device, DeviceOps, HostMemory
from tfadvisor.timeline.names.classes import COPIES, DeviceClass
from tfadvisor.timeline.names.devices import device_class, hlo_class, is_control_flow
from tfadvisor.xplane.columns import NUM_OCCURRENCES, HostTrace, Plane, StatColumn

if TYPE_CHECKING:
    import numpy.typing as npt

_DEVICE_PLANE = re.compile(r"^/device:(?P<kind>GPU|TPU):(?P<number>\d+)$")
_DERIVED_LINE_IDS = (-559038737, -559038700)
_DERIVED_LINE = re.compile(
    r"^(?:Steps|Launch Stats|(?:Framework|TensorFlow) (?:Name Scope|Ops)|XLA Modules|XLA Ops|XLA TraceMe|Source code|Source)"
    r"(?: - from #\d+)?$"
)
_TPU_LINES = ("XLA Ops", "Async XLA Ops")
_BYTES = re.compile(r"(?:^|[\s\n])(?:size|num_bytes):(\d+)")
_SIGN = 1 << 63
_MEMORY = re.compile(r"kind_(?:src|dst):(\w+)")
_KIND_WORDS = (
    (DeviceClass.H2D, ("HtoD", "H2D", "HostToDevice")),
    (DeviceClass.D2H, ("DtoH", "D2H", "DeviceToHost")),
    (DeviceClass.P2P, ("PtoP", "P2P", "Peer")),
    (DeviceClass.D2D, ("DtoD", "D2D", "DeviceToDevice")),
)


def accelerators(trace: HostTrace, threads: Threads, host: str) -> tuple[Device, ...]:
    """The GPU and TPU planes of one host, by name; planes of the same name are one device."""
    launches = _Launches(trace, threads)
    planes: dict[str, list[int]] = {}
    for index, plane in enumerate(trace.planes):
        if _DEVICE_PLANE.match(plane.name):
            planes.setdefault(plane.name, []).append(index)
    return tuple(_device(trace, indexes, launches, host) for _, indexes in sorted(planes.items(), key=_plane_order))


def _plane_order(item: tuple[str, list[int]]) -> tuple[str, int]:
    match = _DEVICE_PLANE.match(item[0])
    assert match is not None
    return match.group("kind"), int(match.group("number"))


def _device(trace: HostTrace, planes: list[int], launches: _Launches, host: str) -> Device:
    first = trace.planes[planes[0]]
    match = _DEVICE_PLANE.match(first.name)
    assert match is not None
    is_tpu = match.group("kind") == "TPU"
    events, stream = _events(trace, planes, is_tpu)
    start, end = trace.events.start_ps[events], trace.events.duration_ps[events]
    end = start + np.maximum(end, 0)
    order = np.lexsort((-end, start))
    events, stream, start, end = events[order], stream[order], start[order], end[order]
    row = trace.events.row[events]
    kind = _row_classes(trace, row, is_tpu)[row]
    launch_start, launch_end, launch_row = launches.of(events, int(match.group("number")))
    kind, size, memory = _copy_details(trace, events, kind, launch_row)
    modules, ops = trace.stat("hlo_module"), trace.stat("hlo_op")
    program, program_ids = _programs(trace, events, row, is_tpu)
    table = DeviceOps(
        start=start,
        end=end,
        kind=kind,
        stream=stream,
        name=row.astype(np.int32),
        op=_text_index(ops, events, len(trace.names) + len(modules.texts)),
        module=_text_index(modules, events, len(trace.names)),
        program=program,
        bytes=size,
        meeting=_meetings(trace, events),
        memory=memory,
        launch_start=launch_start,
        launch_end=launch_end,
        launch_name=launch_row.astype(np.int32),
        names=trace.names.name + modules.texts + ops.texts,
        program_ids=program_ids,
    )
    leaf = ~_control_flow(trace, row, start, end, stream) if is_tpu else np.ones(len(row), np.bool_)
    table = _rows(table, leaf)
    return Device(
        name=f"{match.group('kind')}:{match.group('number')}",
        kind=match.group("kind").lower(),
        model=str(first.stats.get("gpu_device_name") or first.stats.get("device_type_string") or ""),
        host=host,
        properties=_properties(trace.planes[index] for index in planes),
        ops=table,
        compute=table.covered(DeviceClass.COMPUTE),
        collective=table.covered(DeviceClass.COLLECTIVE),
        transfer=table.covered(*COPIES),
        infeed=table.covered(DeviceClass.INFEED),
    )


def _rows(ops: DeviceOps, keep: BoolArray) -> DeviceOps:
    if keep.all():
        return ops
    columns = {name: getattr(ops, name)[keep] for name in ops.__struct_fields__ if name not in ("names", "program_ids")}
    return DeviceOps(**columns, names=ops.names, program_ids=ops.program_ids)


def _events(trace: HostTrace, planes: list[int], is_tpu: bool) -> tuple[Int64Array, Int64Array]:
    """(event indexes, line id of each) of the lines that hold what the device ran, derived lines left out."""
    events, stream = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    lines = trace.lines
    for line in np.flatnonzero(is_in(lines.plane, planes)).tolist():
        name, line_id = lines.name[line], int(lines.id[line])
        raw = name in _TPU_LINES if is_tpu else not is_derived(name, line_id)
        lo, hi = int(lines.first[line]), int(lines.first[line + 1])
        if raw and hi > lo:
            events.append(np.arange(lo, hi, dtype=np.int64))
            stream.append(np.full(hi - lo, line_id, np.int64))
    found = np.concatenate(events)
    counted = is_in(found, trace.stat(NUM_OCCURRENCES).event)
    return found[~counted], np.concatenate(stream)[~counted]


def is_derived(name: str, line_id: int) -> bool:
    """Whether a GPU line repeats other lines' time: drawn by the profiler's viewer, or overhead of the collector."""
    signed = line_id - (1 << 32) if line_id >= 1 << 31 else line_id
    if _DERIVED_LINE_IDS[0] <= signed <= _DERIVED_LINE_IDS[1]:
        return True
    return bool(_DERIVED_LINE.match(name)) or "overhead" in name.lower()


def _row_classes(trace: HostTrace, row: npt.NDArray[np.int32], is_tpu: bool) -> npt.NDArray[np.int8]:
    table = np.zeros(len(trace.names), np.int8)
    classify = hlo_class if is_tpu else device_class
    for used in distinct(row).tolist():
        table[used] = classify(trace.names.display_name[used] or trace.names.name[used])
        if is_tpu and table[used] in (DeviceClass.COMPUTE, DeviceClass.OTHER_COPY):
            table[used] = hlo_class(trace.names.name[used])
    return table


def _control_flow(
    trace: HostTrace, row: npt.NDArray[np.int32], start: Int64Array, end: Int64Array, stream: Int64Array
) -> BoolArray:
    """Which TPU ops are loops, branches or calls around the ops that follow them on their line."""
    named = np.array([used for used in distinct(row).tolist() if is_control_flow(trace.names.name[used])], np.int64)
    candidate = is_in(row, named)
    out = np.zeros(len(row), np.bool_)
    for line in distinct(stream).tolist():
        mine = np.flatnonzero(stream == line)
        following = np.append(start[mine[1:]], np.iinfo(np.int64).max)
        out[mine] = candidate[mine] & (following < end[mine])
    return out


def _text_index(column: StatColumn, events: Int64Array, offset: int) -> npt.NDArray[np.int32]:
    """Index of each event's text, counted from the offset; -1 without one."""
    column_event, code = column.codes()
    out = np.full(len(events), -1, np.int32)
    if len(column_event) and len(events):
        place = np.minimum(np.searchsorted(column_event, events), len(column_event) - 1)
        hit = column_event[place] == events
        out[hit] = code[place[hit]] + offset
    return out


def _programs(
    trace: HostTrace, events: Int64Array, row: npt.NDArray[np.int32], is_tpu: bool
) -> tuple[npt.NDArray[np.int32], tuple[int, ...]]:
    """(index of each event's program, -1 without one, the programs' ids). On a TPU the id hangs on the event's name."""
    if is_tpu:
        by_row, has_id = np.zeros(len(trace.names), np.int64), np.zeros(len(trace.names), np.bool_)
        for used in distinct(row).tolist():
            found = trace.details.metadata_stats(used).get("program_id")
            if isinstance(found, int):
                by_row[used], has_id[used] = (found + _SIGN) % (2 * _SIGN) - _SIGN, True
        ids, known = by_row[row], has_id[row]
    else:
        ids, known = numbers_of(trace.stat("program_id"), events)
    every = distinct(ids[known])
    return np.where(known, np.searchsorted(every, ids), -1).astype(np.int32), tuple(every.tolist())


def numbers_of(column: StatColumn, events: Int64Array) -> tuple[Int64Array, npt.NDArray[np.bool_]]:
    """(number of each event as int64, whether it has one)."""
    column_event, value = column.integers()
    out, known = np.zeros(len(events), np.int64), np.zeros(len(events), np.bool_)
    if len(column_event) and len(events):
        place = np.minimum(np.searchsorted(column_event, events), len(column_event) - 1)
        known = column_event[place] == events
        out[known] = value[place[known]]
    return out, known


def _meetings(trace: HostTrace, events: Int64Array) -> Int64Array:
    run, known = numbers_of(trace.stat("run_id"), events)
    return np.where(known, run & (_SIGN - 1), -1)


def _copy_details(
    trace: HostTrace, events: Int64Array, kind: npt.NDArray[np.int8], launch_row: Int64Array
) -> tuple[npt.NDArray[np.int8], Int64Array, npt.NDArray[np.int8]]:
    """(class, bytes, host memory) by `memcpy_details`; for copies without a direction by the call that launched."""
    size = np.full(len(events), -1, np.int64)
    memory = np.zeros(len(events), np.int8)
    kind = kind.copy()
    column = trace.stat("memcpy_details")
    column_event, code = column.codes()
    if len(column_event) and len(events):
        place = np.minimum(np.searchsorted(column_event, events), len(column_event) - 1)
        hit = column_event[place] == events
        parsed = np.array([copy_bytes(text) for text in column.texts] or [0], np.int64)
        size[hit] = parsed[code[place[hit]]]
        memory[hit] = np.array([host_memory(text) for text in column.texts] or [HostMemory.UNKNOWN], np.int8)[
            code[place[hit]]
        ]
    undirected = (kind == DeviceClass.OTHER_COPY) & (launch_row >= 0)
    for used in distinct(launch_row[undirected]).tolist():
        kind[undirected & (launch_row == used)] = _direction(trace.names.name[used])
    return kind, size, memory


def copy_bytes(details: str) -> int:
    """Bytes of a copy from its detail string (`size:` or `num_bytes:`, split by spaces or newlines); -1 if not there."""
    match = _BYTES.search(details)
    return int(match.group(1)) if match else -1


def host_memory(details: str) -> HostMemory:
    """The host side of a copy from its `kind_src:` and `kind_dst:`; pageable memory is copied twice."""
    ends = _MEMORY.findall(details.lower())
    if "pageable" in ends:
        return HostMemory.PAGEABLE
    if "pinned" in ends:
        return HostMemory.PINNED
    return HostMemory.NONE if ends and set(ends) <= {"device", "array", "managed"} else HostMemory.UNKNOWN


def _direction(call: str) -> int:
    for kind, words in _KIND_WORDS:
        if any(word in call for word in words):
            return kind
    return DeviceClass.OTHER_COPY


def _properties(planes: object) -> Mapping[str, float | int | str]:
    merged: dict[str, float | int | str] = {}
    for plane in planes:  # type: ignore[attr-defined]
        assert isinstance(plane, Plane)
        merged.update({k: v for k, v in plane.stats.items() if isinstance(v, int | float | str)})
    return merged


class _Launches:
    """Host calls by correlation id. Ids may repeat between devices, so a call that names its device wins."""

    def __init__(self, trace: HostTrace, threads: Threads) -> None:
        self._trace = trace
        position, value = threads.integers(trace.stat("correlation_id"))
        device_at, device = threads.integers(trace.stat("device_id"))
        by_position = np.full(len(threads), -1, np.int64) if len(device_at) else None
        if by_position is not None:
            by_position[device_at] = device
        keep = value > 0
        self._position, self._id = position[keep], value[keep]
        self._device = by_position[self._position] if by_position is not None else np.full(len(self._id), -1, np.int64)
        order = np.argsort(self._id, kind="stable")
        self._position, self._id, self._device = self._position[order], self._id[order], self._device[order]
        self._start, self._end, self._row = threads.start, threads.end, threads.row

    def of(self, events: Int64Array, device: int) -> tuple[Int64Array, Int64Array, Int64Array]:
        """(start, end, name row) of the call that launched each event, -1 where none is found."""
        nothing = np.full(len(events), -1, np.int64)
        column_event, value = self._trace.stat("correlation_id").integers()
        if not len(self._id) or not len(column_event) or not len(events):
            return nothing, nothing.copy(), nothing.copy()
        place = np.minimum(np.searchsorted(column_event, events), len(column_event) - 1)
        known = column_event[place] == events
        wanted = np.where(known, value[place], -1)
        lo = np.searchsorted(self._id, wanted, side="left")
        hi = np.searchsorted(self._id, wanted, side="right")
        found = known & (hi > lo)
        choice = np.minimum(lo, len(self._id) - 1)
        several = found & (hi - lo > 1)
        if several.any():
            same_device = self._position_for_device(device)
            if same_device is not None:
                ids, positions = same_device
                at = np.minimum(np.searchsorted(ids, wanted), max(len(ids) - 1, 0))
                better = several & (ids[at] == wanted)
                position = np.where(better, positions[at], self._position[choice])
            else:
                position = self._position[choice]
        else:
            position = self._position[choice]
        return (
            np.where(found, self._start[position], -1),
            np.where(found, self._end[position], -1),
            np.where(found, self._row[position], -1),
        )

    def _position_for_device(self, device: int) -> tuple[Int64Array, Int64Array] | None:
        mine = self._device == device
        return (self._id[mine], self._position[mine]) if mine.any() else None
