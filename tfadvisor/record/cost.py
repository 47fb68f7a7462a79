"""What recording adds to a step: by the number of calls of Python that are traced, and of other events."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from tfadvisor.timeline.names.planes import is_host_plane
from tfadvisor.xplane.columns import Selection
from tfadvisor.xplane.decode import decode_file

OF_FRAMEWORK = 0.35e-6
"""Most seconds that a framework's tracer takes for a call of Python that it writes down: 0.23 to 0.3 µs where a step makes one to
three thousand calls, measured by the programs' own clocks on two cores."""
OF_OURS = 1.1e-6
"""Most seconds that our own tracer takes, which Python calls at each call and return of any function: 1 µs by the same clocks."""
SECONDS_AN_EVENT = 0.45e-6
"""What another event of the framework's takes, measured where every op is a dispatch of its own."""


def cost_of(folder: Path, seconds: float, followed: int | None) -> float:
    """What tracing calls of Python adds to a step, at most, as a share of it: by how many were traced in a window.

    folder: its traces. followed: as of a Window. Not by the pace of windows with and without: what else runs on the machine
    moves that by more.
    """
    if followed is None:
        return _share(calls_traced(folder) * OF_FRAMEWORK, seconds)
    return _share(followed * OF_OURS, seconds)


def cost_without_calls(folder: Path, seconds: float) -> float:
    """What the frameworks' own events add to a step, as a share of it, by how many the busiest thread of the host has."""
    return _share(SECONDS_AN_EVENT * max((_host_events(file)[1] for file in _traces(folder)), default=0), seconds)


def _share(spent: float, seconds: float) -> float:
    """Of the time that is left without it; no more than all of it again."""
    return spent / max(seconds - spent, spent, 1e-9)


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
