"""The kinds of devices that are known, and the questions that are put to all of them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from tfadvisor.timeline.devices.cpu import Cpu
from tfadvisor.timeline.devices.gpu import Gpu
from tfadvisor.timeline.devices.peaks import UNKNOWN, Peaks
from tfadvisor.timeline.devices.protocol import DevicePlatform, Properties, Recorded
from tfadvisor.timeline.devices.tpu import Tpu
from tfadvisor.timeline.devices.unrecorded import proof_of_work
from tfadvisor.timeline.model import Device
from tfadvisor.vocabulary import DeviceKind
from tfadvisor.xplane.bounds import with_possible_times
from tfadvisor.xplane.columns import HostTrace

_PLATFORMS: list[DevicePlatform] = [Gpu(), Tpu(), Cpu()]
"""In the order in which a report lists their devices."""


@contextmanager
def registered(platform: DevicePlatform) -> Iterator[None]:
    """Knows one more kind of device inside a `with`; its devices are listed last."""
    _PLATFORMS.append(platform)
    try:
        yield
    finally:
        _PLATFORMS.remove(platform)


def find_devices(recorded: Recorded) -> tuple[Device, ...]:
    """The host's devices, kind by kind; those whose work is on the host's threads only where no other one works.

    An accelerator whose work was not recorded works all the same: what the host computes beside it is not the step.
    """
    with_planes = [one for one in _PLATFORMS if not one.on_host_threads]
    devices = tuple(device for one in with_planes for device in one.devices(recorded))
    if any(device.is_active for device in devices) or proof_of_work(recorded.trace, recorded.threads):
        return devices
    on_host = [one for one in _PLATFORMS if one.on_host_threads]
    return (*devices, *(device for one in on_host for device in one.devices(recorded)))


def on_own_clocks(trace: HostTrace) -> HostTrace:
    """The trace with each device's events on the clock that measured them best; the same trace where that is the host's.

    No time is so far from zero that sums of times overflow int64, and no duration is negative.
    """
    trace = with_possible_times(trace)
    for platform in _PLATFORMS:
        moved = platform.on_own_clock(trace)
        trace = trace if moved is trace else with_possible_times(moved)
    return trace


def program_lines(trace: HostTrace) -> list[int]:
    """The lines, by index, whose events are executions of whole programs."""
    planes = [trace.planes[plane].name for plane in trace.lines.plane.tolist()]
    return [
        line
        for line, (plane, name) in enumerate(zip(planes, trace.lines.name, strict=True))
        if any(platform.holds_programs(plane, name) for platform in _PLATFORMS)
    ]


def peaks_of(kind: DeviceKind, properties: Properties) -> Peaks:
    """What a device could do at most; unknown for a kind that is not registered."""
    return next((platform.peaks(properties) for platform in _PLATFORMS if platform.kind is kind), UNKNOWN)
