"""From one host's columns to its timeline."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from tfadvisor.hlo.format.find_modules import find_modules
from tfadvisor.memory import give_back
from tfadvisor.timeline.capture import capture_of, window_of
from tfadvisor.timeline.devices.protocol import Recorded
from tfadvisor.timeline.devices.registry import find_devices, on_own_clocks
from tfadvisor.timeline.devices.unrecorded import unrecorded_work
from tfadvisor.timeline.host.calls_that_cost import host_calls
from tfadvisor.timeline.host.compiles import compiled_in_steps
from tfadvisor.timeline.host.costs import HostCost, host_costs
from tfadvisor.timeline.host.dispatches import without_evaluations
from tfadvisor.timeline.host.host_ops import host_ops, pipeline_ops
from tfadvisor.timeline.host.input_pipeline import input_pipeline
from tfadvisor.timeline.host.libraries import libraries
from tfadvisor.timeline.host.loop_frames import loop_frames
from tfadvisor.timeline.host.memory import device_memory
from tfadvisor.timeline.host.pipeline_work import pipeline_work
from tfadvisor.timeline.host.threads import Threads, host_threads, without_threads
from tfadvisor.timeline.host.time_of_driver import host_activity, host_classes_of_time
from tfadvisor.timeline.host_timeline import HostEvidence, HostTimeline
from tfadvisor.timeline.intervals import BoolArray, Int64Array
from tfadvisor.timeline.losses.activities import names_of
from tfadvisor.timeline.losses.batch_makers import batch_makers
from tfadvisor.timeline.losses.lost_time import lost_time
from tfadvisor.timeline.names import stats
from tfadvisor.timeline.names.classes import HostClass
from tfadvisor.timeline.names.copies_and_memory import ALLOCATOR_EVENTS
from tfadvisor.timeline.names.host import PROGRAM_RUNS, RUNS_OF_FUNCTIONS, SCHEDULING
from tfadvisor.timeline.recorded_events import recorded_events
from tfadvisor.timeline.steps.breakdown import break_down, taking_part, unknown_time
from tfadvisor.timeline.steps.capture_work import capture_work_ps
from tfadvisor.timeline.steps.find import chosen_steps, find_steps, placed_on_device, sorted_out
from tfadvisor.vocabulary import DeviceKind, TimeClass
from tfadvisor.xplane.columns import NO_EVENTS, HostTrace, NameFilter, Selection, StatColumn
from tfadvisor.xplane.runs import host_of

if TYPE_CHECKING:
    from tfadvisor.timeline.picture.drawing import Drawing
    from tfadvisor.timeline.picture.memory_curve import MemoryCurve
    from tfadvisor.timeline.picture.step_picture import StepPicture

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
        stats.ALLOCATOR_NAME: _ALLOCATIONS,
        stats.BYTES_ALLOCATED: _ALLOCATIONS,
        stats.BYTES_RESERVED: _ALLOCATIONS,
        stats.BYTES_AVAILABLE: _ALLOCATIONS,
        stats.PEAK_BYTES_IN_USE: _ALLOCATIONS,
        stats.ALLOCATION_BYTES: _ALLOCATIONS,
        stats.FRAGMENTATION: _ALLOCATIONS,
        stats.PRODUCER_ID: _NOT_SCHEDULING,
        stats.CONSUMER_ID: _NOT_SCHEDULING,
    }
)
"""The stats that a timeline is built from."""

PICTURED = Selection(
    {
        **(SELECTION.stats or {}),
        stats.BLOCK_ADDRESS: _ALLOCATIONS,
        stats.BLOCK_SHAPE: _ALLOCATIONS,
        stats.REGION_TYPE: _ALLOCATIONS,
    }
)
"""Likewise, with what only a page draws."""


def build_host(trace: HostTrace, chosen: tuple[int, int] | None = None, drawing: Drawing | None = None) -> HostTimeline:
    """One host's devices, steps, breakdown, and what explains it.

    chosen: first and last (exclusive) step to look at, by index; None leaves it to what the steps hold. drawing:
    what a page draws; None for no pictures.
    """
    trace = on_own_clocks(trace)
    events = len(trace.events)
    host = trace.hostnames[0] if trace.hostnames else host_of(Path(trace.path))
    threads = without_evaluations(host_threads(trace))
    programs, window = find_modules(replace(trace, events=NO_EVENTS, stats={})), window_of(trace)
    pipeline = pipeline_work(trace, threads)
    trace = without_threads(trace, threads)
    devices = find_devices(Recorded(trace, threads, host, pipeline, programs))
    empty = sum(not len(device.ops) for device in devices if device.kind is not DeviceKind.CPU)
    unrecorded = unrecorded_work(trace, threads, [one for one in devices if one.kind is not DeviceKind.CPU])
    steps = find_steps(trace, threads, devices)
    trace = replace(trace, events=NO_EVENTS, stats=_still_asked(trace, threads))
    if not any(map(len, trace.stats.values())):
        threads = replace(threads, position_of=None)  # nobody asks for events by their number any more
    give_back(events)  # most of the memory
    steps = placed_on_device(steps, devices)
    activity = host_activity(trace, threads, steps, pipeline)
    classes = host_classes_of_time(activity)
    active = [device for device in devices if device.is_active]
    time = break_down(active, classes, steps)
    breakdown = unknown_time(steps) if unrecorded.proof else time.breakdown
    steps = sorted_out(steps, breakdown) if chosen is None else chosen_steps(steps, *chosen)
    costs, compiling = host_costs(threads, steps, activity, classes, active, pipeline), activity.compile
    del activity
    give_back(events)
    names = cache(lambda: names_of(threads))
    losses = () if unrecorded.proof else lost_time(threads, steps, time.first, active, programs, names)
    short_launch_ps = time.short_launch_ps
    del time
    pictures: tuple[StepPicture, ...] = ()
    curves: tuple[MemoryCurve, ...] = ()
    if drawing is not None:
        from tfadvisor.timeline.picture.memory_curve import memory_curves  # noqa: PLC0415  (likewise)
        from tfadvisor.timeline.picture.step_picture import step_pictures  # noqa: PLC0415  (only a page draws steps)

        pictures = step_pictures(threads, pipeline, active, classes, steps, drawing)
        curves = memory_curves(trace, threads)
    give_back(events)
    return HostTimeline(
        host=host,
        capture=capture_of(
            trace,
            threads,
            window,
            empty,
            unrecorded,
            capture_work_ps(threads, steps),
            recorded_events(threads, steps),
        ),
        steps=steps,
        breakdown=breakdown,
        takes_part=taking_part(breakdown),
        short_launch_ps=short_launch_ps,
        evidence=HostEvidence(
            calls=host_calls(
                threads,
                steps,
                waits=costs[HostCost.WAITING],
                builds=len(costs[HostCost.BUILDING]),
                iterations=_loop_iterations(trace, threads, pipeline),
            ),
            frames=loop_frames(threads, steps, classes[TimeClass.HOST], classes[TimeClass.INPUT]),
            compiles=compiled_in_steps(trace, threads, steps, compiling, programs),
            pipeline=input_pipeline(trace, threads, steps),
            host_ops=host_ops(trace, threads, steps, pipeline),
            pipeline_ops=pipeline_ops(threads, steps, pipeline),
            losses=losses,
            makers=batch_makers(threads, steps, classes, names),
            memory=device_memory(trace, threads, steps),
            libraries=libraries(threads),
            pictures=pictures,
            memory_curves=curves,
        ),
        devices=devices,
        programs=programs,
        classes=classes,
        costs=costs,
    )


def _still_asked(trace: HostTrace, threads: Threads) -> Mapping[str, StatColumn]:
    """The stats that are asked for when devices and steps are known: correlation ids tell of TensorFlow's ops alone."""
    known = {stats.STEP_NUM} if len(threads.everywhere(HostClass.OP)) else {stats.STEP_NUM, stats.CORRELATION_ID}
    return {name: column for name, column in trace.stats.items() if name not in known}


def _loop_iterations(trace: HostTrace, threads: Threads, pipeline: BoolArray) -> tuple[Int64Array, Int64Array]:
    """(start, number) of the executor's events that belong to an iteration of a loop in the step."""
    position, iteration = threads.integers(trace.stat(stats.LOOP_ITERATION))
    keep = ~pipeline[position]
    return threads.start[position[keep]], iteration[keep]
