"""Records a program of the user. `service`, which records jobs that run already, and
`block`, which is `tfadvisor.profile()`, are doors of their own.
"""

from __future__ import annotations

from tfadvisor.act.record.choosing import RecordedRun, RecordRequest
from tfadvisor.act.record.keeping import KeptRun, keep, with_measured, with_rates
from tfadvisor.act.record.running import Running, recorded_program
from tfadvisor.act.record.started_program import Launch

__all__ = [
    "KeptRun",
    "Launch",
    "RecordRequest",
    "RecordedRun",
    "Running",
    "keep",
    "recorded_program",
    "with_measured",
    "with_rates",
]
