"""Counted steps as a drawing shows them: lanes of events, the smallest merged into
blocks.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import msgspec
import numpy as np

from tfadvisor.arrays import (
    BoolArray,
    Int8Array,
    Int32Array,
    Int64Array,
    distinct,
    is_in,
)
from tfadvisor.errors import TraceError
from tfadvisor.timeline.host.thread_layout import Thread
from tfadvisor.timeline.host.threads import Threads
from tfadvisor.timeline.intervals import Intervals, parents, union
from tfadvisor.timeline.names.classes import DeviceClass, HostClass
from tfadvisor.timeline.picture.events import EventBlocks, LaneRows, event_blocks
from tfadvisor.timeline.steps.class_masks import classes_of_time
from tfadvisor.timeline.timeline_parts import Device, Steps
from tfadvisor.vocabulary import DeviceKind, LaneRole, TimeClass, WhichStep

WAIT = len(TimeClass)
"""What a lane's event does beyond the classes of time: it blocks until something else
is done.
"""

_NOT_IN_IT = "does nothing in this step"
"""Said of a device in place of its classes: the step is not its own."""
_MOST_THREADS = 12
_ALL_THREADS = 256
_FEWEST_EVENTS = 500
_MOST_OF_OTHERS = 2_000
"""In the picture of a step that is neither the median nor the worst."""
_DEEPEST = 16
"""A Python stack can be a hundred calls deep; deeper ones are counted, not drawn."""

_OF_DEVICE = {
    DeviceClass.COMPUTE: TimeClass.COMPUTE,
    DeviceClass.COLLECTIVE: TimeClass.COLLECTIVE,
    DeviceClass.INFEED: TimeClass.INPUT,
}
_OF_HOST = {
    HostClass.INPUT: TimeClass.INPUT,
    HostClass.GET_NEXT: TimeClass.INPUT,
    HostClass.DATASET: TimeClass.INPUT,
    HostClass.CAPTURED: TimeClass.INPUT,
    HostClass.COMPILE: TimeClass.COMPILE,
    HostClass.LAUNCH: TimeClass.LAUNCH,
    HostClass.EAGER_OP: TimeClass.LAUNCH,
    HostClass.PROCESS: TimeClass.LAUNCH,
    HostClass.RUN_EAGER: TimeClass.LAUNCH,
    HostClass.CONTROL_OP: TimeClass.LAUNCH,
    HostClass.WAIT: WAIT,
}


class Lane(msgspec.Struct, frozen=True):
    """What a row of the drawing is about. role: "classes" (where each instant of the
    device's step goes; with a name, why that is not drawn), "stream", "driver" (the
    host thread that drives the steps) or "thread". device: "" on the host. around:
    calls that enclose the whole step. deeper: events nested too deep to be drawn.
    """

    role: LaneRole
    device: str
    name: str
    around: tuple[str, ...]
    deeper: int


class StepPicture(msgspec.Struct, frozen=True):
    """One step. which: "median", "worst" or "other"; index, start_ps, span_ps: of the
    step.

    rows: the events, cut at the step's ends; their kind is a TimeClass or WAIT.
    threads_left_out: busy host threads beyond the dozen that is drawn.
    """

    which: WhichStep
    index: int
    start_ps: int
    span_ps: int
    lanes: tuple[Lane, ...]
    rows: EventBlocks
    threads_left_out: int


def step_pictures(
    threads: Threads,
    pipeline: BoolArray,
    devices: Sequence[Device],
    host: Mapping[TimeClass, Intervals],
    steps: Steps,
    drawing: Drawing,
) -> tuple[StepPicture, ...]:
    """The counted step of median length, the longest one, then others in order; none
    without steps.

    One picture where the first two are the same. Of the others as many as share the
    events that there are for them, at even distances. pipeline: for every host event,
    whether it is work of the input pipeline. devices: the active ones. host: of
    host_classes_of_time.
    """
    counted = np.flatnonzero(steps.steady())
    drawn = _Drawn(threads, pipeline, devices, host)
    if drawing.step is not None:
        if drawing.step >= len(steps):
            raise TraceError(
                "the trace",
                f"holds no step {drawing.step}.",
                f"It holds {len(steps)} steps, from 0.",
            )
        return (
            drawn.picture(
                "other",
                drawing.step,
                steps,
                drawing.most_events,
                _ALL_THREADS,
            ),
        )
    if not len(counted):
        return ()
    by_length = counted[np.argsort((steps.ends - steps.starts)[counted], kind="stable")]
    median = int(by_length[(len(by_length) - 1) // 2])
    worst = int(by_length[-1])
    drawn_steps: tuple[tuple[WhichStep, int], ...] = (
        ("median", median),
        ("worst", worst),
    )
    others = counted[(counted != median) & (counted != worst)]
    each = min(
        max(drawing.other_events // max(len(others), 1), _FEWEST_EVENTS),
        _MOST_OF_OTHERS,
    )
    number = min(drawing.other_events // each, len(others))
    if number:
        chosen = others[np.linspace(0, len(others) - 1, number).astype(np.int64)]
    else:
        chosen = others[:0]
    return (
        *(
            drawn.picture(which, index, steps, drawing.most_events)
            for which, index in drawn_steps[: 1 if median == worst else 2]
        ),
        *(drawn.picture("other", index, steps, each) for index in chosen.tolist()),
    )


class _Drawn:
    """What the pictures of one host share."""

    def __init__(
        self,
        threads: Threads,
        pipeline: BoolArray,
        devices: Sequence[Device],
        host: Mapping[TimeClass, Intervals],
    ) -> None:
        self._threads = threads
        self._pipeline = pipeline
        every: Sequence[Device | None] = devices or (None,)
        self._classes = [
            (processor, dict(classes_of_time(processor, host))) for processor in every
        ]
        on_cpu = any(device.kind is DeviceKind.CPU for device in devices)
        self._ends: dict[int, Int64Array] = {}
        self._kinds = np.full(128, TimeClass.HOST, np.int8)
        self._kinds[list(_OF_HOST)] = list(_OF_HOST.values())
        self._kinds[HostClass.OP] = TimeClass.COMPUTE if on_cpu else TimeClass.LAUNCH
        if on_cpu:
            self._workers = {
                worker
                for device in devices
                for worker in distinct(device.ops.stream).tolist()
            }
        else:
            self._workers = set()

    def picture(
        self,
        which: WhichStep,
        index: int,
        steps: Steps,
        most: int,
        most_threads: int = _MOST_THREADS,
    ) -> StepPicture:
        lo = int(steps.starts[index])
        hi = int(steps.ends[index])
        driver = steps.thread
        lanes: list[Lane] = []
        parts: list[LaneRows] = []
        ran = [list(_device_rows(device, lo, hi)) for device, _ in self._classes]
        for (device, classes), streams in zip(self._classes, ran, strict=True):
            takes_part = bool(streams) or not any(ran)
            name = "" if takes_part else _NOT_IN_IT
            of = "" if device is None else device.name
            lanes.append(Lane("classes", of, name, (), 0))
            parts.append(_class_rows(classes, lo, hi if takes_part else lo))
            for stream, rows, around, deeper in streams:
                assert device is not None
                if device.kind is DeviceKind.CPU:
                    name = self._threads.threads[stream].name
                else:
                    name = str(stream)
                lanes.append(Lane("stream", device.name, name, around, deeper))
                parts.append(rows)
        shown, left_out = self._busy_threads(lo, hi, driver, most_threads)
        for thread in shown:
            rows, around, deeper = self._thread_rows(thread, lo, hi)
            lanes.append(
                Lane(
                    "driver" if thread.index == driver else "thread",
                    "",
                    thread.name,
                    around,
                    deeper,
                )
            )
            parts.append(rows)
        return StepPicture(
            which,
            index,
            lo,
            hi - lo,
            tuple(lanes),
            event_blocks(parts, lo, hi - lo, most),
            left_out,
        )

    def _busy_threads(
        self,
        lo: int,
        hi: int,
        driver: int,
        most: int,
    ) -> tuple[list[Thread], int]:
        """(the driving thread and then the others by the time their events cover, how
        many more there are).
        """
        busy = {}
        for thread in self._threads.threads:
            if thread.index != driver and thread.index not in self._workers:
                events = self._inside(thread, lo, hi)
                covered = (
                    union(self._threads.start[events], self._threads.end[events])
                    .clip(lo, hi)
                    .length()
                )
                if covered:
                    busy[thread.index] = covered
        order = sorted(busy, key=lambda thread_number: -busy[thread_number])
        chosen = ([driver] if driver >= 0 else []) + order[:most]
        return [self._threads.threads[thread_number] for thread_number in chosen], max(
            len(order) - most, 0
        )

    def _inside(
        self,
        thread: Thread,
        lo: int,
        hi: int,
    ) -> Int64Array:
        """Positions of a thread's events in the step; those without length and the
        profiler's own left out.
        """
        latest = self._latest_end(thread)
        first = thread.lo + int(np.searchsorted(latest, lo, side="right"))
        last = thread.lo + int(
            np.searchsorted(self._threads.start[thread.lo : thread.hi], hi, side="left")
        )
        part = slice(first, max(last, first))
        start = self._threads.start[part]
        end = self._threads.end[part]
        kind = self._threads.kind[part]
        return (
            np.flatnonzero(
                (end > lo) & (end > start) & (kind != HostClass.PROFILER.value)
            )
            + first
        )

    def _latest_end(self, thread: Thread) -> Int64Array:
        """Of each event of a thread the latest end up to it."""
        found = self._ends.get(thread.index)
        if found is None:
            found = self._ends[thread.index] = np.maximum.accumulate(
                self._threads.end[thread.lo : thread.hi]
            )
        return found

    def _thread_rows(
        self,
        thread: Thread,
        lo: int,
        hi: int,
    ) -> tuple[LaneRows, tuple[str, ...], int]:
        threads = self._threads
        events = self._inside(thread, lo, hi)
        start = threads.start[events]
        end = threads.end[events]
        host_kind = threads.kind[events]
        kind = np.where(
            self._pipeline[events],
            TimeClass.INPUT,
            self._kinds[host_kind],
        ).astype(np.int8)
        telling = (
            ~is_in(host_kind, (HostClass.OTHER, HostClass.FRAME))
            | self._pipeline[events]
        )
        _inherit(kind, telling, start, end)
        row = threads.row[events]
        return _nested(start, end, kind, row, threads.names, (lo, hi), events, False)


def _class_rows(
    classes: dict[TimeClass, Intervals],
    lo: int,
    hi: int,
) -> LaneRows:
    clipped = {
        time_class: instants.clip(lo, hi) for time_class, instants in classes.items()
    }
    start = np.concatenate([instants.starts for instants in clipped.values()])
    kind = np.concatenate(
        [
            np.full(len(instants), time_class, np.int8)
            for time_class, instants in clipped.items()
        ]
    )
    end = np.concatenate([instants.ends for instants in clipped.values()])
    nameless = np.full(len(start), -1, np.int32)
    flat = np.zeros(len(start), np.int32)
    return LaneRows(
        flat, start, end, kind, nameless, (), nameless.astype(np.int64), True
    )


def _device_rows(
    device: Device | None,
    lo: int,
    hi: int,
) -> Iterator[tuple[int, LaneRows, tuple[str, ...], int]]:
    """(stream, then as _nested) of the streams with events inside the step, by
    stream.
    """
    if device is None:
        return
    ops = device.ops
    kinds = np.array(
        [
            _OF_DEVICE.get(device_class, TimeClass.TRANSFER)
            for device_class in DeviceClass
        ],
        np.int8,
    )
    inside = np.flatnonzero((ops.start < hi) & (ops.end > lo) & (ops.end > ops.start))
    for stream in distinct(ops.stream[inside]).tolist():
        chosen = inside[ops.stream[inside] == stream]
        chosen = chosen[np.lexsort((-ops.end[chosen], ops.start[chosen]))]
        row = np.where(ops.op[chosen] >= 0, ops.op[chosen], ops.name[chosen])
        yield (
            stream,
            *_nested(
                ops.start[chosen],
                ops.end[chosen],
                kinds[ops.kind[chosen]],
                row,
                ops.names,
                (lo, hi),
                ops.launch[chosen].astype(np.int64),
                True,
            ),
        )


def _inherit(
    kind: Int8Array,
    telling: BoolArray,
    start: Int64Array,
    end: Int64Array,
) -> None:
    """An event whose name does not tell what it does belongs to the nearest one around
    it whose name does. By doubling the way up.
    """
    around = np.where(telling, np.arange(len(start)), parents(start, end))
    while (climbing := np.flatnonzero((around >= 0) & ~telling[around])).size:
        around[climbing] = around[around[climbing]]
    found = np.flatnonzero(around >= 0)
    kind[found] = kind[around[found]]


def _nested(
    start: Int64Array,
    end: Int64Array,
    kind: Int8Array,
    name: Int32Array,
    names: tuple[str, ...],
    step: tuple[int, int],
    call: Int64Array,
    launched: bool,
) -> tuple[LaneRows, tuple[str, ...], int]:
    """(rows with their depth, names of the calls around the whole step, how many lie
    too deep).

    An event's depth is how many began before it and are still open; events come by
    start, longer ones first. call, launched: as LaneRows has them.
    """
    lo, hi = step
    around = (start <= lo) & (end >= hi)
    enclosing = tuple(names[code] for code in name[around].tolist())
    keep = np.flatnonzero(~around)
    start = start[keep]
    end = end[keep]
    kind = kind[keep]
    name = name[keep]
    call = call[keep]
    closed = np.searchsorted(np.sort(end), start, side="right")
    depth = np.maximum(np.arange(len(start)) - closed, 0).astype(np.int32)
    shallow = np.flatnonzero(depth < _DEEPEST)
    rows = LaneRows(
        depth[shallow],
        np.maximum(start[shallow], lo),
        np.minimum(end[shallow], hi),
        kind[shallow],
        name[shallow],
        names,
        call[shallow],
        launched,
    )
    return rows, enclosing, len(start) - len(shallow)


# How much of a host is drawn.


class Drawing(msgspec.Struct, frozen=True):
    """Which steps are drawn, and with how many events."""

    most_events: int
    """Of the median and of the worst step each."""
    other_events: int = 0
    """Of all other steps together."""
    step: int | None = None
    """Only this one, by its index, with all of its threads."""
