"""Which framework ops run on the host: although the run has an accelerator, and in the input pipeline."""

from __future__ import annotations

import msgspec
import numpy as np

from tfadvisor.arrays import blocks, true_at
from tfadvisor.timeline.host.threads import Threads
from tfadvisor.timeline.intervals import BoolArray, Int64Array
from tfadvisor.timeline.model import Steps
from tfadvisor.timeline.names import stats
from tfadvisor.timeline.names.classes import HostClass
from tfadvisor.timeline.names.host import op_type
from tfadvisor.timeline.windows import in_counted_steps
from tfadvisor.xplane.columns import HostTrace


class HostOps(msgspec.Struct, frozen=True):
    """Ops on the host during the counted steps: time by op type, the largest first, ps."""

    total_ps: int
    by_type: tuple[tuple[str, int], ...]


def host_ops(trace: HostTrace, threads: Threads, steps: Steps, pipeline: BoolArray) -> HostOps:
    """Ops that launch nothing while they run, so that their time is work of the host and not the dispatch of a kernel.

    Ops of the input pipeline belong on the host and are left out.
    """
    ops = threads.everywhere(HostClass.OP, among=~pipeline)
    if not len(ops):
        return HostOps(0, ())
    launches, _ = threads.integers(trace.stat(stats.CORRELATION_ID))
    if not len(launches):
        return _by_type(threads, steps, ops)
    launches = np.sort(launches)
    first = np.searchsorted(launches, ops)
    following = launches[np.minimum(first, len(launches) - 1)]
    same_thread = threads.thread_of(following) == threads.thread_of(ops)
    launching = (first < len(launches)) & same_thread & (threads.start[following] < threads.end[ops])
    return _by_type(threads, steps, ops[~launching])


def pipeline_ops(threads: Threads, steps: Steps, pipeline: BoolArray) -> HostOps:
    """Ops of the functions that tf.data maps over elements."""
    return _by_type(threads, steps, threads.everywhere(HostClass.OP, among=pipeline))


def _by_type(threads: Threads, steps: Steps, ops: Int64Array) -> HostOps:
    """Those of the ops that begin in counted steps."""
    time, seen = np.zeros(len(threads.names), np.int64), np.zeros(len(threads.names), np.bool_)
    for part in blocks(len(ops)):
        mine = ops[part]
        mine = mine[in_counted_steps(threads.start[mine], steps)]
        np.add.at(time, threads.row[mine], threads.end[mine] - threads.start[mine])
        seen[threads.row[mine]] = True
    by_type: dict[str, int] = {}
    for one in true_at(seen).tolist():
        kind = op_type(threads.names[one]) or threads.names[one]
        by_type[kind] = by_type.get(kind, 0) + int(time[one])
    return HostOps(int(time.sum()), tuple(sorted(by_type.items(), key=lambda item: -item[1])))
