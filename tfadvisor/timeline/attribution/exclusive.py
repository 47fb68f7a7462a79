"""Instants shared out among the events that run in them, so that what all get adds up
to what any of them covers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tfadvisor.arrays import true_at
from tfadvisor.timeline.intervals import Int64Array, Intervals
from tfadvisor.timeline.walks import own_stretches, shared

if TYPE_CHECKING:
    import numpy.typing as npt


def exclusive_time(
    start: Int64Array,
    end: Int64Array,
    stream: npt.NDArray[Any],
    instants: Intervals,
) -> Int64Array:
    """ps of the instants that each event is given.

    On one stream (a GPU's stream, a thread) an instant belongs to the innermost event:
    the one that began last. Where n streams work at once each gets the n-th part of the
    instant. Streams whose events cross count as one stream an event.
    """
    spent = np.zeros(len(start), np.int64)
    mine = true_at(instants.within(start, end) > 0)
    if not len(mine):
        return spent
    start = start[mine]
    end = end[mine]
    stream = stream[mine]
    if (start[1:] >= end[:-1]).all():
        spent[mine] = instants.within(start, end)
        return spent
    lo, hi, who = own_stretches(start, end, stream)
    np.add.at(spent, mine[who], shared(lo, hi, instants.starts, instants.ends))
    return spent
