"""Work of accelerators that the trace lacks: the host shows that it was launched, no plane that it ran.

CUPTI records nothing where it is not on the library path, where another profiler holds it, or where the driver lets only
administrators count; and it may lose part of what it has. What such a trace says of the devices' time is not true.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np

from tfadvisor.arrays import distinct
from tfadvisor.timeline.host.threads import Threads
from tfadvisor.timeline.model import Device
from tfadvisor.timeline.names import stats
from tfadvisor.timeline.names.copies_and_memory import is_device_allocator
from tfadvisor.timeline.names.host import is_accelerator_thread, is_kernel_launch
from tfadvisor.timeline.sweeps import places
from tfadvisor.xplane.columns import HostTrace

_DENSE = 64
"""So many ids for each launch at most are worth a flag each."""
_FEW = 8
"""Fewer launches or runs than this may all have come too late to be executed before the trace ended."""


class Unrecorded(msgspec.Struct, frozen=True):
    """What the devices did and the trace lacks."""

    proof: str = ""
    """What on the host shows that an accelerator worked although no plane holds an event of its; "" when nothing does."""
    launches: int = 0
    """Kernel launches on the host, with an id by which an event on a device would be found."""
    launches_lost: int = 0
    """Those of them without any event on a device."""
    runs: int = 0
    """Runs of XLA programs that the host launched on accelerators."""
    runs_lost: int = 0
    """Those of them that no device shows, program by program."""


def unrecorded_work(trace: HostTrace, threads: Threads, devices: Sequence[Device]) -> Unrecorded:
    """Compares launches with executions. devices: of all kinds but the host's own."""
    works = any(device.is_active for device in devices)
    launches, lost = _launches(trace, threads) if works else (0, 0)
    runs, runs_lost = _runs(trace, threads, devices) if works else (0, 0)
    return Unrecorded("" if works else proof_of_work(trace, threads), launches, lost, runs, runs_lost)


def proof_of_work(trace: HostTrace, threads: Threads) -> str:
    """What on the host shows that an accelerator worked, as a clause; "" when nothing does."""
    for name in trace.stat(stats.ALLOCATOR_NAME).texts:
        if is_device_allocator(name):
            return f"the allocator {name} gave out memory"
    for thread in threads.threads:
        if is_accelerator_thread(thread.name):
            return f"the thread {thread.name.split('/')[0]} ran"
    calls = threads.named(is_kernel_launch)
    return f"{threads.names[threads.row[calls[0]]]} was called {len(calls):,} times" if len(calls) else ""


def _launches(trace: HostTrace, threads: Threads) -> tuple[int, int]:
    """(launches of single kernels, those that no event on a device answers)."""
    position, number = threads.integers_as_stored(trace.stat(stats.CORRELATION_ID))
    launched = number[threads.bear(position, is_kernel_launch) & (number > 0)]
    del position, number
    if len(launched) < _FEW:
        return 0, 0
    answered, most = threads.integers_elsewhere(trace.stat(stats.CORRELATION_ID)), int(launched.max())
    if most <= _DENSE * len(launched):  # ids are counted up: a flag for each is smaller and faster than a sort
        calls, shown = (np.zeros(most + 1, np.bool_) for _ in range(2))
        calls[launched] = True
        shown[answered[(answered > 0) & (answered <= most)]] = True
        count, lost = int(np.count_nonzero(calls)), int(np.count_nonzero(calls & ~shown))
    else:
        launched = distinct(launched)
        count, lost = len(launched), int(np.count_nonzero(places(distinct(answered), launched) < 0))
    return (count, lost) if count >= _FEW else (0, 0)


def _runs(trace: HostTrace, threads: Threads, devices: Sequence[Device]) -> tuple[int, int]:
    """(runs of XLA programs that the host launched, those that no device shows).

    A run is shown where any device event was launched in it. Where several threads launch, each does so for a device of
    its own: of more threads than devices at work, the others' runs are lost.
    """
    position = threads.positions(trace.stat(stats.MODULE_NAME).event)
    runs = position[position >= 0]
    if len(runs) < _FEW:
        return 0, 0
    launched = np.sort(np.concatenate([device.ops.launch_start for device in devices]))
    first = np.searchsorted(launched, threads.start[runs])
    shown = first < np.searchsorted(launched, threads.end[runs])
    launching = len(distinct(threads.thread_of(runs)))
    working = sum(device.is_active for device in devices)
    of_others = round(len(runs) * max(launching - working, 0) / launching) if launching > 1 else 0
    return len(runs), max(int((~shown).sum()), of_others)
