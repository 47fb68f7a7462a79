"""What a trace says about itself: the framework, when it was recorded, and what the profiler lost."""

from __future__ import annotations

from datetime import datetime, timezone

import msgspec
import numpy as np

from tfadvisor.arrays import blocks, true_at
from tfadvisor.timeline.devices.unrecorded import Unrecorded
from tfadvisor.timeline.host.threads import Threads
from tfadvisor.timeline.names import stats
from tfadvisor.timeline.names.classes import HostClass
from tfadvisor.timeline.names.frameworks import (
    VERSION_STATS,
    framework_of,
    is_between_slices,
    lost_events,
    says_graphs_are_off,
)
from tfadvisor.timeline.names.host import called_function, calls_function
from tfadvisor.timeline.names.programs import jitted_function, workload_of
from tfadvisor.timeline.recorded_events import RecordedEvents
from tfadvisor.xplane.columns import HostTrace, session_start_ns


class Capture(msgspec.Struct, frozen=True):
    """What one host's trace says about itself."""

    framework: str
    """tensorflow, jax, pytorch-xla or unknown."""
    framework_version: str
    """As the trace has it, "" where it does not say."""
    captured_at: str
    """When the recording began, ISO time in UTC, "" when the trace has none."""
    session_start_ns: int
    """The same in ns since 1970, 0 when the trace has none."""
    window: tuple[int, int]
    """Start of the first event and end of the last, ps."""
    errors: tuple[str, ...]
    """What the profiler calls errors."""
    warnings: tuple[str, ...]
    """What the profiler calls warnings."""
    dropped: int
    """Events that the profiler says it lost."""
    python_tracer: bool
    """Whether Python frames were recorded."""
    empty_accelerators: int
    """Accelerators in the trace without a single event."""
    unrecorded: Unrecorded = Unrecorded()
    """What accelerators did and the trace lacks."""
    work_ps: tuple[int, int] = (0, 0)
    """What starting and stopping the profiler took before the first and after the last step, ps."""
    events: RecordedEvents = RecordedEvents()
    """What was recorded of the driving thread in the counted steps."""
    graphs_off: bool = False
    """Whether XLA ran CUDA graphs kernel by kernel because it was profiled."""
    workload: str = "unknown"
    """By the names of the compiled functions that Python calls: inference or unknown."""
    between_slices: bool = False
    """Whether the host sent for its TPUs over the network between slices."""


def capture_of(
    trace: HostTrace,
    threads: Threads,
    window: tuple[int, int],
    empty_accelerators: int,
    unrecorded: Unrecorded,
    work_ps: tuple[int, int],
    events: RecordedEvents,
) -> Capture:
    """From planes, names and warnings; the trace's events are not asked."""
    framework, version = _framework(trace)
    start = session_start_ns(trace.planes)
    return Capture(
        framework=framework,
        framework_version=version,
        captured_at=datetime.fromtimestamp(start / 1e9, timezone.utc).isoformat(timespec="seconds") if start else "",
        session_start_ns=start,
        window=window,
        errors=trace.errors,
        warnings=trace.warnings,
        dropped=sum(lost_events(text) for text in (*trace.warnings, *trace.errors)),
        python_tracer=len(threads.everywhere(HostClass.FRAME)) > 0,
        empty_accelerators=empty_accelerators,
        unrecorded=unrecorded,
        work_ps=work_ps,
        events=events,
        workload=workload_of(_called(threads)),
        between_slices=len(threads.named(is_between_slices)) > 0,
        graphs_off=len(threads.named(says_graphs_are_off)) > 0,
    )


def _called(threads: Threads) -> set[str]:
    """The compiled functions that Python calls, by name."""
    names = [threads.names[row] for row in true_at(threads.borne).tolist()]
    jitted = {function for name in names if (function := jitted_function(name))}
    return jitted | {called_function(name) for name in names if calls_function(name)}


def window_of(trace: HostTrace) -> tuple[int, int]:
    """First start and last end of all events, ps."""
    if not len(trace.events):
        return 0, 0
    start, duration = trace.events.start_ps, trace.events.duration_ps
    last = max(int((start[part] + np.maximum(duration[part], 0)).max()) for part in blocks(len(start)))
    return int(start.min()), last


def _framework(trace: HostTrace) -> tuple[str, str]:
    for framework, stat in VERSION_STATS.items():
        for plane in trace.planes:
            if stat in plane.stats:
                return framework, str(plane.stats[stat])
    return framework_of(trace.names.name, trace.stat(stats.HLO_MODULE).texts), ""
