"""What a trace holds before its first step and behind its last one: an evaluation, the
end of an epoch.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np

from tfadvisor.arrays import Int64Array
from tfadvisor.timeline.host.dispatch_lines import Dispatched, lines_of
from tfadvisor.timeline.host.dispatches import dispatches
from tfadvisor.timeline.host.threads import Threads
from tfadvisor.timeline.intervals import (
    Intervals,
    difference,
    intersection,
    union,
    union_of,
)
from tfadvisor.timeline.timeline_parts import Device, Steps


class OutsideSteps(msgspec.Struct, frozen=True):
    """The time in which devices work, from the first to the last that they do, and that
    lies in no step, counted or not.
    """

    ps: int
    of_ps: int
    """From the first to the last work of a device, steps and the rest."""
    busy_ps: int
    """In which any device works."""
    calls: tuple[Dispatched, ...]
    """What is dispatched meanwhile, the commonest first."""
    waits: int
    """How often the driving thread blocks meanwhile."""


def outside_steps(
    threads: Threads,
    by_host: Steps,
    by_device: Steps,
    devices: Sequence[Device],
    waits: Intervals,
    compiling: Intervals,
) -> OutsideSteps | None:
    """None where every work of a device lies in a step, or no thread drives them.

    by_host, by_device: the same steps, where the host dispatched them and where the
    device ran them. waits: of the driving thread. compiling: that is no work to come
    back.
    """
    busy = union_of(
        *(
            part
            for device in devices
            for part in (device.compute, device.collective, device.transfer)
        )
    )
    if by_host.thread < 0 or not len(busy) or not len(by_device):
        return None
    recorded = Intervals(busy.starts[:1], busy.ends[-1:])
    outside = difference(recorded, compiling)
    outside = difference(outside, union(by_device.starts, by_device.ends))
    if not len(outside):
        return None
    calls = dispatches(threads, threads.threads[by_host.thread])
    calls = calls[_no_step(threads.start[calls], by_host)]
    return OutsideSteps(
        ps=outside.length(),
        of_ps=recorded.length(),
        busy_ps=intersection(busy, outside).length(),
        calls=lines_of(threads, threads.threads[by_host.thread], calls),
        waits=int(_no_step(waits.starts, by_host).sum()),
    )


def _no_step(at: Int64Array, steps: Steps) -> np.ndarray:
    return ~union(steps.starts, steps.ends).contains(at)
