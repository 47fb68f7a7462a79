"""One host reduced to what metrics ask, so that memory does not grow with the number of hosts or their events."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from tfadvisor.timeline.capture import Capture
from tfadvisor.timeline.host.calls_that_cost import HostCalls
from tfadvisor.timeline.host.compiles import Compiled
from tfadvisor.timeline.host.host_ops import HostOps
from tfadvisor.timeline.host.input_pipeline import InputPipeline
from tfadvisor.timeline.host.loop_frames import FrameShare
from tfadvisor.timeline.host.memory import DeviceMemory
from tfadvisor.timeline.host.shared_cores import SharedCores
from tfadvisor.timeline.host.time_of_driver import host_classes_of_time
from tfadvisor.timeline.host_timeline import HostTimeline
from tfadvisor.timeline.intervals import EMPTY, Int64Array, Intervals, difference, intersection, union_of
from tfadvisor.timeline.model import Device, Steps
from tfadvisor.timeline.steps.breakdown import classes_of_time
from tfadvisor.timeline.steps.windows import in_counted_steps
from tfadvisor.timeline.summary.device import DeviceSummary, summarize_device
from tfadvisor.timeline.summary.hot_ops import HotOps, hot_ops
from tfadvisor.vocabulary import DeviceKind, TimeClass

if TYPE_CHECKING:
    import numpy.typing as npt

    from tfadvisor.timeline.picture.step_picture import StepPicture
    from tfadvisor.timeline.summary.program_patterns import ProgramPatterns
_SHORT_PS = 100_000_000


class HostSummary(msgspec.Struct, frozen=True):
    """One host. breakdown: ps, shape (active devices, steps, TimeClass); one row when there is no active device.

    devices: the active ones, in the breakdown's order. hot_ops: of the first of them. takes_part: shape (active devices,
    steps), False where a device did nothing in a step that others worked in. gaps: time without device work around each
    boundary between two counted steps, ps. dispatched: programs and ops that the driving thread dispatched in the
    counted steps, -1 when no thread dispatches any by name. waited_ps: how long it blocked in them. synchronising_ps: idle
    time in which it did, shape (active devices, steps); short_launch_ps: time of the breakdown's class `launch` in pieces
    shorter than 100 µs, likewise. concurrency: summed device work over the time in which any device
    works. frames, compiles and pipeline are about the counted steps. pipeline is None without tf.data. memory_calls: of
    the driver's allocation in the counted steps. pictures: only where they were asked for. allocating_ps: time of the
    counted steps in which no device works and a thread allocates; step_python_ps: the same while the compiled step is in
    Python; handing_ps: while it hands arrays over;
    batch_python_ps, perhaps_batch_python_ps: while the loop makes its next batch, or may. cores: of a run without an
    accelerator. patterns: of the first
    device's hottest program, None on a CPU and without HLO.
    """

    host: str
    path: str
    window: tuple[int, int]
    session_start_ns: int
    devices: tuple[DeviceSummary, ...]
    hot_ops: HotOps | None
    steps: Steps
    breakdown: npt.NDArray[np.int64]
    takes_part: npt.NDArray[np.bool_]
    gaps: Int64Array
    dispatched: int
    waited_ps: int
    synchronising_ps: npt.NDArray[np.int64]
    short_launch_ps: npt.NDArray[np.int64]
    concurrency: float
    capture: Capture
    pipeline: InputPipeline | None
    frames: tuple[FrameShare, ...]
    compiles: tuple[Compiled, ...]
    host_ops: HostOps
    memory: tuple[DeviceMemory, ...]
    memory_calls: int
    pictures: tuple[StepPicture, ...] = ()
    calls: HostCalls = HostCalls()
    allocating_ps: int = 0
    step_python_ps: int = 0
    batch_python_ps: int = 0
    perhaps_batch_python_ps: int = 0
    eager_ps: int = 0
    writing_ps: int = 0
    building_ps: int = 0
    handing_ps: int = 0
    cores: SharedCores = SharedCores()
    patterns: ProgramPatterns | None = None


def summarize(host: HostTimeline) -> HostSummary:
    """What metrics need of one host."""
    devices, steps = host.active_devices(), host.steps
    busy = [union_of(device.compute, device.collective, device.transfer) for device in devices]
    together = union_of(*busy)
    steady = steps.steady()
    lo, hi = steps.starts[steady], steps.ends[steady]
    works = sum(int(one.within(lo, hi).sum()) for one in busy)
    any_works = int(together.within(lo, hi).sum())
    summaries = tuple(summarize_device(device, steps, host.programs) for device in devices)
    return HostSummary(
        host=host.host,
        path=host.path,
        window=host.window,
        session_start_ns=host.session_start_ns,
        devices=summaries,
        hot_ops=hot_ops(summaries[0].ops, host.programs) if summaries else None,
        steps=steps,
        breakdown=host.breakdown,
        takes_part=host.takes_part,
        gaps=_gaps(together, _inner_boundaries(steps)),
        dispatched=int(in_counted_steps(host.dispatch_starts, steps).sum()) if len(host.dispatch_starts) else -1,
        waited_ps=int(host.activity.wait.within(lo, hi).sum()),
        synchronising_ps=_synchronising(host, busy),
        short_launch_ps=_short_launches(host, devices),
        concurrency=works / any_works if any_works else 0.0,
        capture=host.capture,
        pipeline=host.pipeline,
        frames=host.frames,
        compiles=host.compiles,
        host_ops=host.host_ops,
        memory=host.memory,
        memory_calls=host.memory_calls,
        calls=host.calls,
        allocating_ps=int(difference(host.allocating, together).within(lo, hi).sum()) if len(host.allocating) else 0,
        step_python_ps=_alone(host, "host", host.activity.step_python, together, lo, hi),
        batch_python_ps=_alone(host, "input", host.activity.batch_python, together, lo, hi),
        perhaps_batch_python_ps=_alone(host, "host", host.activity.perhaps_batch_python, together, lo, hi),
        eager_ps=_alone(host, "launch", difference(host.activity.eager, host.calls.building), together, lo, hi),
        writing_ps=int(host.calls.writing.within(lo, hi).sum()),
        building_ps=int(host.calls.building.within(lo, hi).sum()),
        handing_ps=_alone(host, "launch", host.handing, together, lo, hi),
        cores=host.cores,
        patterns=_patterns(summaries, host),
        pictures=host.pictures,
    )


def _alone(host: HostTimeline, of: str, python: Intervals, works: Intervals, lo: Int64Array, hi: Int64Array) -> int:
    """Time of some Python that belongs to one of the host's classes while no device works."""
    if not len(python):
        return 0
    alone = intersection(host_classes_of_time(host.activity)[of], python)
    return int(difference(alone, works).within(lo, hi).sum())


def _short_launches(host: HostTimeline, devices: Sequence[Device]) -> npt.NDArray[np.int64]:
    classes = host_classes_of_time(host.activity)
    rows = []
    every: Sequence[Device | None] = devices or [None]
    for device in every:
        launch = classes_of_time(device, classes)[TimeClass.LAUNCH]
        short = launch.ends - launch.starts < _SHORT_PS
        rows.append(Intervals(launch.starts[short], launch.ends[short]).within(host.steps.starts, host.steps.ends))
    return np.stack(rows)


def _patterns(devices: tuple[DeviceSummary, ...], host: HostTimeline) -> ProgramPatterns | None:
    if not devices or devices[0].kind is DeviceKind.CPU or not host.programs.keys:
        return None
    from tfadvisor.timeline.summary.program_patterns import program_patterns  # noqa: PLC0415  (most small traces need none)

    return program_patterns(devices[0].ops, host.programs)


def _inner_boundaries(steps: Steps) -> Int64Array:
    """Times of the boundaries between a counted step and the step after it, ps."""
    followed = np.zeros(len(steps), np.bool_)
    followed[:-1] = steps.steady()[:-1] & (steps.ends[:-1] == steps.starts[1:])
    return steps.ends[followed]


def _gaps(busy: Intervals, boundary: Int64Array) -> Int64Array:
    """From the last device event before a boundary to the first after it; 0 where a device works across it."""
    if not len(busy) or not len(boundary):
        return np.empty(0, np.int64)
    following = np.searchsorted(busy.starts, boundary, side="left")  # the first to begin there or later
    before = busy.ends[np.maximum(following - 1, 0)]
    after = busy.starts[np.minimum(following, len(busy.starts) - 1)]
    crossing = (following > 0) & (before > boundary)
    known = ~crossing & (following > 0) & (following < len(busy.starts))
    return np.where(known, after - before, 0)[known | crossing]


def _synchronising(host: HostTimeline, busy: list[Intervals]) -> npt.NDArray[np.int64]:
    """Idle time without another cause in which the driving thread blocks, shape (active devices, steps)."""
    causes = union_of(*host_classes_of_time(host.activity).values())
    blocked = difference(host.activity.wait, causes)
    rows = [difference(blocked, one).within(host.steps.starts, host.steps.ends) for one in (busy or [EMPTY])]
    return np.stack(rows)
