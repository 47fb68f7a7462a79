"""Where traces lie and what their bytes say: columns, uninterpreted."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tfadvisor.trace.decode import decode_file, is_compiled
    from tfadvisor.trace.runs import (
        Held,
        Readable,
        Run,
        all_runs,
        choose_run,
        find_runs,
        held,
        host_of,
        recorded_at,
        run_in,
        without_duplicates,
    )
    from tfadvisor.trace.trace import Trace, open_trace
else:
    from tfadvisor.face import face

    __getattr__ = face(
        __name__,
        {
            "Held": "runs",
            "Readable": "runs",
            "Run": "runs",
            "Trace": "trace",
            "all_runs": "runs",
            "choose_run": "runs",
            "decode_file": "decode",
            "find_runs": "runs",
            "held": "runs",
            "host_of": "runs",
            "is_compiled": "decode",
            "open_trace": "trace",
            "recorded_at": "runs",
            "run_in": "runs",
            "without_duplicates": "runs",
        },
    )

__all__ = [
    "Held",
    "Readable",
    "Run",
    "Trace",
    "all_runs",
    "choose_run",
    "decode_file",
    "find_runs",
    "held",
    "host_of",
    "is_compiled",
    "open_trace",
    "recorded_at",
    "run_in",
    "without_duplicates",
]
