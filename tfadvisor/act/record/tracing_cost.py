"""What recording adds to a step: by the number of calls of Python that are traced, and
of other events.

The pace of windows with and without is another witness: what else runs on the machine
moves that too.
"""

from __future__ import annotations

from tfadvisor.act.record.window import RecordedWindow

SECONDS_A_CALL = 0.35e-6
"""Most seconds that a framework's tracer takes for a call of Python that it writes
down: 0.23 to 0.3 µs where a step makes one to three thousand calls, measured by the
programs' own clocks on two cores."""
SECONDS_AN_EVENT = 0.45e-6
"""What another event of the framework's takes, measured where every op is its own
dispatch.
"""


def cost_of_calls(window: RecordedWindow) -> float:
    """What tracing calls of Python adds to a step, at most, as a share of it: by how
    many were traced in a window.
    """
    return _share(window.python_calls * SECONDS_A_CALL, window.seconds)


def cost_without_calls(window: RecordedWindow) -> float:
    """What the frameworks' own events add to a step, as a share of it, by how many the
    busiest thread of the host has.
    """
    return _share(window.other_events * SECONDS_AN_EVENT, window.seconds)


def _share(spent: float, seconds: float) -> float:
    """Of the time that is left without it; no more than all of it again."""
    return spent / max(seconds - spent, spent, 1e-9)
