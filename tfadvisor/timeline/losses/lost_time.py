"""The classes of lost time that are large enough to report, each with what fills most of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache, reduce
from typing import TYPE_CHECKING

from tfadvisor.timeline.host.threads import Thread, Threads
from tfadvisor.timeline.intervals import Intervals, difference, intersection
from tfadvisor.timeline.losses.activities import Names, events_of_steps, main_activity
from tfadvisor.timeline.losses.device_ops import main_device_op
from tfadvisor.timeline.losses.model import LostTime
from tfadvisor.timeline.model import Device, Steps
from tfadvisor.vocabulary import TimeClass
from tfadvisor.xplane.columns import Int32Array

if TYPE_CHECKING:
    from tfadvisor.hlo.format.find_modules import Modules

_WORTH_LOOKING = 0.1
"""Of the first device's time. Rules ask from 15 % of the mean over all devices."""
_ON_DEVICE = (TimeClass.COLLECTIVE, TimeClass.TRANSFER)


def lost_time(
    threads: Threads,
    steps: Steps,
    classes: Mapping[TimeClass, Intervals],
    devices: Sequence[Device],
    programs: Modules,
    names: Callable[[], Names],
) -> tuple[LostTime, ...]:
    """In the counted steps, the largest class first. classes: on the first device. devices: the active ones. names: what the
    threads' names say, asked for only where a class is large.
    """
    windows = steps.steady_time
    if not windows:
        return ()
    device = devices[0] if devices else None

    @cache
    def of_steps(thread: Thread) -> Int32Array:
        return events_of_steps(threads, names(), steps, thread)

    length = {kind: int(classes[kind].within(windows.starts, windows.ends).sum()) for kind in classes}
    length[TimeClass.IDLE] = windows.length() - sum(length.values())

    def of(kind: TimeClass) -> LostTime:
        instants = (
            reduce(difference, classes.values(), windows)
            if kind is TimeClass.IDLE
            else intersection(classes[kind], windows)
        )
        if kind in _ON_DEVICE and device is not None:
            activity = main_device_op(device, programs, instants)
        else:
            activity = main_activity(threads, names(), steps, instants, kind is TimeClass.HOST, of_steps)
        return LostTime(kind, length[kind], activity)

    least = max(_WORTH_LOOKING * windows.length(), 1)
    found = [of(kind) for kind, ps in length.items() if ps >= least and kind is not TimeClass.COMPUTE]
    return tuple(sorted(found, key=lambda one: -one.ps))
