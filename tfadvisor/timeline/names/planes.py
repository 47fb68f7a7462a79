"""Names of planes and of their lines: whose work a plane holds, and which lines only repeat other lines' time."""

from __future__ import annotations

import re

from tfadvisor.timeline.names.drivers import host_planes

DEVICE_PLANES = "/device:"
"""What the name of every device's plane begins with."""
_HOST_PLANES = ("/host:CPU", "/host:python-tracer", "/host:TPU-runtime")
"""Planes whose lines are threads; drivers have further ones."""
_TPU_PLANES = "/device:TPU"
"""Of TPUs and their sparse cores."""

STEPS_LINE = "Steps"
"""Steps as a TPU's profiler marks them, or as an old version of the profiler's viewer saved them."""
_TPU_LINES = ("XLA Ops", "Async XLA Ops")
"""Of a TPU's lines those that hold its ops; the others sum them up."""
_TPU_REGIONS = "XLA TraceMe"
"""Of a TPU's lines that of regions inside of ops and between them, `barrier-cores` among them."""
_TPU_BARRIER = "barrier-cores"
_TPU_PROGRAMS = "XLA Modules"
"""Of a TPU's lines that of whole programs."""
_VIEWERS_LINE_IDS = (-559038737, -559038700)
"""Of the lines that the profiler's viewer draws and old versions saved."""
_DERIVED_GPU_LINE = re.compile(
    r"^(?:Steps|Launch Stats|(?:Framework|TensorFlow) (?:Name Scope|Ops)|XLA Modules|XLA Ops|XLA TraceMe|Source code|Source)"
    r"(?: - from #\d+)?$"
)
"""What the viewer calls them."""
_COUNTERS = "_counters_"
"""Of a device's lines that of samples of counters: clock, power, temperature."""
_COLLECTOR_OVERHEAD = "overhead"
"""In the name of a line of the time that the collector itself took."""


def is_host_plane(name: str) -> bool:
    """Whether a plane's lines are threads of the host."""
    return name.startswith((*_HOST_PLANES, *host_planes()))


def device_number(name: str, label: str) -> int | None:
    """`/device:GPU:3` -> 3 for the label `GPU`; None for any other plane."""
    number = name.removeprefix(f"{DEVICE_PLANES}{label}:")
    return int(number) if number != name and re.fullmatch(r"\d+", number) else None


def is_tpu_plane(name: str) -> bool:
    """Whether a plane belongs to a TPU, parts of it such as its sparse cores included."""
    return name.startswith(_TPU_PLANES)


def holds_tpu_work(line: str) -> bool:
    """Whether a TPU's line holds what it ran, op by op."""
    return line in _TPU_LINES


def holds_tpu_regions(line: str) -> bool:
    """Whether a TPU's line holds regions, most of which lie inside of ops."""
    return line == _TPU_REGIONS


def is_tpu_barrier(name: str) -> bool:
    """Whether a TPU waits for other cores in an event of this name, outside of every op."""
    return name.removeprefix("%").startswith(_TPU_BARRIER)


def holds_tpu_programs(line: str) -> bool:
    """Whether a TPU's line holds executions of whole programs."""
    return line == _TPU_PROGRAMS


def drawn_by_viewer(line_id: int) -> bool:
    """Whether the profiler's viewer drew a line and an old version saved it: their ids begin at 0xdeadbeef."""
    signed = line_id - (1 << 32) if line_id >= 1 << 31 else line_id
    return _VIEWERS_LINE_IDS[0] <= signed <= _VIEWERS_LINE_IDS[1]


def is_derived(name: str, line_id: int) -> bool:
    """Whether a GPU's line holds no work of its own: drawn by the viewer, overhead of the collector, or counters."""
    return (
        name == _COUNTERS
        or drawn_by_viewer(line_id)
        or bool(_DERIVED_GPU_LINE.match(name))
        or _COLLECTOR_OVERHEAD in name.lower()
    )
