"""From the host's launch call to the kernel's start: latency, queueing, and graphs that
hide single launches.
"""

from __future__ import annotations

import msgspec
import numpy as np

from tfadvisor.arrays import (
    NO_VALUES,
    BoolArray,
    Int32Array,
    Int64Array,
    blocks,
    changes,
    constant,
    distinct,
    falses,
    is_in,
    order_of,
    true_at,
    trues,
    unknown,
)
from tfadvisor.timeline.devices.event_stats import numbers_as_stored
from tfadvisor.timeline.host.threads import Threads
from tfadvisor.timeline.intervals import EMPTY, Intervals, union
from tfadvisor.timeline.names import stats
from tfadvisor.timeline.names.classes import HostClass
from tfadvisor.timeline.names.drivers import launches_graph
from tfadvisor.timeline.names.host_events import copies_to_peer
from tfadvisor.timeline.sketches import Distribution, distribution
from tfadvisor.timeline.sweeps import places
from tfadvisor.timeline.timeline_parts import Callers, DeviceOps
from tfadvisor.trace.columns import HostTrace


class Launches(msgspec.Struct, frozen=True):
    """The kernels of one device's counted steps by how they were launched.

    latency: launch end to kernel start where the stream was free by then, ps. linked:
    kernels with a known launch. in_graphs: those launched by a CUDA or HIP graph, of
    which only the first has a launch time of its own. graphs: launches of graphs.
    linked_ps: summed length of the linked kernels. behind_ps: of those launched before
    the device had done all that began before them, whatever the stream. aligned_ps: of
    all whose op their place among the program's launches tells.
    """

    latency: Distribution
    kernels: int
    aligned_ps: int
    linked: int = 0
    in_graphs: int = 0
    graphs: int = 0
    linked_ps: int = 0
    behind_ps: int = 0


def launches_of(
    ops: DeviceOps,
    chosen: BoolArray,
    most: int,
) -> Launches:
    """Of the chosen events. most: values of a distribution that are kept."""
    launched = ops.launch_end
    linked = chosen & (launched >= 0)
    aligned = chosen & (ops.op >= ops.aligned)
    if not linked.any():
        return Launches(
            latency=distribution(NO_VALUES, most),
            kernels=int(chosen.sum()),
            aligned_ps=int((ops.end - ops.start)[aligned].sum()),
        )
    free = _on_free_stream(ops, launched)
    behind = linked & _behind_others(ops, launched)
    wait = launched if launched.flags.writeable else launched.copy()
    np.maximum(np.subtract(ops.start, launched, out=wait), 0, out=wait)
    by_graph = linked & _by_graphs(ops)
    single = linked & _is_first_of_launch(ops, linked)
    latency = distribution(wait[single & free], most)
    length = np.subtract(ops.end, ops.start, out=wait)
    return Launches(
        latency=latency,
        linked=int(linked.sum()),
        in_graphs=int(by_graph.sum()),
        graphs=len(distinct(ops.launch[by_graph])),
        kernels=int(chosen.sum()),
        linked_ps=int(length[linked].sum()),
        behind_ps=int(length[behind].sum()),
        aligned_ps=int(length[aligned].sum()),
    )


_SEVERAL = 3
_LAUNCH_TAKES_PS = 1_000_000_000
"""A kernel that begins a millisecond after its launch was not held up by launching."""


def held_back(ops: DeviceOps, busy: Intervals) -> Intervals:
    """When a device does nothing although three calls have launched work for it and a
    millisecond has passed since: launching is not what it waits for. busy: when it
    works.
    """
    lo = busy.ends[:-1]
    hi = busy.starts[1:]
    long = hi - lo > _LAUNCH_TAKES_PS
    linked = ops.launch >= 0
    if not long.any() or np.count_nonzero(linked) < _SEVERAL:
        return EMPTY
    first = true_at(_is_first_of_launch(ops, linked))
    launched = ops.launch_end[first]
    since = launched
    for later in range(1, _SEVERAL):
        since = np.maximum(since[:-1], launched[later:])
    following = np.searchsorted(ops.start[first], hi[long])
    known = following < len(since)
    lo = np.maximum(lo[long][known], since[following[known]] + _LAUNCH_TAKES_PS)
    return union(lo, hi[long][known])


def _by_graphs(ops: DeviceOps) -> BoolArray:
    """Which events were launched by a call that launches a graph."""
    called = falses(ops.names)
    for part in blocks(len(ops)):
        launch = ops.launch[part]
        called[ops.callers.row[launch[launch >= 0]]] = True
    graphs = [row for row in true_at(called).tolist() if launches_graph(ops.names[row])]
    return is_in(ops.launch_name, graphs) if graphs else falses(ops)


def _is_first_of_launch(ops: DeviceOps, linked: BoolArray) -> BoolArray:
    """A graph launches many kernels with one call: only the first of them starts
    because of it.
    """
    out = falses(ops)
    call = ops.launch[linked]  # events are in order of start
    if (call[1:] >= call[:-1]).all():
        out[linked] = changes(call)[: len(call)]
        return out
    order = order_of(call)
    call, first = call[order], np.empty(len(call), np.bool_)
    first[order] = changes(call)
    out[linked] = first
    return out


def _behind_others(ops: DeviceOps, launched: Int64Array) -> BoolArray:
    """Which events were launched before all that began before them on the device was
    done.
    """
    out = np.empty(len(ops), np.bool_)
    done = np.array([np.iinfo(np.int64).min])
    for part in blocks(len(ops)):
        done = np.maximum.accumulate(np.append(done[-1], ops.end[part]))
        out[part] = done[:-1] > launched[part]
    return out


def _on_free_stream(ops: DeviceOps, launched: Int64Array) -> BoolArray:
    """Which events were launched when all that began before them on their stream was
    done.
    """
    out = trues(ops)
    order = order_of(ops.stream)
    stream = ops.stream[order]
    begins = np.flatnonzero(changes(stream)[: len(ops)])
    ends = np.append(begins[1:], len(ops))
    several = ends - begins > 1
    for lo, hi in zip(begins[several].tolist(), ends[several].tolist(), strict=True):
        mine = order[lo:hi]
        until = np.maximum.accumulate(ops.end[mine[:-1]])
        out[mine[1:]] = until <= launched[mine[1:]]
    return out


# Which call on the host launched each event of a device: both bear the same correlation
# id.


class LaunchLinks:
    """Host calls by correlation id. Ids may repeat between devices, so a call that
    names its device wins.
    """

    def __init__(self, trace: HostTrace, threads: Threads) -> None:
        """Sorts the calls of all host threads that bear an id."""
        self._trace = trace
        position, value = threads.integers_as_stored(trace.stat(stats.CORRELATION_ID))
        device_at, device = threads.integers(trace.stat(stats.DEVICE_ID))
        if len(value) and int(value.min()) <= 0:
            position = position[value > 0]
            value = value[value > 0]
        if (value[1:] < value[:-1]).any():
            order = order_of(value)
            position = position[order]
            value = value[order]
        self._position = position
        self._id = value
        self._repeat = bool((value[1:] == value[:-1]).any())
        self._device = constant(-1, len(value), np.int64)
        if self._repeat and len(device_at):
            by_position = unknown(threads)
            by_position[device_at] = device
            self._device = by_position[position]
        self.callers = Callers(threads.start, threads.end, threads.row)
        self._threads = threads
        self._ops = threads.everywhere(HostClass.OP)

    def framework_ops(self, launch: Int32Array) -> Int32Array:
        """Row of the name of the framework's op on the host inside which each call
        lies, -1 without one. launch: as of `of`.
        """
        op = self._around(launch, self._ops)
        if op is None:
            return constant(-1, len(launch))
        return np.where(op >= 0, self._threads.row[op], -1).astype(np.int32)

    def to_peers(self, launch: Int32Array) -> BoolArray:
        """Which calls hand a buffer to another device."""
        helper = self._around(launch, self._threads.named(copies_to_peer))
        if helper is None:
            return constant(False, len(launch), np.bool_)
        return np.asarray(helper >= 0, np.bool_)

    def _around(
        self,
        launch: Int32Array,
        events: Int64Array,
    ) -> Int64Array | None:
        """The last of these events to begin before each call, where the call lies in
        it, else -1. None where none can.
        """
        if not len(events) or launch.strides == (0,):
            return None
        threads = self._threads
        call = np.maximum(launch, 0)
        place = np.searchsorted(events, call, side="right") - 1
        candidate = events[np.maximum(place, 0)]
        inside = (
            (launch >= 0) & (place >= 0) & (threads.end[candidate] >= threads.end[call])
        )
        inside &= threads.thread_of(candidate) == threads.thread_of(call)
        return np.where(inside, candidate, -1)

    def of(self, events: Int64Array, device: int) -> Int32Array:
        """Index into the callers of the call that launched each event, -1 where none is
        found.
        """
        wanted, known = numbers_as_stored(
            self._trace.stat(stats.CORRELATION_ID),
            events,
        )
        if not len(self._id) or not known.any():
            return constant(-1, len(events))
        place = places(self._id, wanted)
        found = known & (place >= 0)
        position = self._position[place]
        mine = self._device == device
        if self._repeat and mine.any():
            several = (
                found
                & (self._id[np.minimum(place + 1, len(self._id) - 1)] == wanted)
                & (place + 1 < len(self._id))
            )
            ids = self._id[mine]
            positions = self._position[mine]
            at = places(ids, wanted)
            position = np.where(several & (at >= 0), positions[at], position)
        del wanted, place
        launch = position.astype(np.int32, copy=False)
        if not found.all():
            launch[~found] = -1
        return launch
