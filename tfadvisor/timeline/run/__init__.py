"""Hosts of one run beside each other."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tfadvisor.timeline.run.local_processes import LocalProcesses
    from tfadvisor.timeline.run.meetings import Meetings
    from tfadvisor.timeline.run.one_host import Engine, Progress, Watch
    from tfadvisor.timeline.run.read_hosts import Detail, progress_over, run_hosts
    from tfadvisor.timeline.run.run_summary import RunSummary, UnreadHost, merge
else:
    from tfadvisor.face import face

    __getattr__ = face(
        __name__,
        {
            "Detail": "read_hosts",
            "Engine": "one_host",
            "LocalProcesses": "local_processes",
            "Meetings": "meetings",
            "Progress": "one_host",
            "RunSummary": "run_summary",
            "UnreadHost": "run_summary",
            "Watch": "one_host",
            "merge": "run_summary",
            "progress_over": "read_hosts",
            "run_hosts": "read_hosts",
        },
    )

__all__ = [
    "Detail",
    "Engine",
    "LocalProcesses",
    "Meetings",
    "Progress",
    "RunSummary",
    "UnreadHost",
    "Watch",
    "merge",
    "progress_over",
    "run_hosts",
]
