"""Events of a single step, to be drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tfadvisor.timeline.picture.events import Block, MemoryCurve
    from tfadvisor.timeline.picture.step_picture import Drawing, Lane, StepPicture
else:
    from tfadvisor.face import face

    __getattr__ = face(
        __name__,
        {
            "Block": "events",
            "Drawing": "step_picture",
            "Lane": "step_picture",
            "MemoryCurve": "events",
            "StepPicture": "step_picture",
        },
    )

__all__ = [
    "Block",
    "Drawing",
    "Lane",
    "MemoryCurve",
    "StepPicture",
]
