"""How a run without an accelerator shares its cores between the step and its tf.data pipeline."""

from __future__ import annotations

import msgspec

from tfadvisor.arrays import distinct
from tfadvisor.timeline.devices.cpu import computing_events
from tfadvisor.timeline.host.threads import Threads
from tfadvisor.timeline.intervals import BoolArray, Int64Array, union
from tfadvisor.timeline.model import Steps
from tfadvisor.timeline.names.classes import HostClass
from tfadvisor.timeline.steps.windows import in_counted_steps
from tfadvisor.xplane.columns import HostTrace


class SharedCores(msgspec.Struct, frozen=True):
    """Of the counted steps. computing, preparing: how many threads run ops of the step and of the pipeline; preparing_ps: the
    time of the pipeline's ops, summed over its threads.
    """

    computing: int = 0
    preparing: int = 0
    preparing_ps: int = 0


def shared_cores(trace: HostTrace, threads: Threads, steps: Steps, pipeline: BoolArray) -> SharedCores:
    """pipeline: for every host event, whether it is work of the pipeline."""
    ops = threads.everywhere(HostClass.OP)
    ops = ops[pipeline[ops]]
    ops = ops[in_counted_steps(threads.start[ops], steps)]
    if not len(ops):
        return SharedCores()
    computing = computing_events(trace, threads, pipeline)
    computing = computing[in_counted_steps(threads.start[computing], steps)]
    thread = threads.thread_of(ops)
    preparing = distinct(thread)
    return SharedCores(
        computing=len(distinct(threads.thread_of(computing))),
        preparing=len(preparing),
        preparing_ps=sum(_length(threads, ops[thread == one]) for one in preparing.tolist()),
    )


def _length(threads: Threads, ops: Int64Array) -> int:
    """Of one thread's ops, nested ones counted once."""
    return union(threads.start[ops], threads.end[ops]).length()
