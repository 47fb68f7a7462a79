"""What recording adds to a step: calls of Python by the pace with and without them and by number, other events by number."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from tfadvisor.record.pace import tracer_cost
from tfadvisor.record.window import Window
from tfadvisor.timeline.names.planes import is_host_plane
from tfadvisor.xplane.columns import Selection
from tfadvisor.xplane.decode import decode_file

OF_FRAMEWORK = (0.1e-6, 0.3e-6)
"""Least and most seconds that a framework's tracer takes for a call that it writes down: 0.27 µs where a step of 3 ms makes ten
thousand calls, measured once on two cores."""
OF_OURS = (0.35e-6, 0.9e-6)
"""The same of our own, which Python calls at each call and return of any function: 0.36 to 0.87 µs, measured likewise."""
SECONDS_AN_EVENT = 0.45e-6
"""What another event of the framework's takes, measured where every op is a dispatch of its own."""


def cost_of(without: Sequence[Window], with_tracer: Sequence[Window]) -> float:
    """As a share of a step: by the pace of the windows, as far as the calls in the newest one can have taken so long.

    Other programs on the machine can slow every window of the one kind and none of the other.
    """
    measured = tracer_cost([one.pace for one in without if one.pace], [one.pace for one in with_tracer if one.pace])
    newest = with_tracer[-1]
    if newest.followed is None:
        number, each = calls_traced(newest.folder), OF_FRAMEWORK
    else:
        number, each = newest.followed, OF_OURS
    least, most = (number * one / max(newest.seconds - number * one, number * one, 1e-9) for one in each)
    return min(max(measured, least), most)


def cost_without_calls(window: Window) -> float:
    """What the frameworks' own events add to a step, as a share of it, by how many the busiest thread of the host has."""
    spent = SECONDS_AN_EVENT * max((_host_events(file)[1] for file in _traces(window.folder)), default=0)
    return spent / max(window.seconds - spent, spent, 1e-9)


def calls_traced(folder: Path) -> int:
    """Calls of Python functions in the trace of the process that made most."""
    return max((_host_events(file)[0] for file in _traces(folder)), default=0)


def _traces(folder: Path) -> Iterator[Path]:
    return folder.glob("*.xplane.pb")


def _host_events(file: Path) -> tuple[int, int]:
    """(calls of Python functions on all threads of a trace's host, which take turns; other events on the thread with most)."""
    trace = decode_file(file, Selection())
    on_host = np.array([is_host_plane(plane.name) for plane in trace.planes], dtype=np.bool_)
    of_python = np.array([name.startswith("$") for name in trace.names.name], dtype=np.bool_)
    line = trace.line_of_event()
    host, calls = on_host[trace.lines.plane][line], of_python[trace.events.row]
    others = np.bincount(line[host & ~calls])
    return int(np.count_nonzero(host & calls)), int(others.max(initial=0))
