"""What tracing calls of Python functions adds to a step: by the pace with it and without, and by how many calls it saw."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from tfadvisor.record.pace import tracer_cost
from tfadvisor.record.window import Window
from tfadvisor.xplane.columns import Selection
from tfadvisor.xplane.decode import decode_file

SECONDS_A_CALL = 0.3e-6
"""Most that the tracer takes for a call: 0.27 µs where a step of 3 ms makes ten thousand calls, measured once on two cores."""


def cost_of(without: Sequence[Window], with_tracer: Sequence[Window], enough: float) -> float:
    """As a share of a step. enough: a cost up to this is believed as it was measured.

    Other programs on the machine can slow every window with the tracer and none without. So above `enough` the cost is no
    more than what the calls in the newest window can have taken.
    """
    measured = tracer_cost([one.pace for one in without if one.pace], [one.pace for one in with_tracer if one.pace])
    if measured <= enough:
        return measured
    newest = with_tracer[-1]
    spent = SECONDS_A_CALL * calls_traced(newest.folder)
    return min(measured, spent / max(newest.seconds - spent, spent, 1e-9))


def calls_traced(folder: Path) -> int:
    """Calls of Python functions in the trace of the process that made most."""
    return max((_calls(file) for file in folder.glob("*.xplane.pb")), default=0)


def _calls(file: Path) -> int:
    trace = decode_file(file, Selection())
    of_python = np.array([name.startswith("$") for name in trace.names.name], dtype=np.bool_)
    return int(np.count_nonzero(of_python[trace.events.row]))
