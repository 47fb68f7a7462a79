"""The kinds of devices that are known, the questions put to all of them, and whether
device work was left unrecorded.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np

from tfadvisor.arrays import distinct
from tfadvisor.timeline.devices.cpu import Cpu
from tfadvisor.timeline.devices.gpu import Gpu
from tfadvisor.timeline.devices.protocol import (
    UNKNOWN,
    DevicePlatform,
    Peaks,
    Properties,
    RecordedHost,
)
from tfadvisor.timeline.devices.tpu import Tpu
from tfadvisor.timeline.host.threads import Threads
from tfadvisor.timeline.names import stats
from tfadvisor.timeline.names.classes import HostClass, is_about_gpus
from tfadvisor.timeline.names.device_events import (
    allocator_in_words,
    is_device_allocator,
)
from tfadvisor.timeline.names.host_events import (
    is_accelerator_thread,
    is_kernel_launch,
    is_named_run,
)
from tfadvisor.timeline.sweeps import places
from tfadvisor.timeline.timeline_parts import Device
from tfadvisor.trace.columns import HostTrace, with_possible_times
from tfadvisor.units import percent
from tfadvisor.vocabulary import DeviceKind

_PLATFORMS: list[DevicePlatform] = [Gpu(), Tpu(), Cpu()]
"""In the order in which a report lists their devices."""


def find_devices(recorded: RecordedHost) -> tuple[Device, ...]:
    """The host's devices, kind by kind; those whose work is on the host's threads only
    where no other one works.

    An accelerator whose work was not recorded works all the same: what the host
    computes beside it is not the step.
    """
    devices = _of_platforms(recorded, on_host_threads=False)
    works = any(device.is_active for device in devices)
    if works or proof_of_work(recorded.trace, recorded.threads):
        return devices
    cores = _of_platforms(recorded, on_host_threads=True)
    cores_work = any(device.is_active for device in cores)
    if not cores_work and proof_by_copies(recorded.threads, devices):
        return devices
    return (*devices, *cores)


def _of_platforms(
    recorded: RecordedHost, *, on_host_threads: bool
) -> tuple[Device, ...]:
    found: list[Device] = []
    for platform in _PLATFORMS:
        if platform.on_host_threads == on_host_threads:
            found.extend(platform.devices(recorded))
    return tuple(found)


def on_own_clocks(trace: HostTrace) -> HostTrace:
    """The trace with each device's events on the clock that measured them best; the
    same trace where that is the host's.

    No time is so far from zero that sums of times overflow int64, and no duration is
    negative.
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
    return next(
        (
            platform.peaks(properties)
            for platform in _PLATFORMS
            if platform.kind is kind
        ),
        UNKNOWN,
    )


# Work of accelerators that the trace lacks: the host shows that it was launched, no
# plane that it ran.

_DENSE = 64
"""So many ids for each launch at most are worth a flag each."""
_MOST_OF_IT = 0.5
"""A host that waits for less may do the work itself."""
_FEW = 8
"""Fewer launches or runs than this may all have come too late to be executed before the
trace ended.
"""


class UnrecordedWork(msgspec.Struct, frozen=True):
    """What the devices did and the trace lacks."""

    proof: str = ""
    """What on the host shows that an accelerator worked although no plane holds an
    event of its; "" when nothing does.
    """
    launches: int = 0
    """Kernel launches on the host, with an id by which an event on a device would be
    found.
    """
    launches_lost: int = 0
    """Those of them without any event on a device."""
    runs: int = 0
    """Runs of XLA programs that the host launched on accelerators."""
    runs_lost: int = 0
    """Those of them that no device shows, program by program."""


def unrecorded_work(
    trace: HostTrace,
    threads: Threads,
    devices: Sequence[Device],
) -> UnrecordedWork:
    """Compares launches with executions. devices: all that were found."""
    cores = [device for device in devices if device.kind is DeviceKind.CPU]
    devices = [device for device in devices if device.kind is not DeviceKind.CPU]
    works = any(device.is_active for device in devices)
    launches, lost = _launches(trace, threads) if works else (0, 0)
    runs, runs_lost = _runs(trace, threads, devices) if works else (0, 0)
    return UnrecordedWork(
        "" if works else _proof(trace, threads, cores, devices),
        launches,
        lost,
        runs,
        runs_lost,
    )


def _proof(
    trace: HostTrace,
    threads: Threads,
    cores: Sequence[Device],
    devices: Sequence[Device],
) -> str:
    """cores: the host's own, which may have done the work. devices: accelerators."""
    if known := proof_of_work(trace, threads):
        return known
    if not cores and (known := proof_by_copies(threads, devices)):
        return known
    failed = any(map(is_about_gpus, trace.errors))
    if failed and devices and not any(core.is_active for core in cores):
        return f"the profiler found {devices[0].name}"
    return ""


def proof_by_copies(threads: Threads, devices: Sequence[Device]) -> str:
    """What shows that an accelerator worked of which the trace has copies and nothing
    else, as a clause: the host waits for most of the time. "" when it does not.
    """
    copying = [device.name for device in devices if len(device.transfer)]
    if not copying or not len(threads.start):
        return ""
    waits = threads.everywhere(HostClass.WAIT)
    waited = threads.when(waits).length()
    span = int(threads.end.max() - threads.start.min())
    if waited < _MOST_OF_IT * span:
        return ""
    return (
        f"{copying[0]} got data and the host waited for it for "
        f"{percent(waited / span)} "
        "of the time"
    )


def proof_of_work(trace: HostTrace, threads: Threads) -> str:
    """What on the host shows that an accelerator worked, as a clause; "" when nothing
    does.
    """
    for name in trace.stat(stats.ALLOCATOR_NAME).texts:
        if is_device_allocator(name):
            return f"the allocator {allocator_in_words(name)} gave out memory"
    for thread in threads.threads:
        if is_accelerator_thread(thread.name):
            return f"the thread {thread.name.split('/')[0]} ran"
    calls = threads.named(is_kernel_launch)
    if len(calls):
        return f"{threads.names[threads.row[calls[0]]]} was called {len(calls):,} times"
    return ""


def _launches(trace: HostTrace, threads: Threads) -> tuple[int, int]:
    """(launches of single kernels, those that no event on a device answers)."""
    position, number = threads.integers_as_stored(trace.stat(stats.CORRELATION_ID))
    launched = number[threads.bear(position, is_kernel_launch) & (number > 0)]
    del position, number
    if len(launched) < _FEW:
        return 0, 0
    answered = threads.integers_elsewhere(trace.stat(stats.CORRELATION_ID))
    most = int(launched.max())
    if most <= _DENSE * len(
        launched
    ):  # ids are counted up: a flag for each is smaller and faster than a sort
        calls, shown = (np.zeros(most + 1, np.bool_) for _ in range(2))
        calls[launched] = True
        shown[answered[(answered > 0) & (answered <= most)]] = True
        count = int(np.count_nonzero(calls))
        lost = int(np.count_nonzero(calls & ~shown))
    else:
        launched = distinct(launched)
        count = len(launched)
        lost = int(np.count_nonzero(places(distinct(answered), launched) < 0))
    return (count, lost) if count >= _FEW else (0, 0)


def _runs(
    trace: HostTrace,
    threads: Threads,
    devices: Sequence[Device],
) -> tuple[int, int]:
    """(runs of XLA programs that the host launched, those that no device shows).

    A run is shown where any device event was launched in it. Where several threads
    launch, each does so for a device of its own: of more threads than devices at work,
    the others' runs are lost. The compiler tries its candidates on any thread.
    """
    position = threads.positions(trace.stat(stats.MODULE_NAME).event)
    runs = position[position >= 0]
    if not len(runs):
        runs = threads.named(is_named_run)
    compiling = threads.everywhere(HostClass.COMPILE)
    if len(runs) and len(compiling):
        runs = runs[~threads.when(compiling).contains(threads.start[runs])]
    if len(runs) < _FEW:
        return 0, 0
    launched = np.sort(np.concatenate([device.ops.launch_start for device in devices]))
    first = np.searchsorted(launched, threads.start[runs])
    shown = first < np.searchsorted(launched, threads.end[runs])
    launching = len(distinct(threads.thread_of(runs)))
    working = sum(device.is_active for device in devices)
    if launching > 1:
        of_others = round(len(runs) * max(launching - working, 0) / launching)
    else:
        of_others = 0
    return len(runs), max(int((~shown).sum()), of_others)
