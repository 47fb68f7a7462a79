"""What a trace says about itself: the framework, when it was recorded, and what the profiler lost."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime, timezone

import msgspec

from tfadvisor.timeline.devices.unrecorded import Unrecorded
from tfadvisor.timeline.host.threads import Threads
from tfadvisor.timeline.names.classes import HostClass
from tfadvisor.xplane.columns import HostTrace, session_start_ns

_DROPPED = re.compile(r"(\d[\d,]*)\s+(?:\w+\s+)?events? dropped|dropped\D{0,40}?(\d[\d,]*)", re.IGNORECASE)
_TENSORFLOW = re.compile(r"^(?:TFE_|EagerExecute|EagerKernelExecute|ExecutorState::|FunctionRun|IteratorGetNext|tf\.)")
_JAX = re.compile(r"^(?:PjitFunction|\$(?:pjit|dispatch|pxla|xla_bridge)\.py)|^(?:jit_|jit\()")
_TORCH = re.compile(r"^(?:XLAGraphExecutor|torch_xla|LazyGraphExecutor|\$.*torch_xla)")


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
        dropped=sum(_dropped(text) for text in (*trace.warnings, *trace.errors)),
        python_tracer=len(threads.everywhere(HostClass.FRAME)) > 0,
        empty_accelerators=empty_accelerators,
        unrecorded=unrecorded,
        work_ps=work_ps,
    )


def _framework(trace: HostTrace) -> tuple[str, str]:
    for plane in trace.planes:
        if "jax_version" in plane.stats:
            return "jax", str(plane.stats["jax_version"])
    for framework, pattern in (("pytorch-xla", _TORCH), ("tensorflow", _TENSORFLOW), ("jax", _JAX)):
        if _any(pattern, trace.names.name):
            return framework, ""
    if _any(_JAX, trace.stat("hlo_module").texts):
        return "jax", ""
    return "unknown", ""


def _any(pattern: re.Pattern[str], names: Sequence[str]) -> bool:
    return any(pattern.search(name) for name in names)


def _dropped(warning: str) -> int:
    match = _DROPPED.search(warning)
    return int((match.group(1) or match.group(2)).replace(",", "")) if match else 0
