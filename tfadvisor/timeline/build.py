"""From one host's columns to its timeline."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tfadvisor.hlo.format.find_modules import find_modules
from tfadvisor.timeline.capture import capture_of
from tfadvisor.timeline.devices.accelerators import accelerators
from tfadvisor.timeline.devices.cpu import cpu_devices, pipeline_work
from tfadvisor.timeline.devices.tpu_clock import on_chip_clock
from tfadvisor.timeline.host.compiles import compiled_in_steps
from tfadvisor.timeline.host.costly_calls import host_calls
from tfadvisor.timeline.host.costs import HostCost, host_costs
from tfadvisor.timeline.host.driver import host_activity, host_classes_of_time
from tfadvisor.timeline.host.host_ops import host_ops
from tfadvisor.timeline.host.input_pipeline import input_pipeline
from tfadvisor.timeline.host.loop_frames import loop_frames
from tfadvisor.timeline.host.memory import device_memory
from tfadvisor.timeline.host.shared_cores import SharedCores, shared_cores
from tfadvisor.timeline.host.threads import Threads, host_threads
from tfadvisor.timeline.host_timeline import HostEvidence, HostTimeline
from tfadvisor.timeline.intervals import BoolArray, Int64Array
from tfadvisor.timeline.model import TimeClass
from tfadvisor.timeline.steps.breakdown import break_down, taking_part
from tfadvisor.timeline.steps.find import chosen_steps, find_steps, placed_on_device, sorted_out
from tfadvisor.xplane.columns import HostTrace, NameFilter, Selection
from tfadvisor.xplane.runs import host_of

if TYPE_CHECKING:
    from tfadvisor.timeline.picture.step_picture import StepPicture

_NOT_SCHEDULING = NameFilter(
    ("ThreadpoolListener::", "ExecutorState::", "ExecutorDoneCallback", "FunctionRun"), invert=True
)
_EXECUTOR = NameFilter(("ExecutorState::Process", "InstantiatedCapturedFunction::"))
_ALLOCATIONS = NameFilter(("MemoryAllocation", "MemoryDeallocation"))

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
        "instance_key": None,
        "program_id": None,
        "device_offset_ps": None,
        "device_duration_ps": None,
        "hlo_op": None,
        "hlo_module": None,
        "memcpy_details": None,
        "allocator_name": _ALLOCATIONS,
        "bytes_allocated": _ALLOCATIONS,
        "bytes_reserved": _ALLOCATIONS,
        "bytes_available": _ALLOCATIONS,
        "peak_bytes_in_use": _ALLOCATIONS,
        "allocation_bytes": _ALLOCATIONS,
        "fragmentation": _ALLOCATIONS,
        "_p": _NOT_SCHEDULING,
        "_c": _NOT_SCHEDULING,
    }
)
"""The stats that a timeline is built from."""


def build_host(
    trace: HostTrace, chosen: tuple[int, int] | None = None, pictured_events: int | None = None
) -> HostTimeline:
    """One host's devices, steps, breakdown, and what explains it.

    chosen: first and last (exclusive) step to look at, by index; None leaves it to what the steps hold. pictured_events:
    how many events the picture of a step may hold; None for no pictures.
    """
    trace = on_chip_clock(trace)
    host = trace.hostnames[0] if trace.hostnames else host_of(Path(trace.path))
    threads = host_threads(trace)
    devices = accelerators(trace, threads, host)
    empty = sum(not len(device.ops) for device in devices)
    programs = find_modules(trace)
    pipeline = pipeline_work(trace, threads)
    if not any(device.is_active for device in devices):
        devices = (*devices, *cpu_devices(trace, threads, host, pipeline, programs))
    steps = placed_on_device(find_steps(trace, threads, devices), devices)
    activity = host_activity(trace, threads, steps, pipeline)
    classes = host_classes_of_time(activity)
    active = [device for device in devices if device.is_active]
    breakdown = break_down(active, classes, steps)
    steps = sorted_out(steps, breakdown) if chosen is None else chosen_steps(steps, *chosen)
    costs = host_costs(threads, steps, activity, classes, active)
    pictures: tuple[StepPicture, ...] = ()
    if pictured_events is not None:
        from tfadvisor.timeline.picture.step_picture import step_pictures  # noqa: PLC0415  (only a page draws steps)

        pictures = step_pictures(threads, pipeline, active, classes, steps, pictured_events)
    return HostTimeline(
        host=host,
        capture=capture_of(trace, threads, empty),
        steps=steps,
        breakdown=breakdown,
        takes_part=taking_part(breakdown),
        evidence=HostEvidence(
            calls=host_calls(
                threads,
                steps,
                waits=costs[HostCost.WAITING],
                builds=len(costs[HostCost.BUILDING]),
                iterations=_loop_iterations(trace, threads, pipeline),
            ),
            frames=loop_frames(threads, steps, classes[TimeClass.HOST], classes[TimeClass.INPUT]),
            compiles=compiled_in_steps(trace, threads, steps, activity.compile),
            pipeline=input_pipeline(trace, threads, steps),
            host_ops=host_ops(trace, threads, steps, pipeline),
            cores=shared_cores(trace, threads, steps, pipeline)
            if active and active[0].kind == "cpu"
            else SharedCores(),
            memory=device_memory(trace, threads, steps),
            pictures=pictures,
        ),
        devices=devices,
        programs=programs,
        classes=classes,
        costs=costs,
    )


def _loop_iterations(trace: HostTrace, threads: Threads, pipeline: BoolArray) -> tuple[Int64Array, Int64Array]:
    """(start, number) of the executor's events that belong to an iteration of a loop in the step."""
    position, iteration = threads.integers(trace.stat("iter_num"))
    keep = ~pipeline[position]
    return threads.start[position[keep]], iteration[keep]
