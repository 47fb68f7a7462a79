"""What a trace says about itself: the framework, when it was recorded, and what the profiler lost."""

from __future__ import annotations

from datetime import datetime, timezone

import msgspec

from tfadvisor.timeline.devices.unrecorded import Unrecorded
from tfadvisor.timeline.host.threads import Threads
from tfadvisor.timeline.names import stats
from tfadvisor.timeline.names.classes import HostClass
from tfadvisor.timeline.names.frameworks import VERSION_STATS, framework_of, lost_events
from tfadvisor.xplane.columns import HostTrace, session_start_ns


class Capture(msgspec.Struct, frozen=True):
    """framework: tensorflow, jax, pytorch-xla or unknown. captured_at: ISO time in UTC, "" when the trace has none.

    dropped: events that the profiler says it lost. python_tracer: whether Python frames were recorded.
    """

    framework: str
    framework_version: str
    captured_at: str
    errors: tuple[str, ...]
    warnings: tuple[str, ...]
    dropped: int
    python_tracer: bool
    empty_accelerators: int
    unrecorded: Unrecorded = Unrecorded()
    """What accelerators did and the trace lacks."""
    work_ps: tuple[int, int] = (0, 0)
    """What starting and stopping the profiler took before the first and after the last step, ps."""


def capture_of(
    trace: HostTrace, threads: Threads, empty_accelerators: int, unrecorded: Unrecorded, work_ps: tuple[int, int]
) -> Capture:
    """Reads planes, names and warnings; nothing here looks at times."""
    framework, version = _framework(trace)
    start = session_start_ns(trace.planes)
    return Capture(
        framework=framework,
        framework_version=version,
        captured_at=datetime.fromtimestamp(start / 1e9, timezone.utc).isoformat(timespec="seconds") if start else "",
        errors=trace.errors,
        warnings=trace.warnings,
        dropped=sum(lost_events(text) for text in (*trace.warnings, *trace.errors)),
        python_tracer=len(threads.everywhere(HostClass.FRAME)) > 0,
        empty_accelerators=empty_accelerators,
        unrecorded=unrecorded,
        work_ps=work_ps,
    )


def _framework(trace: HostTrace) -> tuple[str, str]:
    for framework, stat in VERSION_STATS.items():
        for plane in trace.planes:
            if stat in plane.stats:
                return framework, str(plane.stats[stat])
    return framework_of(trace.names.name, trace.stat(stats.HLO_MODULE).texts), ""
