"""Every instant of every step to exactly one class, per device (the order of classes is TimeClass's)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from tfadvisor.timeline.intervals import EMPTY, Intervals, difference, union, union_of
from tfadvisor.timeline.model import Device, Steps
from tfadvisor.vocabulary import TimeClass

if TYPE_CHECKING:
    import numpy.typing as npt

_SHORT_PS = 100_000_000


class StepTime(msgspec.Struct, frozen=True):
    """Where the time of every step goes on every device; one row as for a device that never runs where there is none."""

    breakdown: npt.NDArray[np.int64]
    """ps, shape (devices, steps, TimeClass); the classes of a step add up to its period."""
    short_launch_ps: npt.NDArray[np.int64]
    """Time of the class LAUNCH in pieces shorter than 100 µs, shape (devices, steps)."""
    first: Mapping[TimeClass, Intervals]
    """The instants of each class on the first device; they do not overlap. What is left is idle."""


def break_down(devices: Sequence[Device], host: Mapping[TimeClass, Intervals], steps: Steps) -> StepTime:
    """host: of host_classes_of_time. Without any device the host's own classes are all there is."""
    rows, short = [], []
    first: Mapping[TimeClass, Intervals] = {}
    every: Sequence[Device | None] = devices or [None]
    for device in every:
        classes = classes_of_time(device, host)
        rows.append(_lengths(classes, steps))
        short.append(_short(classes[TimeClass.LAUNCH]).within(steps.starts, steps.ends))
        first = first or classes
    return StepTime(np.stack(rows), np.stack(short), first)


def unknown_time(steps: Steps) -> npt.NDArray[np.int64]:
    """The same where the devices' work was not recorded: one row in which all time is idle, the class of what is not known."""
    out = np.zeros((1, len(steps), len(TimeClass)), np.int64)
    out[0, :, TimeClass.IDLE] = steps.ends - steps.starts
    return out


def taking_part(breakdown: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
    """(devices, steps): whether a device did anything in a step, or nobody did."""
    busy = breakdown[:, :, [TimeClass.COMPUTE, TimeClass.COLLECTIVE, TimeClass.TRANSFER]].sum(axis=2) > 0
    return np.asarray(busy | ~busy.any(axis=0), np.bool_)


def classes_of_time(device: Device | None, host: Mapping[TimeClass, Intervals]) -> dict[TimeClass, Intervals]:
    """The instants of each class on one device, or of the host alone; they do not overlap. What is left is idle.

    host: of host_classes_of_time.
    """
    collective = transfer = busy = queued = infeed = EMPTY
    if device is not None:
        collective = difference(device.collective, device.compute)
        working = union_of(device.compute, device.collective)
        transfer, busy = difference(device.transfer, working), union_of(working, device.transfer)
        queued, infeed = _launched_not_started(device), difference(device.infeed, busy)
    queued = difference(queued, union_of(host[TimeClass.COMPILE], host[TimeClass.INPUT], infeed))
    return {
        TimeClass.COMPUTE: EMPTY if device is None else device.compute,
        TimeClass.COLLECTIVE: collective,
        TimeClass.TRANSFER: transfer,
        TimeClass.COMPILE: difference(difference(host[TimeClass.COMPILE], infeed), busy),
        TimeClass.INPUT: difference(union_of(host[TimeClass.INPUT], infeed), busy),
        TimeClass.LAUNCH: difference(difference(union_of(host[TimeClass.LAUNCH], queued), infeed), busy),
        TimeClass.HOST: difference(difference(host[TimeClass.HOST], union_of(queued, infeed)), busy),
    }


def _lengths(classes: Mapping[TimeClass, Intervals], steps: Steps) -> npt.NDArray[np.int64]:
    lo, hi = steps.starts, steps.ends
    out = np.zeros((len(steps), len(TimeClass)), np.int64)
    for index, instants in classes.items():
        out[:, index] = instants.within(lo, hi)
    out[:, TimeClass.IDLE] = (hi - lo) - out.sum(axis=1)
    return out


def _short(launch: Intervals) -> Intervals:
    short = launch.ends - launch.starts < _SHORT_PS
    return Intervals(launch.starts[short], launch.ends[short])


def _launched_not_started(device: Device) -> Intervals:
    """When work has been launched for a device and has not begun: an idle device then waits for its own launch."""
    ops = device.ops
    linked = (ops.launch_end >= 0) & (ops.start > ops.launch_end)
    return union(ops.launch_end[linked], ops.start[linked])
