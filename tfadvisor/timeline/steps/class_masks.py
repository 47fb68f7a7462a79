"""Every instant of every step to exactly one class, per device (the order of classes is
TimeClass's).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import msgspec
import numpy as np

from tfadvisor.arrays import BoolArray, Int64Array, blocks, zeros
from tfadvisor.timeline.intervals import EMPTY, Intervals, difference, union, union_of
from tfadvisor.timeline.timeline_parts import Device, Steps
from tfadvisor.vocabulary import DeviceKind, TimeClass

_SHORT_PS = 100_000_000
_FEW = 1 << 18
"""So many intervals of a class are kept, and the classes of a device with so many
events.
"""
_CLASSES = tuple(kind for kind in TimeClass if kind is not TimeClass.IDLE)


class ClassMasks(msgspec.Struct, frozen=True):
    """Where the time of every step goes on every device; one row as for a device that
    never runs where there is none.
    """

    breakdown: Int64Array
    """ps, shape (devices, steps, TimeClass); the classes of a step add up to its
    period.
    """
    short_launch_ps: Int64Array
    """Time of the class LAUNCH in pieces shorter than 100 µs, shape (devices, steps).
    """
    classes: tuple[Mapping[TimeClass, Intervals] | None, ...]
    """Of each device, as classes_of_time has them; None where that would be large to
    keep.
    """


def break_down(
    devices: Sequence[Device],
    host: Mapping[TimeClass, Intervals],
    steps: Steps,
) -> ClassMasks:
    """host: of host_classes_of_time. Without any device the host's own classes are all
    there is.
    """
    every: Sequence[Device | None] = devices or [None]
    rows: list[tuple[Int64Array, Int64Array]] = []
    kept: list[Mapping[TimeClass, Intervals] | None] = []
    for index, device in enumerate(every):
        classes = classes_of_time(device, host)
        rows.append(_lengths(classes, steps))
        kept.append(
            classes if not index or device is None or len(device.ops) <= _FEW else None
        )
    return ClassMasks(
        np.stack([lengths for lengths, _ in rows]),
        np.stack([short for _, short in rows]),
        tuple(kept),
    )


def unknown_time(steps: Steps) -> Int64Array:
    """The same where the devices' work was not recorded: one row in which all time is
    idle, the class of what is not known.
    """
    out = np.zeros((1, len(steps), len(TimeClass)), np.int64)
    out[0, :, TimeClass.IDLE] = steps.ends - steps.starts
    return out


def taking_part(breakdown: Int64Array) -> BoolArray:
    """(devices, steps): whether a device did anything in a step, or nobody did."""
    busy = (
        breakdown[
            :, :, [TimeClass.COMPUTE, TimeClass.COLLECTIVE, TimeClass.TRANSFER]
        ].sum(axis=2)
        > 0
    )
    return np.asarray(busy | ~busy.any(axis=0), np.bool_)


def classes_of_time(
    device: Device | None,
    host: Mapping[TimeClass, Intervals],
) -> Mapping[TimeClass, Intervals]:
    """The instants of each class on one device, or of the host alone; they do not
    overlap. What is left is idle.

    host: of host_classes_of_time. A set is worked out when it is asked for, and a large
    one each time anew.
    """
    return _Classes(device, host)


class _Classes(Mapping[TimeClass, Intervals]):
    """Together large sets would take more memory than all that is known of the
    device.
    """

    def __init__(
        self,
        device: Device | None,
        host: Mapping[TimeClass, Intervals],
    ) -> None:
        compute = collective = transfer = queued = held = EMPTY
        self._device = device
        self._host = host
        self._busy = EMPTY
        self._infeed = EMPTY
        if device is not None:
            compute = device.compute
            collective = difference(device.collective, device.compute)
            working = union_of(device.compute, device.collective)
            copying = union_of(device.transfer, _for_it(device, host))
            transfer = difference(copying, working)
            self._busy = union_of(working, copying)
            queued = _launched_not_started(device)
            held = device.held
            self._infeed = difference(device.infeed, self._busy)
        self._queued = difference(
            queued,
            union_of(host[TimeClass.COMPILE], host[TimeClass.INPUT], self._infeed),
        )
        self._not_hosts = union_of(self._busy, self._infeed, held)
        self._kept = {
            TimeClass.COMPUTE: compute,
            TimeClass.COLLECTIVE: collective,
            TimeClass.TRANSFER: transfer,
        }

    def __getitem__(self, kind: TimeClass) -> Intervals:
        if kind not in _CLASSES:
            raise KeyError(kind)
        found = self._kept.get(kind)
        if found is None:
            found = self._worked_out(kind)
            if len(found) <= _FEW:
                self._kept[kind] = found
        return found

    def __iter__(self) -> Iterator[TimeClass]:
        return iter(_CLASSES)

    def __len__(self) -> int:
        return len(_CLASSES)

    def _worked_out(self, kind: TimeClass) -> Intervals:
        if self._device is None:
            mine = self._host[kind]
        else:
            mine = difference(self._host[kind], self._device.programs)
        if kind is TimeClass.INPUT:
            return difference(union_of(mine, self._infeed), self._busy)
        if kind is TimeClass.LAUNCH:
            return difference(union_of(mine, self._queued), self._not_hosts)
        if kind is TimeClass.HOST:
            return difference(difference(mine, self._queued), self._not_hosts)
        return difference(difference(mine, self._infeed), self._busy)


def _for_it(device: Device, host: Mapping[TimeClass, Intervals]) -> Intervals:
    """When the host does its part of copies while an accelerator runs no program."""
    if device.kind is DeviceKind.CPU:
        return EMPTY
    return difference(host[TimeClass.TRANSFER], device.programs)


def _lengths(
    classes: Mapping[TimeClass, Intervals],
    steps: Steps,
) -> tuple[Int64Array, Int64Array]:
    """(ps of each class, shape (steps, TimeClass), ps of LAUNCH in short pieces, shape
    (steps,)).
    """
    out = np.zeros((len(steps), len(TimeClass)), np.int64)
    short = zeros(steps)
    for kind in classes:
        instants = classes[kind]
        out[:, kind] = instants.within(steps.starts, steps.ends)
        if kind is TimeClass.LAUNCH:
            short = _in_short_pieces(instants, steps)
        del instants  # the next one may be as large
    out[:, TimeClass.IDLE] = (steps.ends - steps.starts) - out.sum(axis=1)
    return out, short


def _in_short_pieces(launch: Intervals, steps: Steps) -> Int64Array:
    """ps of each step."""
    total = zeros(steps)
    for part in blocks(len(launch)):
        starts = launch.starts[part]
        ends = launch.ends[part]
        short = ends - starts < _SHORT_PS
        total += Intervals(starts[short], ends[short]).within(steps.starts, steps.ends)
    return total


def _launched_not_started(device: Device) -> Intervals:
    """When work has been launched for a device and has not begun: an idle device then
    waits for its own launch, unless its program is in Python that it calls.
    """
    start, launched = device.ops.start, device.ops.launch_end
    linked = (launched >= 0) & (start > launched)
    return difference(union(launched[linked], start[linked]), device.python)
