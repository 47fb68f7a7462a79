"""How many programs and ops each function of the program dispatches."""

from __future__ import annotations

import msgspec
import numpy as np

from tfadvisor.timeline.host.dispatches import dispatches
from tfadvisor.timeline.host.threads import Threads
from tfadvisor.timeline.intervals import parents
from tfadvisor.timeline.names.classes import HostClass
from tfadvisor.timeline.names.frames import frame_place, is_users_frame
from tfadvisor.timeline.names.host_activities import plain
from tfadvisor.timeline.timeline_parts import Steps
from tfadvisor.timeline.windows import in_counted_steps

_MOST = 200


class Dispatched(msgspec.Struct, frozen=True):
    """What a function of the program dispatches in the counted steps."""

    file: str
    """Of the function, without its folder."""
    line: int
    """Where it begins."""
    function: str
    called: str
    """What is dispatched, in words: `the call of train_step`."""
    count: int


def dispatch_lines(threads: Threads, steps: Steps) -> tuple[Dispatched, ...]:
    """Of the driving thread, the commonest first; empty without Python frames."""
    if steps.thread < 0 or not steps.steady_time:
        return ()
    thread = threads.threads[steps.thread]
    calls = dispatches(threads, thread)
    calls = calls[in_counted_steps(threads.start[calls], steps)]
    frames = threads.of(thread, HostClass.FRAME, HostClass.INPUT)
    frames = frames[threads.bear(frames, is_users_frame)]
    if not len(calls) or not len(frames):
        return ()
    both = np.concatenate([frames, calls])
    order = np.lexsort((-threads.end[both], threads.start[both]))
    both = both[order]
    parent = parents(threads.start[both], threads.end[both])
    mine = (order >= len(frames)) & (parent >= 0)
    around = both[parent[mine]]
    pairs = np.stack([threads.row[around], threads.row[both[mine]]])
    found, count = np.unique(pairs, axis=1, return_counts=True)
    dispatched = []
    for at in np.argsort(-count, kind="stable")[:_MOST].tolist():
        place = frame_place(threads.names[int(found[0, at])])
        if place is not None:
            called = plain(threads.names[int(found[1, at])])
            dispatched.append(Dispatched(*place, called, int(count[at])))
    return tuple(dispatched)
