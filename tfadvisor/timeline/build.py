"""From one host's columns to its timeline."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tfadvisor.timeline.accelerators import accelerators
from tfadvisor.timeline.breakdown import break_down, taking_part
from tfadvisor.timeline.cpu_devices import cpu_devices, pipeline_work
from tfadvisor.timeline.driver import host_activity
from tfadvisor.timeline.model import HostTimeline
from tfadvisor.timeline.steps import find_steps, placed_on_device, sorted_out
from tfadvisor.timeline.threads import host_threads
from tfadvisor.xplane.columns import HostTrace, NameFilter, Selection
from tfadvisor.xplane.runs import host_of

_NOT_THREAD_POOLS = NameFilter(("ThreadpoolListener::",), invert=True)
_EXECUTOR = NameFilter(("ExecutorState::Process", "InstantiatedCapturedFunction::"))

SELECTION = Selection(
    {
        "step_num": None,
        "id": _EXECUTOR,
        "iter_num": _EXECUTOR,
        "tf_function_call": None,
        "correlation_id": None,
        "device_id": None,
        "device_ordinal": None,
        "run_id": None,
        "hlo_op": None,
        "hlo_module": None,
        "memcpy_details": None,
        "_p": _NOT_THREAD_POOLS,
        "_c": _NOT_THREAD_POOLS,
    }
)
"""The stats that a timeline is built from."""


def build_host(trace: HostTrace) -> HostTimeline:
    """One host's devices, steps and breakdown."""
    host = trace.hostnames[0] if trace.hostnames else host_of(Path(trace.path))
    threads = host_threads(trace)
    devices = accelerators(trace, threads, host)
    pipeline = pipeline_work(trace, threads)
    if not any(device.is_active for device in devices):
        devices = (*devices, *cpu_devices(trace, threads, host, pipeline))
    steps = placed_on_device(find_steps(trace, threads, devices), devices)
    activity = host_activity(trace, threads, steps, pipeline)
    active = [device for device in devices if device.is_active]
    breakdown = break_down(active, activity, steps)
    steps = sorted_out(steps, breakdown)
    start = int(trace.events.start_ps.min()) if len(trace.events) else 0
    end = int((trace.events.start_ps + np.maximum(trace.events.duration_ps, 0)).max()) if len(trace.events) else 0
    return HostTimeline(host, trace.path, (start, end), devices, steps, activity, breakdown, taking_part(breakdown))
