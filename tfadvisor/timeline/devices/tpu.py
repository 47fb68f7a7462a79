"""TPUs: planes `/device:TPU:0`, whose lines hold one XLA op after the other, on the
chip's own clock.

A TPU measures when its ops begin and how long they take (stats `device_offset_ps` and
`device_duration_ps`); the times of the events themselves are fitted to the host's
clock, and the fit can be off by 0.2 s for one op. In a recorded run of a loop whose
steps take 784.12 ms by the chip's clock, with a deviation of 0.04 ms, fitted steps
deviate by 91 ms.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
from msgspec.structs import replace

from tfadvisor.arrays import (
    BoolArray,
    Int8Array,
    Int32Array,
    Int64Array,
    distinct,
    falses,
    is_in,
    order_of,
    true_at,
    zeros,
)
from tfadvisor.timeline.devices.event_stats import no_details
from tfadvisor.timeline.devices.planes import devices_of_planes, spans_of
from tfadvisor.timeline.devices.protocol import (
    UNKNOWN,
    Copies,
    DeviceOfPlanes,
    Peaks,
    Properties,
    RecordedHost,
    peaks_of_model,
    stated_peaks,
)
from tfadvisor.timeline.intervals import union_of
from tfadvisor.timeline.names import stats
from tfadvisor.timeline.names.classes import (
    COPIES,
    TPU_LINES,
    TPU_PROGRAMS,
    TPU_REGIONS,
    DeviceClass,
    holds_sparse_work,
    is_kernels_wait,
    is_tpu_barrier,
    is_tpu_plane,
)
from tfadvisor.timeline.names.device_events import (
    GUESSED_CATEGORY,
    awaited_start,
    copied_bytes,
    exchanging_starts,
    hlo_class,
    is_control_flow,
)
from tfadvisor.timeline.names.program_calls import signed
from tfadvisor.timeline.timeline_parts import Device, Stated
from tfadvisor.trace.columns import Events, HostTrace
from tfadvisor.vocabulary import DeviceKind


class Tpu(DeviceOfPlanes):
    """Google's TPUs, of all generations: what a generation could do at most is in its
    plane.
    """

    kind = DeviceKind.TPU

    def devices(self, recorded: RecordedHost) -> tuple[Device, ...]:
        """By number; planes of the same name are one device, beside which its sparse
        cores have their own.
        """
        found = []
        trace = recorded.trace
        planes = [trace.planes[plane].name for plane in trace.lines.plane.tolist()]
        for device in devices_of_planes(self, recorded):
            lines = [
                n
                for n, plane in enumerate(planes)
                if holds_sparse_work(plane, trace.lines.name[n], device.name)
            ]
            found.append(
                replace(
                    device,
                    sparse=union_of(*(spans_of(trace, line) for line in lines)),
                )
            )
        return tuple(found)

    def holds_work(self, line: str, line_id: int) -> bool:
        """Lines of ops do; those of steps, modules and framework ops sum them up."""
        return line in TPU_LINES

    def part_of_line(self, line: str) -> Callable[[str], bool] | None:
        """Of regions those between ops in which a core waits for others."""
        return is_tpu_barrier if line == TPU_REGIONS else None

    def waits_on_line(self, line: str) -> Callable[[str], bool] | None:
        """Of the regions that Pallas writes."""
        return is_kernels_wait if line == TPU_REGIONS else None

    def class_of(self, trace: HostTrace, row: int) -> DeviceClass:
        """By the op's category, else by its HLO name; where the displayed one says too
        little, by the whole instruction.
        """
        name = trace.names.name[row]
        display_name = trace.names.display_name[row]
        category = str(trace.details.metadata_stats(row).get(stats.HLO_CATEGORY) or "")
        found = hlo_class(display_name or name, category)
        if found in (DeviceClass.COMPUTE, DeviceClass.OTHER_COPY):
            found = hlo_class(name, category)
        start = awaited_start(name)
        if start and start in exchanging_starts(trace.names.name):
            return DeviceClass.COLLECTIVE
        return found

    def runs_others(self, name: str) -> bool:
        """Loops, branches and calls lie on the same line as the ops of their body."""
        return is_control_flow(name)

    def programs(
        self,
        trace: HostTrace,
        events: Int64Array,
        row: Int32Array,
    ) -> tuple[Int64Array, BoolArray]:
        """The id hangs on the event's name."""
        by_row = zeros(trace.names)
        has_id = falses(trace.names)
        for used in distinct(row).tolist():
            found = trace.details.metadata_stats(used).get(stats.PROGRAM_ID)
            if isinstance(found, int):
                by_row[used], has_id[used] = signed(found), True
        return by_row[row], has_id[row]

    def stated(self, trace: HostTrace, rows: Iterable[int]) -> Stated:
        """It hangs on the ops' names. What a custom kernel states of itself is a guess,
        and left out.
        """
        found: dict[tuple[str, int | None], tuple[str, int, int]] = {}
        for row in rows:
            told = trace.details.metadata_stats(row)
            category, flops, moved = (
                told.get(stat)
                for stat in (stats.HLO_CATEGORY, stats.FLOPS, stats.BYTES_ACCESSED)
            )
            if (
                isinstance(flops, int)
                and isinstance(moved, int)
                and category != GUESSED_CATEGORY
            ):
                program = told.get(stats.PROGRAM_ID)
                key = (
                    trace.names.name[row],
                    signed(program) if isinstance(program, int) else None,
                )
                found[key] = str(category or ""), flops, moved
        return found

    def copies(
        self,
        trace: HostTrace,
        events: Int64Array,
        kind: Int8Array,
        launch_row: Int32Array,
    ) -> Copies:
        """The instruction's memory spaces give the direction, its result's shape the
        bytes.
        """
        row = trace.events.row[events]
        every = no_details(kind)
        size = np.full(len(trace.names), -1, np.int64)
        for used in distinct(row[is_in(kind, COPIES)]).tolist():
            size[used] = copied_bytes(trace.names.name[used])
        return replace(every, bytes=size[row]) if (size >= 0).any() else every

    def model(self, properties: Properties) -> str:
        """`TPU v5e`."""
        return str(properties.get(stats.DEVICE_TYPE_STRING) or "")

    def on_own_clock(self, trace: HostTrace) -> HostTrace:
        """Op by op as the chip measured it."""
        return on_chip_clock(trace)

    def holds_programs(self, plane: str, line: str) -> bool:
        """`XLA Modules`."""
        return is_tpu_plane(plane) and line == TPU_PROGRAMS

    def peaks(self, properties: Properties) -> Peaks:
        """As the plane states them, else as Google does of the model."""
        return (
            stated_peaks(properties)
            or peaks_of_model(self.model(properties))
            or UNKNOWN
        )


def on_chip_clock(trace: HostTrace) -> HostTrace:
    """The trace with the times of its TPU planes replaced, unchanged where there are
    none.

    Events of the same plane without times of their own (modules, asynchronous copies)
    move with those around them.
    """
    planes = [
        index for index, plane in enumerate(trace.planes) if is_tpu_plane(plane.name)
    ]
    measured, offset = trace.stat(stats.DEVICE_OFFSET_PS).integers()
    measured_too, duration = trace.stat(stats.DEVICE_DURATION_PS).integers()
    if not planes or not len(measured) or not len(measured_too):
        return trace
    both, first, second = np.intersect1d(measured, measured_too, return_indices=True)
    start = trace.events.start_ps.copy()
    length = trace.events.duration_ps.copy()
    plane_of = trace.lines.plane[trace.line_of_event()]
    for plane in planes:
        mine = true_at(is_in(plane_of[both], [plane]))
        if not len(mine):
            continue
        events = both[mine]
        chip = offset[first[mine]]
        chip_length = duration[second[mine]]
        fitted = trace.events.start_ps[events]
        fitted_length = np.maximum(trace.events.duration_ps[events], 0)
        knots = np.concatenate([fitted, fitted + fitted_length])
        shift = np.concatenate(
            [chip - fitted, chip + chip_length - fitted - fitted_length]
        )
        everything = true_at(plane_of == plane)
        moved = _shifted(trace.events.start_ps[everything], knots, shift)
        ends = trace.events.start_ps[everything] + np.maximum(
            trace.events.duration_ps[everything],
            0,
        )
        start[everything], length[everything] = (
            moved,
            np.maximum(_shifted(ends, knots, shift) - moved, 0),
        )
        start[events], length[events] = chip, chip_length
    return replace(trace, events=Events(start, length, trace.events.row))


def _shifted(
    times: Int64Array,
    knots: Int64Array,
    shift: Int64Array,
) -> Int64Array:
    """Times plus the shift at the nearest knots, linear between them and constant
    outside.
    """
    order = order_of(knots)
    return times + np.rint(np.interp(times, knots[order], shift[order])).astype(
        np.int64
    )
