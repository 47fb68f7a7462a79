"""What the host does: threads, dispatches, waits, Python, the input pipeline."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tfadvisor.timeline.host.allocators import DeviceMemory
    from tfadvisor.timeline.host.compiles import Compiled
    from tfadvisor.timeline.host.event_counts import EventCounts, count_events
    from tfadvisor.timeline.host.function_calls import FunctionCalls
    from tfadvisor.timeline.host.host_costs import HostCalls, HostCost
    from tfadvisor.timeline.host.input_pipeline import (
        BufferFill,
        InputPipeline,
        InputStage,
    )
    from tfadvisor.timeline.host.loop_frames import FrameShare
    from tfadvisor.timeline.host.outside_steps import OutsideSteps
    from tfadvisor.timeline.host.step_python import StepPython
    from tfadvisor.timeline.host.xla_runs import XlaRuns
else:
    from tfadvisor.face import face

    __getattr__ = face(
        __name__,
        {
            "BufferFill": "input_pipeline",
            "Compiled": "compiles",
            "DeviceMemory": "allocators",
            "EventCounts": "event_counts",
            "FrameShare": "loop_frames",
            "FunctionCalls": "function_calls",
            "HostCalls": "host_costs",
            "HostCost": "host_costs",
            "InputPipeline": "input_pipeline",
            "InputStage": "input_pipeline",
            "OutsideSteps": "outside_steps",
            "StepPython": "step_python",
            "XlaRuns": "xla_runs",
            "count_events": "event_counts",
        },
    )

__all__ = [
    "BufferFill",
    "Compiled",
    "DeviceMemory",
    "EventCounts",
    "FrameShare",
    "FunctionCalls",
    "HostCalls",
    "HostCost",
    "InputPipeline",
    "InputStage",
    "OutsideSteps",
    "StepPython",
    "XlaRuns",
    "count_events",
]
