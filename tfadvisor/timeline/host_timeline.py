"""One host's timeline: its step time by class, what explains it, and every event, until
it is summarised for metrics.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from tfadvisor.arrays import BoolArray, Int64Array, blocks, distinct, true_at
from tfadvisor.program import Modules
from tfadvisor.timeline.attribution.inside import Inside
from tfadvisor.timeline.attribution.spent import Spent
from tfadvisor.timeline.devices.device_kinds import UnrecordedWork
from tfadvisor.timeline.devices.protocol import number
from tfadvisor.timeline.host.allocators import DeviceMemory
from tfadvisor.timeline.host.compiles import Compiled, Libraries
from tfadvisor.timeline.host.dispatch_lines import Dispatched
from tfadvisor.timeline.host.dispatches import HostOps, called_functions
from tfadvisor.timeline.host.function_calls import FunctionCalls
from tfadvisor.timeline.host.host_costs import HostCalls, HostCost
from tfadvisor.timeline.host.input_pipeline import InputPipeline
from tfadvisor.timeline.host.loop_frames import FrameShare
from tfadvisor.timeline.host.outside_steps import OutsideSteps
from tfadvisor.timeline.host.threads import Threads
from tfadvisor.timeline.host.xla_runs import XlaRuns
from tfadvisor.timeline.intervals import Intervals
from tfadvisor.timeline.names import stats
from tfadvisor.timeline.names.classes import (
    VERSION_STATS,
    HostClass,
    framework_of,
    is_between_slices,
    is_graphs_off,
    lost_events,
)
from tfadvisor.timeline.names.drivers import updates_graph
from tfadvisor.timeline.names.frames import is_frame
from tfadvisor.timeline.names.host_events import (
    names_of_windows,
    reads_variable,
    works_on_variables,
)
from tfadvisor.timeline.names.kernels import kernel_kind
from tfadvisor.timeline.names.program_calls import workload_of
from tfadvisor.timeline.timeline_parts import Device, Steps
from tfadvisor.timeline.windows import in_counted_steps
from tfadvisor.trace.columns import HostTrace, session_start_ns
from tfadvisor.units import PS_PER_MS
from tfadvisor.vocabulary import DeviceKind, TimeClass

if TYPE_CHECKING:
    from tfadvisor.timeline.picture.events import MemoryCurve
    from tfadvisor.timeline.picture.step_picture import StepPicture


class HostEvidence(msgspec.Struct, frozen=True):
    """What explains where a host's time goes, all about the counted steps. Its size
    does not grow with the events.
    """

    calls: HostCalls
    """Counts of calls that hold a step up."""
    frames: tuple[FrameShare, ...]
    """The calls that the training loop makes in Python, those that cost most first;
    empty without a Python tracer.
    """
    compiles: tuple[Compiled, ...]
    """What was compiled in a step."""
    pipeline: InputPipeline | None
    """The stages of the input pipeline, None without tf.data."""
    host_ops: HostOps
    """TensorFlow's ops that run on the host although the step has a device."""
    pipeline_ops: HostOps
    """The ops of the functions that tf.data maps over elements."""
    spent: tuple[Spent, ...]
    """What takes the counted steps, class by class, summed over the devices; empty
    where the devices' work is not recorded.
    """
    inside: tuple[Inside, ...]
    """What lies inside of the time of each activity of the host."""
    memory: tuple[DeviceMemory, ...]
    """What the allocators of the devices report, one each."""
    libraries: Libraries
    """Which libraries the program is written with, as far as names prove it."""
    dispatched: tuple[Dispatched, ...]
    """What each function of the program dispatches; empty without a Python tracer."""
    functions: tuple[FunctionCalls, ...]
    """The compiled functions of TensorFlow's that a step calls; empty for one alone."""
    xla: XlaRuns
    """What XLA's runtime does on the host while a program runs there."""
    outside: OutsideSteps | None
    """What lies in no step; None where all work of the devices lies in one."""
    pictures: tuple[StepPicture, ...]
    """The steps that a page draws; empty unless they were asked for."""
    memory_curves: tuple[MemoryCurve, ...] = ()
    """What each allocator has given out over time; empty unless pictures were asked
    for.
    """
    filters: Mapping[str, int] = {}
    """How many filters the convolution of each layer has, as far as allocators tell."""


class HostBreakdown(msgspec.Struct, frozen=True):
    """Where one host's step time goes and what explains it: what its timeline and its
    summary have in common.
    """

    host: str
    """Its name."""
    capture: Capture
    """What its trace says about itself."""
    steps: Steps
    """By ascending start, those that do not count included."""
    breakdown: Int64Array
    """ps, shape (active devices, steps, TimeClass); one row when there is no active
    device.
    """
    takes_part: BoolArray
    """Shape (active devices, steps): False where a device did nothing in a step that
    others worked in.
    """
    evidence: HostEvidence
    """What explains the breakdown."""

    @property
    def counted(self) -> BoolArray:
        """In which steps that count each device takes part; shape as takes_part."""
        return self.takes_part & self.steps.steady()[None, :]


class HostTimeline(HostBreakdown, frozen=True):
    """One host with every event at hand."""

    short_launch_ps: Int64Array
    """Time of the breakdown's class LAUNCH in pieces shorter than 100 µs, shape (active
    devices, steps).
    """
    devices: tuple[Device, ...]
    """Every device of the trace, the inactive ones too."""
    programs: Modules
    """The HLO that the trace carries."""
    classes: Mapping[TimeClass, Intervals]
    """The instants of COMPILE, INPUT, LAUNCH and HOST, whatever the devices do
    meanwhile; they do not overlap.
    """
    costs: Mapping[HostCost, Intervals]
    """The instants of every cost, in the whole trace."""

    def active_devices(self) -> tuple[Device, ...]:
        """The devices that the breakdown is about, in its order."""
        return tuple(device for device in self.devices if device.is_active)


# How much of what a host's thread did was recorded: each event cost that thread time
# while the profiler ran.


class RecordedEvents(msgspec.Struct, frozen=True):
    """Of the thread that drives the steps, in the counted ones."""

    frames: int = 0
    """Python frames."""
    others: int = 0
    """All other events."""
    frame_gap_ps: int = 0
    """A tenth of the times from one begin or end of a frame to the next is shorter: how
    fast this machine records. 0 where few frames were recorded.
    """
    updates_ps: int = 0
    """In updates of CUDA graphs."""


_FRAMES_THAT_TELL, _FRAMES_LOOKED_AT = 64, 4096
"""For a tenth that no chance decides, and at most so many, from the middle."""


def recorded_events(threads: Threads, steps: Steps) -> RecordedEvents:
    """Zeros where no thread is known to drive."""
    if steps.thread < 0:
        return RecordedEvents()
    thread = threads.threads[steps.thread]
    counted = in_counted_steps(threads.start[thread.lo : thread.hi], steps)
    mine = thread.lo + true_at(counted)
    row = threads.row[mine]
    frames = mine[threads.wanted_rows(is_frame)[row]]
    updates = mine[threads.bear(mine, updates_graph)]
    return RecordedEvents(
        frames=len(frames),
        others=len(mine) - len(frames),
        frame_gap_ps=_shortest_gap(threads, frames),
        updates_ps=int((threads.end[updates] - threads.start[updates]).sum()),
    )


def _shortest_gap(threads: Threads, frames: Int64Array) -> int:
    """As RecordedEvents.frame_gap_ps. frames: their positions."""
    if len(frames) < _FRAMES_THAT_TELL:
        return 0
    first = max(len(frames) - _FRAMES_LOOKED_AT, 0) // 2
    some = frames[first : first + _FRAMES_LOOKED_AT]
    edges = np.sort(np.concatenate([threads.start[some], threads.end[some]]))
    gaps = np.diff(edges)
    gaps = np.sort(gaps[gaps > 0])
    return int(gaps[len(gaps) // 10]) if len(gaps) else 0


# What a trace says about itself: the framework, when it was recorded, and what the
# profiler lost.


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
    silent: tuple[str, ...] = ()
    """Accelerators in the trace without a single event, by model or by what their
    planes say of the hardware.
    """
    computes: bool = False
    """Whether ops of TensorFlow that multiply or update variables ran on the cores."""
    on_windows: bool = False
    """Whether the threads are named as on Windows."""
    unrecorded: UnrecordedWork = UnrecordedWork()
    """What accelerators did and the trace lacks."""
    events: RecordedEvents = RecordedEvents()
    """What was recorded of the driving thread in the counted steps."""
    graphs_off: bool = False
    """Whether XLA ran CUDA graphs kernel by kernel because it was profiled."""
    workload: str = "unknown"
    """By the names of the compiled functions that Python calls: inference or unknown.
    """
    between_slices: bool = False
    """Whether the host sent for its TPUs over the network between slices."""
    fragment: str = ""
    """What shows that the counted steps are pieces of the program's, as a clause; ""
    where nothing does.
    """


def capture_of(
    trace: HostTrace,
    threads: Threads,
    window: tuple[int, int],
    steps: Steps,
    devices: Sequence[Device],
    unrecorded: UnrecordedWork,
) -> Capture:
    """From planes, names and warnings; the trace's events are not asked. devices: the
    inactive ones too.
    """
    framework, version = _framework(trace)
    start = session_start_ns(trace.planes)
    silent = [
        device
        for device in devices
        if device.kind is not DeviceKind.CPU and not len(device.ops)
    ]
    on_cores = [device for device in devices if device.kind is DeviceKind.CPU]
    return Capture(
        framework=framework,
        framework_version=version,
        captured_at=datetime.fromtimestamp(start / 1e9, timezone.utc).isoformat(
            timespec="seconds"
        )
        if start
        else "",
        session_start_ns=start,
        window=window,
        errors=trace.errors,
        warnings=trace.warnings,
        dropped=sum(lost_events(text) for text in (*trace.warnings, *trace.errors)),
        python_tracer=len(threads.everywhere(HostClass.FRAME)) > 0,
        silent=tuple(map(_hardware, silent)),
        computes=any(map(_trains, on_cores)),
        on_windows=names_of_windows([thread.name for thread in threads.threads]),
        unrecorded=unrecorded,
        events=recorded_events(threads, steps),
        fragment=_no_steps(threads, steps, devices),
        workload=workload_of(called_functions(threads)),
        between_slices=bool(threads.wanted_rows(is_between_slices).any()),
        graphs_off=bool(threads.wanted_rows(is_graphs_off).any()),
    )


def _hardware(device: Device) -> str:
    """Its model, else what its plane says: `compute capability 6.1, 6 multiprocessors,
    4.3 GB`; "" where the trace says nothing.
    """
    if device.model:
        return device.model
    stated = device.properties
    major, minor = (number(stated, half) for half in stats.COMPUTE_CAPABILITY)
    cores = number(stated, stats.CORE_COUNT)
    memory = number(stated, stats.MEMORY_SIZE)
    parts = (
        f"compute capability {major:.0f}.{minor or 0:.0f}" if major else "",
        f"{cores:.0f} multiprocessors" if cores else "",
        f"{memory / 1e9:.1f} GB" if memory else "",
    )
    return ", ".join(filter(None, parts))


def _trains(device: Device) -> bool:
    """Whether ops ran that a GPU would run: products, or updates of variables."""
    rows = distinct(device.ops.name).tolist()
    return any(works_on_variables(device.ops.names[row]) for row in rows)


_FEWEST_VARIABLES = 32
"""Of a step that reads fewer nobody can say that it must multiply them."""


def _no_steps(threads: Threads, steps: Steps, devices: Sequence[Device]) -> str:
    active = [device for device in devices if device.is_active]
    return fragment_of(threads, steps, active) or no_round(steps)


def fragment_of(
    threads: Threads,
    steps: Steps,
    devices: Sequence[Device],
) -> str:
    """TensorFlow's step reads its model's variables, and multiplies none of them: the
    recording ended before that.
    """
    events = threads.named(reads_variable)
    reads = int(in_counted_steps(threads.start[events], steps).sum()) // max(
        steps.steady_count,
        1,
    )
    if reads < _FEWEST_VARIABLES or any(
        device.kind is not DeviceKind.GPU for device in devices
    ):
        return ""
    names = {
        device.ops.names[row]
        for device in devices
        for row in distinct(device.ops.name).tolist()
    }
    if len(threads.named(works_on_variables)) or any(
        kernel_kind(name).is_matrix for name in names
    ):
        return ""
    return f"each reads {reads:,} variables and multiplies none of them"


_FEWEST_ALIKE = 3
"""Steps that are a rhythm of their own, whatever a round of the loop takes."""
_ALIKE = 0.2
"""By which share of a round another may differ."""


def no_round(steps: Steps) -> str:
    """One or two steps that take longer or shorter than a round of the program's loop
    did while nothing was recorded.
    """
    lengths = (steps.ends - steps.starts)[steps.steady()]
    if not steps.round_ms or not 0 < len(lengths) < _FEWEST_ALIKE:
        return ""
    step_ms = float(np.median(lengths)) / PS_PER_MS
    if abs(step_ms - steps.round_ms) <= _ALIKE * steps.round_ms:
        return ""
    return (
        f"one takes {step_ms:.3g} ms, and a round of its loop took "
        f"{steps.round_ms:.3g} ms while nothing was recorded"
    )


def window_of(trace: HostTrace) -> tuple[int, int]:
    """First start and last end of all events, ps."""
    if not len(trace.events):
        return 0, 0
    start = trace.events.start_ps
    duration = trace.events.duration_ps
    last = max(
        int((start[part] + np.maximum(duration[part], 0)).max())
        for part in blocks(len(start))
    )
    return int(start.min()), last


def _framework(trace: HostTrace) -> tuple[str, str]:
    for framework, stat in VERSION_STATS.items():
        for plane in trace.planes:
            if stat in plane.stats:
                return framework, str(plane.stats[stat])
    return framework_of(trace.names.name, trace.stat(stats.HLO_MODULE).texts), ""
