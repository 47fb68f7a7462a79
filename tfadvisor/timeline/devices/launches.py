"""From the host's launch call to the kernel's start: latency, queueing, and graphs that hide single launches."""

from __future__ import annotations

import msgspec
import numpy as np

from tfadvisor.arrays import distinct, is_in, true_at, used
from tfadvisor.timeline.distributions import Distribution, distribution
from tfadvisor.timeline.intervals import BoolArray, Int64Array
from tfadvisor.timeline.model import DeviceOps
from tfadvisor.timeline.names.drivers import launches_graph


class Launches(msgspec.Struct, frozen=True):
    """The kernels of one device's counted steps by how they were launched.

    latency: launch end to kernel start where the stream was free by then, ps. queued: the same where the
    stream was still busy, so that the kernel waited for others. linked: kernels with a known launch. in_graphs: those
    launched by a CUDA or HIP graph, of which only the first has a launch time of its own. graphs: launches of graphs.
    linked_ps: summed length of the linked kernels. behind_ps: of those launched before the device had done all that began
    before them, whatever the stream.
    """

    latency: Distribution
    queued: Distribution
    linked: int
    in_graphs: int
    graphs: int
    kernels: int
    linked_ps: int
    behind_ps: int


def launches_of(ops: DeviceOps, chosen: BoolArray, most: int) -> Launches:
    """Of the chosen events. most: values of a distribution that are kept."""
    launched = ops.launch_end
    linked = chosen & (launched >= 0)
    by_graph = linked & is_in(ops.launch_name, _graph_rows(ops))
    single = linked & _is_first_of_launch(ops, linked)
    free = _stream_free_since(ops) <= launched
    behind = linked & (_device_free_since(ops) > launched)
    wait = ops.start - launched
    del launched
    np.maximum(wait, 0, out=wait)
    latency, queued = distribution(wait[single & free], most), distribution(wait[single & ~free], most)
    length = np.subtract(ops.end, ops.start, out=wait)
    return Launches(
        latency=latency,
        queued=queued,
        linked=int(linked.sum()),
        in_graphs=int(by_graph.sum()),
        graphs=len(distinct(ops.launch[by_graph])),
        kernels=int(chosen.sum()),
        linked_ps=int(length[linked].sum()),
        behind_ps=int(length[behind].sum()),
    )


def _graph_rows(ops: DeviceOps) -> list[int]:
    callers = used(ops.callers.row[ops.launch[ops.launch >= 0]], len(ops.names))
    return [row for row in callers if launches_graph(ops.names[row])]


def _is_first_of_launch(ops: DeviceOps, linked: BoolArray) -> BoolArray:
    """A graph launches many kernels with one call: only the first of them starts because of it."""
    out = np.zeros(len(ops), np.bool_)
    mine = true_at(linked)
    if len(mine):
        order = mine[np.argsort(ops.launch[mine], kind="stable")]  # events are in order of start
        call = ops.launch[order]
        out[order] = np.append(True, call[1:] != call[:-1])
    return out


def _device_free_since(ops: DeviceOps) -> Int64Array:
    """For each event the end of all that began before it on the device; the earliest time for the first."""
    out = np.full(len(ops), np.iinfo(np.int64).min)
    out[1:] = np.maximum.accumulate(ops.end)[:-1]
    return out


def _stream_free_since(ops: DeviceOps) -> Int64Array:
    """For each event the end of what ran before it on its stream; the earliest time where nothing did."""
    out = np.full(len(ops), np.iinfo(np.int64).min)
    for stream in distinct(ops.stream).tolist():
        mine = true_at(ops.stream == stream)
        out[mine[1:]] = np.maximum.accumulate(ops.end[mine])[:-1]
    return out
