"""The median and the worst counted step as a drawing shows them: lanes of events, the smallest merged into blocks."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from tfadvisor.record import record
from tfadvisor.timeline.breakdown import classes_of_time
from tfadvisor.timeline.classes import DeviceClass, HostClass
from tfadvisor.timeline.driver import host_classes_of_time
from tfadvisor.timeline.intervals import BoolArray, Int64Array, Intervals, union
from tfadvisor.timeline.model import Device, HostActivity, Steps, TimeClass
from tfadvisor.timeline.nesting import parents
from tfadvisor.timeline.threads import Thread, Threads

WAIT = len(TimeClass)
"""What a lane's event does beyond the classes of time: it blocks until something else is done."""

_MOST_THREADS = 12
_DEEPEST = 16
"""A Python stack can be a hundred calls deep; deeper ones are counted, not drawn."""
_PIXELS = 4096
"""Events closer than this part of the step cannot be told apart on a screen."""

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


@record
class Lane:
    """What a row of the drawing is about. role: "classes" (where each instant of the device's step goes, without names),
    "stream", "driver" (the host thread that drives the steps) or "thread". device: "" on the host. around: calls that
    enclose the whole step. deeper: events nested too deep to be drawn.
    """

    role: str
    device: str
    name: str
    around: tuple[str, ...]
    deeper: int


@record
class StepPicture:
    """One step. which: "median" or "worst"; index, start_ps, span_ps: of the step.

    The columns hold one row an event or block, by lane, depth and start. start, length: ps from the step's start, cut at
    its ends. kind: a TimeClass or WAIT, of a block the one that takes most of it. name: index into names, -1 for blocks and
    classes. events: how many a block stands for, 1 for an event itself. busy: ps in which they run, the length of an event.
    threads_left_out: busy host threads beyond the dozen that is drawn.
    """

    which: str
    index: int
    start_ps: int
    span_ps: int
    lanes: tuple[Lane, ...]
    lane: npt.NDArray[np.int32]
    depth: npt.NDArray[np.int32]
    start: Int64Array
    length: Int64Array
    kind: npt.NDArray[np.int8]
    name: npt.NDArray[np.int32]
    events: Int64Array
    busy: Int64Array
    names: tuple[str, ...]
    threads_left_out: int


def step_pictures(
    threads: Threads,
    pipeline: BoolArray,
    devices: Sequence[Device],
    activity: HostActivity,
    steps: Steps,
    most_events: int,
) -> tuple[StepPicture, ...]:
    """The counted step of median length and the longest one, one picture where they are the same; none without steps.

    pipeline: for every host event, whether it is work of the input pipeline. devices: the active ones. most_events: of a
    picture; smaller ones are merged.
    """
    counted = np.flatnonzero(steps.steady())
    if not len(counted):
        return ()
    by_length = counted[np.argsort((steps.ends - steps.starts)[counted], kind="stable")]
    median, worst = int(by_length[(len(by_length) - 1) // 2]), int(by_length[-1])
    drawn = _Drawn(threads, pipeline, devices, activity)
    return tuple(
        drawn.picture(which, index, int(steps.starts[index]), int(steps.ends[index]), steps.thread, most_events)
        for which, index in (("median", median), ("worst", worst))[: 1 if median == worst else 2]
    )


class _Drawn:
    """What the pictures of one host share."""

    def __init__(
        self, threads: Threads, pipeline: BoolArray, devices: Sequence[Device], activity: HostActivity
    ) -> None:
        self._threads, self._pipeline, self._devices = threads, pipeline, devices
        host = host_classes_of_time(activity)
        self._classes = [(one.name, classes_of_time(one, host)) for one in devices] or [
            ("", classes_of_time(None, host))
        ]
        on_cpu = any(device.kind == "cpu" for device in devices)
        self._kinds = np.full(128, TimeClass.HOST, np.int8)
        self._kinds[list(_OF_HOST)] = list(_OF_HOST.values())
        self._kinds[HostClass.OP] = TimeClass.COMPUTE if on_cpu else TimeClass.LAUNCH
        self._workers = (
            {int(one) for device in devices for one in set(device.ops.stream.tolist())} if on_cpu else set()
        )  # threads whose work is drawn as a device's

    def picture(self, which: str, index: int, lo: int, hi: int, driver: int, most: int) -> StepPicture:
        lanes: list[Lane] = []
        parts: list[_Rows] = []
        for device, classes in self._classes:
            lanes.append(Lane("classes", device, "", (), 0))
            parts.append(_class_rows(classes, lo, hi))
        for device in self._devices:
            for stream, chosen in _streams(device, lo, hi):
                name = self._threads.threads[stream].name if device.kind == "cpu" else str(stream)
                rows, around, deeper = _device_rows(device, chosen, lo, hi)
                lanes.append(Lane("stream", device.name, name, around, deeper))
                parts.append(rows)
        shown, left_out = self._busy_threads(lo, hi, driver)
        for thread in shown:
            rows, around, deeper = self._thread_rows(thread, lo, hi)
            lanes.append(Lane("driver" if thread.index == driver else "thread", "", thread.name, around, deeper))
            parts.append(rows)
        return _picture(which, index, lo, hi, lanes, parts, most, left_out)

    def _busy_threads(self, lo: int, hi: int, driver: int) -> tuple[list[Thread], int]:
        """(the driving thread and then the others by the time their events cover, how many more there are)."""
        busy = {}
        for thread in self._threads.threads:
            if thread.index != driver and thread.index not in self._workers:
                events = self._inside(thread, lo, hi)
                covered = union(self._threads.start[events], self._threads.end[events]).clip(lo, hi).length()
                if covered:
                    busy[thread.index] = covered
        order = sorted(busy, key=lambda one: -busy[one])
        chosen = ([driver] if driver >= 0 else []) + order[:_MOST_THREADS]
        return [self._threads.threads[one] for one in chosen], max(len(order) - _MOST_THREADS, 0)

    def _inside(self, thread: Thread, lo: int, hi: int) -> Int64Array:
        """Positions of a thread's events in the step; those without length and the profiler's own left out."""
        part = slice(thread.lo, thread.hi)
        start, end, kind = self._threads.start[part], self._threads.end[part], self._threads.kind[part]
        return np.flatnonzero((start < hi) & (end > lo) & (end > start) & (kind != HostClass.PROFILER)) + thread.lo

    def _thread_rows(self, thread: Thread, lo: int, hi: int) -> tuple[_Rows, tuple[str, ...], int]:
        threads = self._threads
        events = self._inside(thread, lo, hi)
        start, end, host_kind = threads.start[events], threads.end[events], threads.kind[events]
        kind = np.where(self._pipeline[events], TimeClass.INPUT, self._kinds[host_kind]).astype(np.int8)
        telling = ~np.isin(host_kind, (HostClass.OTHER, HostClass.FRAME)) | self._pipeline[events]
        _inherit(kind, telling, start, end)
        names = [threads.names[row] for row in threads.row[events].tolist()]
        return _nested(start, end, kind, names, lo, hi)


@record
class _Rows:
    """Rows of one lane, any order; names: None where they have none."""

    depth: npt.NDArray[np.int32]
    start: Int64Array
    end: Int64Array
    kind: npt.NDArray[np.int8]
    names: list[str] | None


def _class_rows(classes: dict[TimeClass, Intervals], lo: int, hi: int) -> _Rows:
    clipped = {one: instants.clip(lo, hi) for one, instants in classes.items()}
    start = np.concatenate([one.starts for one in clipped.values()])
    kind = np.concatenate([np.full(len(instants), one, np.int8) for one, instants in clipped.items()])
    end = np.concatenate([one.ends for one in clipped.values()])
    return _Rows(np.zeros(len(start), np.int32), start, end, kind, None)


def _streams(device: Device, lo: int, hi: int) -> list[tuple[int, Int64Array]]:
    """(stream, its events inside the step), by stream."""
    ops = device.ops
    inside = np.flatnonzero((ops.start < hi) & (ops.end > lo) & (ops.end > ops.start))
    stream = ops.stream[inside]
    return [(one, inside[stream == one]) for one in sorted(set(stream.tolist()))]


def _device_rows(device: Device, chosen: Int64Array, lo: int, hi: int) -> tuple[_Rows, tuple[str, ...], int]:
    ops = device.ops
    kinds = np.array([_OF_DEVICE.get(one, TimeClass.TRANSFER) for one in DeviceClass], np.int8)
    order = np.lexsort((-ops.end[chosen], ops.start[chosen]))
    chosen = chosen[order]
    row = np.where(ops.op[chosen] >= 0, ops.op[chosen], ops.name[chosen])
    names = [ops.names[one] for one in row.tolist()]
    return _nested(ops.start[chosen], ops.end[chosen], kinds[ops.kind[chosen]], names, lo, hi)


def _inherit(kind: npt.NDArray[np.int8], telling: BoolArray, start: Int64Array, end: Int64Array) -> None:
    """An event whose name does not tell what it does belongs to the nearest one around it whose name does."""
    parent = parents(start, end)
    around = parent.copy()
    while (open_ := np.flatnonzero(~telling & (around >= 0))).size:
        found = telling[around[open_]]
        kind[open_[found]] = kind[around[open_[found]]]
        around[open_] = np.where(found, -1, parent[around[open_]])


def _nested(
    start: Int64Array, end: Int64Array, kind: npt.NDArray[np.int8], names: list[str], lo: int, hi: int
) -> tuple[_Rows, tuple[str, ...], int]:
    """(rows with their depth, names of the calls around the whole step, how many lie too deep).

    An event's depth is how many began before it and are still open; events come by start, longer ones first.
    """
    around = (start <= lo) & (end >= hi)
    enclosing = tuple(names[one] for one in np.flatnonzero(around).tolist())
    keep = np.flatnonzero(~around)
    start, end, kind = start[keep], end[keep], kind[keep]
    closed = np.searchsorted(np.sort(end), start, side="right")
    depth = np.maximum(np.arange(len(start)) - closed, 0).astype(np.int32)
    shallow = np.flatnonzero(depth < _DEEPEST)
    rows = _Rows(
        depth[shallow],
        np.maximum(start[shallow], lo),
        np.minimum(end[shallow], hi),
        kind[shallow],
        [names[one] for one in keep[shallow].tolist()],
    )
    return rows, enclosing, len(start) - len(shallow)


def _picture(
    which: str, index: int, lo: int, hi: int, lanes: list[Lane], parts: list[_Rows], most: int, left_out: int
) -> StepPicture:
    names: dict[str, int] = {}
    lane = np.concatenate([np.full(len(one.start), number, np.int32) for number, one in enumerate(parts)])
    name = np.concatenate([_indices(one, names) for one in parts])
    depth, start, end, kind = (
        np.concatenate([getattr(one, column) for one in parts]) for column in ("depth", "start", "end", "kind")
    )
    order = np.lexsort((start, depth, lane))
    lane, name, depth, kind = lane[order], name[order], depth[order], kind[order]
    start, end = start[order], end[order]
    first = _blocks(lane, depth, start, end, most, hi - lo)
    events = np.diff(np.append(first, len(start)))
    busy = np.add.reduceat(end - start, first) if len(first) else end[:0]
    return StepPicture(
        which=which,
        index=index,
        start_ps=lo,
        span_ps=hi - lo,
        lanes=tuple(lanes),
        lane=lane[first],
        depth=depth[first],
        start=start[first] - lo,
        length=(np.maximum.reduceat(end, first) if len(first) else end[:0]) - start[first],
        kind=_commonest(kind, end - start, first),
        name=np.where(events == 1, name[first], -1).astype(np.int32),
        events=events,
        busy=busy,
        names=tuple(names),
        threads_left_out=left_out,
    )


def _indices(rows: _Rows, names: dict[str, int]) -> npt.NDArray[np.int32]:
    """Place of each row's name in `names`, which grows."""
    if rows.names is None:
        return np.full(len(rows.start), -1, np.int32)
    return np.array([names.setdefault(name, len(names)) for name in rows.names], np.int32)


def _blocks(
    lane: npt.NDArray[np.int32],
    depth: npt.NDArray[np.int32],
    start: Int64Array,
    end: Int64Array,
    most: int,
    span: int,
) -> Int64Array:
    """First row of each block; rows by lane, depth and start.

    The longest half of `most` stay by themselves. Neighbours among the rest become one block where less than a pixel
    lies between them, and where that leaves too many, less than two, four, eight.
    """
    count = len(start)
    if count <= most:
        return np.arange(count)
    length = end - start
    tall = length > np.partition(length, count - most // 2)[count - most // 2]
    new_row = np.append(True, (lane[1:] != lane[:-1]) | (depth[1:] != depth[:-1]))
    alone = new_row | tall
    alone[1:] |= tall[:-1]
    pause = np.append(0, start[1:] - end[:-1])
    gap = max(span // _PIXELS, 1)
    while gap < 2 * span and int((alone | (pause > gap)).sum()) > most:
        gap *= 2
    return np.flatnonzero(alone | (pause > gap))


def _commonest(kind: npt.NDArray[np.int8], length: Int64Array, first: Int64Array) -> npt.NDArray[np.int8]:
    """The kind that takes most time in each block."""
    block = np.zeros(len(kind), np.int64)
    block[first[1:]] = 1
    time = np.zeros((len(first), WAIT + 1), np.int64)
    np.add.at(time, (np.cumsum(block), kind), length)
    return time.argmax(axis=1).astype(np.int8)
