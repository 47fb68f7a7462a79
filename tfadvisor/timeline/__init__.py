"""Devices, threads, steps, and the class of each instant; hosts side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tfadvisor.timeline.host_build import SELECTION, build_host
    from tfadvisor.timeline.host_timeline import Capture, HostTimeline
    from tfadvisor.timeline.program_ops import InProgram
    from tfadvisor.timeline.sketches import Distribution, percentile_of
    from tfadvisor.timeline.steps.class_masks import classes_of_time
    from tfadvisor.timeline.timeline_parts import Device, StepKind, Steps, StepSource
else:
    from tfadvisor.face import face

    __getattr__ = face(
        __name__,
        {
            "Capture": "host_timeline",
            "Device": "timeline_parts",
            "Distribution": "sketches",
            "HostTimeline": "host_timeline",
            "InProgram": "program_ops",
            "SELECTION": "host_build",
            "StepKind": "timeline_parts",
            "StepSource": "timeline_parts",
            "Steps": "timeline_parts",
            "build_host": "host_build",
            "classes_of_time": "steps.class_masks",
            "percentile_of": "sketches",
        },
    )

__all__ = [
    "SELECTION",
    "Capture",
    "Device",
    "Distribution",
    "HostTimeline",
    "InProgram",
    "StepKind",
    "StepSource",
    "Steps",
    "build_host",
    "classes_of_time",
    "percentile_of",
]
