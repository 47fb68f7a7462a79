"""What the time at each place is spent on, and how often, by what lies inside."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tfadvisor.causes.cause import OPS_ONE_BY_ONE, Cause, Done
    from tfadvisor.causes.of_activities import causes_of
    from tfadvisor.causes.program_source import ProgramSource
else:
    from tfadvisor.face import face

    __getattr__ = face(
        __name__,
        {
            "OPS_ONE_BY_ONE": "cause",
            "Cause": "cause",
            "Done": "cause",
            "ProgramSource": "program_source",
            "causes_of": "of_activities",
        },
    )

__all__ = ["OPS_ONE_BY_ONE", "Cause", "Done", "ProgramSource", "causes_of"]
