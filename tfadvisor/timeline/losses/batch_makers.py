"""Python threads beside the loop that make its batches while it waits for one, and the function that they are mostly in."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import msgspec
import numpy as np

from tfadvisor.arrays import true_at
from tfadvisor.timeline.host.threads import Threads
from tfadvisor.timeline.intervals import Intervals, intersection
from tfadvisor.timeline.losses.activities import Names
from tfadvisor.timeline.model import Steps
from tfadvisor.timeline.names.frames import frame_place
from tfadvisor.timeline.nesting import innermost
from tfadvisor.vocabulary import TimeClass

_WORTH_LOOKING = 0.05
"""Of the counted steps, what waiting for input must take."""
_AT_WORK = 0.5
"""Of the time that the loop waits for input, what functions of the user's program must take on a thread that makes batches."""


class BatchMakers(msgspec.Struct, frozen=True):
    """Threads that make batches."""

    threads: int = 0
    """How many are in the user's own functions for most of the time that the loop waits for input."""
    place: str = ""
    """The innermost of these functions in which they spend most of it, `__getitem__ (data.py:39)`; "" without threads."""


def batch_makers(
    threads: Threads, steps: Steps, classes: Mapping[TimeClass, Intervals], names: Callable[[], Names]
) -> BatchMakers:
    """Of the counted steps; none where the trace holds no frames of other threads. classes: of host_classes_of_time. names:
    what the threads' names say, asked for only where the loop waits.
    """
    windows = steps.steady_time
    if steps.thread < 0 or not windows:
        return BatchMakers()
    waiting = intersection(classes[TimeClass.INPUT], windows)
    if waiting.length() < max(_WORTH_LOOKING * windows.length(), 1):
        return BatchMakers()
    users = names().users
    count, time = 0, np.zeros(len(threads.names), np.int64)
    for thread in threads.threads:
        frames = true_at(users[threads.row[thread.lo : thread.hi]]) + thread.lo
        frames = frames[threads.end[frames] > threads.start[frames]]
        if thread.index == steps.thread or thread.is_pipeline or not len(frames):
            continue
        lo, hi, who = innermost(threads.start[frames], threads.end[frames])
        spent = waiting.within(lo, hi)
        if int(spent.sum()) >= _AT_WORK * waiting.length():
            count += 1
            np.add.at(time, threads.row[frames[who]], spent)
    if not count:
        return BatchMakers()
    file, line, function = frame_place(threads.names[int(np.argmax(time))]) or ("", 0, "")
    return BatchMakers(count, f"{function} ({file}:{line})")
