"""From one host's columns to its timeline."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from tfadvisor.memory_limits import give_back
from tfadvisor.program import Modules, find_modules
from tfadvisor.timeline.attribution.activities import activities
from tfadvisor.timeline.attribution.sampled_clock import aligned
from tfadvisor.timeline.attribution.sampled_lines import sampled_lines
from tfadvisor.timeline.attribution.spent import sampled
from tfadvisor.timeline.devices.device_kinds import (
    UnrecordedWork,
    find_devices,
    on_own_clocks,
    unrecorded_work,
)
from tfadvisor.timeline.devices.protocol import RecordedHost
from tfadvisor.timeline.host.allocators import device_memory, filters_by_layer
from tfadvisor.timeline.host.compiles import compiled_in_steps, libraries
from tfadvisor.timeline.host.dispatch_lines import dispatch_lines
from tfadvisor.timeline.host.dispatches import (
    calls_of_one_op,
    host_ops,
    pipeline_ops,
    without_evaluations,
)
from tfadvisor.timeline.host.driver import host_activity, host_classes_of_time
from tfadvisor.timeline.host.function_calls import function_calls
from tfadvisor.timeline.host.host_costs import HostCost, host_calls, host_costs
from tfadvisor.timeline.host.input_pipeline import input_pipeline, pipeline_work
from tfadvisor.timeline.host.loop_frames import loop_frames
from tfadvisor.timeline.host.outside_steps import outside_steps
from tfadvisor.timeline.host.step_python import called_python
from tfadvisor.timeline.host.thread_layout import without_threads
from tfadvisor.timeline.host.threads import Threads, host_threads
from tfadvisor.timeline.host.xla_runs import xla_runs
from tfadvisor.timeline.host_timeline import (
    HostEvidence,
    HostTimeline,
    capture_of,
    window_of,
)
from tfadvisor.timeline.intervals import EMPTY, Intervals
from tfadvisor.timeline.names import stats
from tfadvisor.timeline.names.classes import HostClass
from tfadvisor.timeline.names.device_events import ALLOCATOR_EVENTS
from tfadvisor.timeline.names.host_events import (
    PROGRAM_RUNS,
    RUNS_OF_FUNCTIONS,
    SCHEDULING,
)
from tfadvisor.timeline.steps.class_masks import (
    ClassMasks,
    break_down,
    taking_part,
    unknown_time,
)
from tfadvisor.timeline.steps.find import (
    chosen_steps,
    find_steps,
    placed_on_device,
    sorted_out,
)
from tfadvisor.timeline.timeline_parts import Device, Steps
from tfadvisor.trace import host_of
from tfadvisor.trace.columns import (
    NO_EVENTS,
    HostTrace,
    NameFilter,
    Selection,
    StatColumn,
)
from tfadvisor.vocabulary import TimeClass

if TYPE_CHECKING:
    from tfadvisor.arrays import BoolArray, Int64Array
    from tfadvisor.timeline.picture.events import MemoryCurve
    from tfadvisor.timeline.picture.step_picture import Drawing, StepPicture

_NOT_SCHEDULING = NameFilter(SCHEDULING, invert=True)
_EXECUTOR = NameFilter(RUNS_OF_FUNCTIONS)
_PROGRAM_RUNS = NameFilter(PROGRAM_RUNS)
_ALLOCATIONS = NameFilter(ALLOCATOR_EVENTS)

SELECTION = Selection(
    {
        stats.STEP_NUM: None,
        stats.EXECUTOR_STEP: _EXECUTOR,
        stats.LOOP_ITERATION: _EXECUTOR,
        stats.TF_FUNCTION_CALL: None,
        stats.CORRELATION_ID: None,
        stats.DEVICE_ID: None,
        stats.DEVICE_ORDINAL: None,
        stats.RUN_ID: None,
        stats.INSTANCE_KEY: None,
        stats.PROGRAM_ID: None,
        stats.DEVICE_OFFSET_PS: None,
        stats.DEVICE_DURATION_PS: None,
        stats.HLO_OP: None,
        stats.HLO_MODULE: None,
        stats.TF_OP: None,
        stats.OUTERMOST_ANNOTATION: None,
        stats.MODULE_NAME: _PROGRAM_RUNS,
        stats.MEMCPY_DETAILS: None,
        stats.KERNEL_DETAILS: None,
        stats.ALLOCATOR_NAME: _ALLOCATIONS,
        stats.BYTES_ALLOCATED: _ALLOCATIONS,
        stats.BYTES_RESERVED: _ALLOCATIONS,
        stats.BYTES_AVAILABLE: _ALLOCATIONS,
        stats.PEAK_BYTES_IN_USE: _ALLOCATIONS,
        stats.ALLOCATION_BYTES: _ALLOCATIONS,
        stats.BLOCK_SHAPE: _ALLOCATIONS,
        stats.REGION_TYPE: _ALLOCATIONS,
        stats.PRODUCER_ID: _NOT_SCHEDULING,
        stats.CONSUMER_ID: _NOT_SCHEDULING,
    }
)
"""The stats that a timeline is built from."""

PICTURED = Selection(
    {
        **(SELECTION.stats or {}),
        stats.BLOCK_ADDRESS: _ALLOCATIONS,
    }
)
"""What is decoded of a trace whose page is drawn."""


class _Placed(msgspec.Struct, frozen=True):
    """A host's devices and steps, without the events that they were found in."""

    host: str
    trace: HostTrace
    """Planes, lines and the stats that are still asked for; no events."""
    events: int
    """How many it had."""
    threads: Threads
    pipeline: BoolArray
    """For every host event, whether it is work of the input pipeline."""
    programs: Modules
    devices: tuple[Device, ...]
    unrecorded: UnrecordedWork
    steps: Steps
    """As the host sees them; which of them count is settled when their time has a
    class.
    """


class _Attributed(msgspec.Struct, frozen=True):
    """Where the time of a host's steps goes."""

    steps: Steps
    """Where the device ran them, with those that count known."""
    active: Sequence[Device]
    """The devices that the breakdown is about."""
    breakdown: Int64Array
    time: ClassMasks
    """What the breakdown was made of; the two differ where the devices' work was not
    recorded.
    """
    classes: Mapping[TimeClass, Intervals]
    """As in HostTimeline."""
    costs: Mapping[HostCost, Intervals]
    """As in HostTimeline."""
    compiling: Intervals
    """When the thread that drives the steps traces and compiles."""
    pipeline_python: Intervals
    """When Python functions of the input pipeline run."""
    alone: Int64Array
    """Positions of the calls that run one op each, as calls_of_one_op has them."""


def build_host(
    trace: HostTrace,
    chosen: tuple[int, int] | None = None,
    drawing: Drawing | None = None,
) -> HostTimeline:
    """One host's devices, steps, breakdown, and what explains it.

    chosen: first and last (exclusive) step to look at, by index; None leaves it to what
    the steps hold. drawing: what a page draws; None for no pictures.

    Each stage takes what it needs of the one before. What it leaves behind goes at
    once: most of the memory is events.
    """
    recorded, window = _read(trace)
    del trace
    placed = _place(recorded)
    del recorded
    give_back(placed.events)
    attributed = _attribute(placed, chosen)
    give_back(placed.events)
    evidence = _explain(placed, attributed, drawing)
    give_back(placed.events)
    return HostTimeline(
        host=placed.host,
        capture=capture_of(
            placed.trace,
            placed.threads,
            window,
            attributed.steps,
            placed.devices,
            placed.unrecorded,
        ),
        steps=attributed.steps,
        breakdown=attributed.breakdown,
        takes_part=taking_part(attributed.breakdown),
        short_launch_ps=attributed.time.short_launch_ps,
        evidence=evidence,
        devices=placed.devices,
        programs=placed.programs,
        classes=attributed.classes,
        costs=attributed.costs,
    )


def _read(trace: HostTrace) -> tuple[RecordedHost, tuple[int, int]]:
    """What was recorded, its threads known; and its first and last instant, ps."""
    timed = on_own_clocks(trace)
    threads = without_evaluations(host_threads(timed))
    recorded = RecordedHost(
        without_threads(timed, threads),
        threads,
        timed.hostnames[0] if timed.hostnames else host_of(Path(timed.path)),
        pipeline_work(timed, threads),
        find_modules(replace(timed, events=NO_EVENTS, stats={})),
    )
    return recorded, window_of(timed)


def _place(recorded: RecordedHost) -> _Placed:
    """Finds the devices and the steps, and keeps of the trace what is asked for
    afterwards.
    """
    trace = recorded.trace
    threads = recorded.threads
    devices = find_devices(recorded)
    unrecorded = unrecorded_work(trace, threads, devices)
    steps = find_steps(trace, threads, devices)
    stats_left = _still_asked(trace, threads)
    by_number = any(
        map(len, stats_left.values())
    )  # else nobody asks for events by their number any more
    return _Placed(
        recorded.host,
        replace(trace, events=NO_EVENTS, stats=stats_left),
        len(trace.events),
        threads if by_number else replace(threads, position_of=None),
        recorded.pipeline_work,
        recorded.programs,
        devices,
        unrecorded,
        steps,
    )


def _attribute(placed: _Placed, chosen: tuple[int, int] | None) -> _Attributed:
    """Gives each instant of each step, where the device ran it, to one class, and says
    which steps count.

    chosen: as for build_host.
    """
    found = placed_on_device(placed.steps, placed.devices)
    activity = host_activity(placed.trace, placed.threads, found, placed.pipeline)
    classes = host_classes_of_time(activity)
    active = [device for device in placed.devices if device.is_active]
    time = break_down(active, classes, found)
    breakdown = unknown_time(found) if placed.unrecorded.proof else time.breakdown
    if chosen is None:
        steps = sorted_out(found, breakdown)
    else:
        steps = chosen_steps(found, *chosen)
    alone = calls_of_one_op(placed.threads, steps, active)
    costs = host_costs(
        placed.threads,
        steps,
        activity,
        classes,
        active,
        placed.pipeline,
        alone,
    )
    python = activity.pending.pipeline_python
    return _Attributed(
        steps,
        active,
        breakdown,
        time,
        classes,
        costs,
        activity.compile,
        python,
        alone,
    )


def _explain(
    placed: _Placed,
    attributed: _Attributed,
    drawing: Drawing | None,
) -> HostEvidence:
    """What explains the breakdown. drawing: as for build_host."""
    trace = placed.trace
    threads = placed.threads
    pipeline = placed.pipeline
    programs = placed.programs
    steps = attributed.steps
    active = attributed.active
    classes = attributed.classes
    costs = attributed.costs
    known = not placed.unrecorded.proof
    samples = sampled(trace)
    if samples is not None and steps.thread >= 0:
        samples = aligned(samples, threads, threads.threads[steps.thread])
    called = called_python(trace, threads, steps, pipeline, programs)
    spent, within, silent = (
        activities(
            threads,
            steps,
            classes,
            attributed.time.classes,
            active,
            attributed.breakdown,
            programs,
            pipeline=pipeline,
            pipeline_python=attributed.pipeline_python,
            samples=samples,
            called=called,
        )
        if known
        else ((), (), EMPTY)
    )
    spent = samples.named(spent, classes) if samples is not None else spent
    alone = attributed.time.classes[0] or classes  # while the first device waits
    host = alone[TimeClass.HOST]
    loading = alone[TimeClass.INPUT]
    frames = loop_frames(
        threads,
        steps,
        host,
        loading,
        samples.line_in if samples is not None else None,
    )
    if samples is not None:
        frames = (
            *frames,
            *sampled_lines(samples, threads, steps, silent, host, loading),
        )
    give_back(placed.events)
    pictures, curves = (
        _drawn(placed, attributed, drawing) if drawing is not None else ((), ())
    )
    return HostEvidence(
        calls=host_calls(
            threads,
            steps,
            waits=costs[HostCost.WAITING],
            building=costs[HostCost.BUILDING],
            iterations=_loop_iterations(trace, threads, pipeline),
            alone=attributed.alone,
            python=called[0].call if called else None,
        ),
        frames=tuple(
            sorted(frames, key=lambda frame: -(frame.host_ps + frame.input_ps))
        ),
        compiles=compiled_in_steps(
            trace,
            threads,
            steps,
            attributed.compiling,
            programs,
        ),
        pipeline=input_pipeline(trace, threads, steps),
        host_ops=host_ops(trace, threads, steps, pipeline),
        pipeline_ops=pipeline_ops(threads, steps, pipeline),
        spent=spent,
        inside=within,
        memory=device_memory(trace, threads),
        libraries=libraries(threads.names),
        dispatched=dispatch_lines(threads, steps),
        functions=function_calls(threads, steps),
        xla=xla_runs(threads, steps),
        outside=outside_steps(
            threads,
            placed.steps,
            steps,
            active,
            waits=costs[HostCost.WAITING],
            compiling=attributed.compiling,
        ),
        pictures=pictures,
        memory_curves=curves,
        filters=filters_by_layer(trace, threads),
    )


def _drawn(
    placed: _Placed,
    attributed: _Attributed,
    drawing: Drawing,
) -> tuple[tuple[StepPicture, ...], tuple[MemoryCurve, ...]]:
    """What a page draws of the steps and of the devices' memory."""
    from tfadvisor.timeline.picture.events import memory_curves  # only a page draws
    from tfadvisor.timeline.picture.step_picture import step_pictures

    threads = placed.threads
    steps = attributed.steps
    pictures = step_pictures(
        threads,
        placed.pipeline,
        attributed.active,
        attributed.classes,
        steps,
        drawing,
    )
    return pictures, memory_curves(placed.trace, threads)


def _still_asked(trace: HostTrace, threads: Threads) -> Mapping[str, StatColumn]:
    """The stats that are asked for when devices and steps are known: correlation ids
    tell of TensorFlow's ops alone.
    """
    if len(threads.everywhere(HostClass.OP)):
        known = {stats.STEP_NUM}
    else:
        known = {stats.STEP_NUM, stats.CORRELATION_ID}
    return {name: column for name, column in trace.stats.items() if name not in known}


def _loop_iterations(
    trace: HostTrace,
    threads: Threads,
    pipeline: BoolArray,
) -> tuple[Int64Array, Int64Array]:
    """(start, number) of the executor's events that belong to an iteration of a loop in
    the step.
    """
    position, iteration = threads.integers(trace.stat(stats.LOOP_ITERATION))
    keep = ~pipeline[position]
    return threads.start[position[keep]], iteration[keep]
