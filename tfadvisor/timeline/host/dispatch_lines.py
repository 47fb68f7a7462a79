"""How many programs and ops each function of the program dispatches."""

from __future__ import annotations

import msgspec
import numpy as np

from tfadvisor.arrays import Int64Array, descending
from tfadvisor.timeline.host.dispatches import dispatches
from tfadvisor.timeline.host.thread_layout import Thread
from tfadvisor.timeline.host.threads import Threads
from tfadvisor.timeline.intervals import parents
from tfadvisor.timeline.names.classes import HostClass
from tfadvisor.timeline.names.frames import frame_place, is_users_frame
from tfadvisor.timeline.names.host_activities import plain
from tfadvisor.timeline.timeline_parts import Steps
from tfadvisor.timeline.windows import in_counted_steps

_MOST = 200


class Dispatched(msgspec.Struct, frozen=True):
    """What a function of the program dispatches."""

    file: str
    """Of the function, without its folder; "" for unknown."""
    line: int
    """Where it begins; 0 for unknown."""
    function: str
    name: str
    """Of the event that dispatches: `PjitFunction(train_step)`."""
    count: int

    @property
    def called(self) -> str:
        """What is dispatched, in words: `the call of train_step`."""
        return plain(self.name)


def dispatch_lines(threads: Threads, steps: Steps) -> tuple[Dispatched, ...]:
    """Of the driving thread, the commonest first; empty without Python frames."""
    frames = threads.wanted_rows(is_users_frame) & threads.borne
    if steps.thread < 0 or not steps.steady_time or not frames.any():
        return ()
    thread = threads.threads[steps.thread]
    calls = dispatches(threads, thread)
    calls = calls[in_counted_steps(threads.start[calls], steps)]
    return tuple(line for line in lines_of(threads, thread, calls) if line.file)


def lines_of(
    threads: Threads, thread: Thread, calls: Int64Array
) -> tuple[Dispatched, ...]:
    """Of these calls of a thread, the commonest first, with no place for what no
    function of the program is around.
    """
    frames = threads.of(thread, HostClass.FRAME, HostClass.INPUT)
    frames = frames[threads.bear(frames, is_users_frame)]
    both = np.concatenate([frames, calls])
    order = np.lexsort((-threads.end[both], threads.start[both]))
    both = both[order]
    parent = parents(threads.start[both], threads.end[both])
    mine = order >= len(frames)
    around = np.where(parent >= 0, threads.row[both[parent]], -1)[mine]
    pairs = np.stack([around, threads.row[both[mine]]])
    found, count = np.unique(pairs, axis=1, return_counts=True)
    dispatched = []
    for at in descending(count)[:_MOST].tolist():
        row = int(found[0, at])
        place = frame_place(threads.names[row]) if row >= 0 else None
        called = threads.names[int(found[1, at])]
        dispatched.append(Dispatched(*(place or ("", 0, "")), called, int(count[at])))
    return tuple(dispatched)
