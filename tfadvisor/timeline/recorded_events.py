"""How much of what a host's thread did was recorded: each event cost that thread time while the profiler ran."""

from __future__ import annotations

import msgspec

from tfadvisor.timeline.host.threads import Threads
from tfadvisor.timeline.model import Steps
from tfadvisor.timeline.names.frames import is_frame
from tfadvisor.timeline.windows import in_counted_steps


class RecordedEvents(msgspec.Struct, frozen=True):
    """Of the thread that drives the steps, in the counted ones."""

    frames: int = 0
    """Python frames."""
    others: int = 0
    """All other events."""


def recorded_events(threads: Threads, steps: Steps) -> RecordedEvents:
    """Zeros where no thread is known to drive."""
    if steps.thread < 0:
        return RecordedEvents()
    thread = threads.threads[steps.thread]
    counted = in_counted_steps(threads.start[thread.lo : thread.hi], steps)
    row = threads.row[thread.lo : thread.hi][counted]
    frames = int(threads.wanted_rows(is_frame)[row].sum())
    return RecordedEvents(frames, len(row) - frames)
