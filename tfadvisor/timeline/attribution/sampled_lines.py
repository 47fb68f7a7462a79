"""Lines of the training loop that only samples name: functions without a frame, and a
loop that began before the trace.
"""

from __future__ import annotations

import numpy as np

from tfadvisor.arrays import Int64Array, zeros
from tfadvisor.tallies import listed
from tfadvisor.timeline.attribution.spent import FEWEST_TICKS, Sampled
from tfadvisor.timeline.host.dispatches import dispatches
from tfadvisor.timeline.host.loop_frames import FrameShare
from tfadvisor.timeline.host.threads import Threads
from tfadvisor.timeline.intervals import Intervals, intersection
from tfadvisor.timeline.timeline_parts import Steps

_WORTH_NAMING = 0.01
"""Of step time."""
_DISPATCHES = 0.1
"""Of a line's ticks that lie in dispatches: such a line is the step, or a part of it.
"""


def sampled_lines(
    samples: Sampled,
    threads: Threads,
    steps: Steps,
    silent: Intervals,
    host: Intervals,
    loading: Intervals,
) -> tuple[FrameShare, ...]:
    """As loop_frames, of the time in which the driving thread is in no event; shares of
    that time are those of its ticks.

    silent: of the driving thread, in the counted steps. calls is 0: nobody counted
    them.
    """
    if steps.thread < 0:
        return ()
    thread = threads.threads[steps.thread]
    calls = dispatches(threads, thread)
    begun = threads.when(calls).contains(samples.at)
    left = samples.unrecorded()
    spent = [_shared(left, intersection(silent, busy)) for busy in (host, loading)]
    lines = listed(
        (place[:3], row) for row, place in enumerate(samples.places) if place[0]
    )
    found = []
    for (file, line, function), rows in lines.items():
        of_host, of_loading = (int(shared[rows].sum()) for shared in spent)
        if of_host + of_loading < max(_WORTH_NAMING * steps.steady_time.length(), 1):
            continue
        mine = np.isin(samples.place, rows)
        inner = max(rows, key=lambda row: int(spent[0][row] + spent[1][row]))
        found.append(
            FrameShare(
                file,
                line,
                function,
                0,
                of_host,
                of_loading,
                samples.places[inner][3],
                runs_step=float(begun[mine].mean()) >= _DISPATCHES,
            )
        )
    return tuple(found)


def _shared(samples: Sampled, instants: Intervals) -> Int64Array:
    """ps of the instants by place, of each as many as its share of the ticks in them.
    Shape (places,).
    """
    at = samples.place[instants.contains(samples.at)]
    if len(at) < FEWEST_TICKS:
        return zeros(samples.places)
    count = np.bincount(at[at >= 0], minlength=len(samples.places))
    return np.asarray(np.rint(count * (instants.length() / len(at))), np.int64)
