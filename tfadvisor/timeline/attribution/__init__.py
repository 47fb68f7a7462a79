"""Where the step goes: each instant of the counted steps given to one op, call, stage
or wait.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tfadvisor.timeline.attribution.inside import Inside
    from tfadvisor.timeline.attribution.spent import (
        CALLED_PYTHON,
        NOT_RECORDED,
        QUEUED,
        Spent,
        largest_places,
    )
else:
    from tfadvisor.face import face

    __getattr__ = face(
        __name__,
        {
            "Inside": "inside",
            "CALLED_PYTHON": "spent",
            "NOT_RECORDED": "spent",
            "QUEUED": "spent",
            "Spent": "spent",
            "largest_places": "spent",
        },
    )

__all__ = [
    "CALLED_PYTHON",
    "NOT_RECORDED",
    "QUEUED",
    "Inside",
    "Spent",
    "largest_places",
]
