"""Instants shared out among the events that run in them, so that what all get adds up
to what any of them covers.
"""

from __future__ import annotations

import numpy as np

from tfadvisor.arrays import AnyArray, Int64Array, true_at
from tfadvisor.timeline.intervals import Intervals
from tfadvisor.timeline.walks import own_stretches, shared


def exclusive_time(
    start: Int64Array,
    end: Int64Array,
    stream: AnyArray,
    instants: Intervals,
) -> Int64Array:
    """ps of the instants that each event is given.

    On one stream (a GPU's stream, a thread) an instant belongs to the innermost event:
    the one that began last. Where n streams work at once each gets the n-th part of the
    instant. Streams whose events cross count as one stream an event.
    """
    spent = instants.within(start, end)
    if (start[1:] >= end[:-1]).all():
        return spent
    mine = true_at(spent > 0)
    spent[mine] = 0
    if not len(mine):
        return spent
    lo, hi, who = own_stretches(start[mine], end[mine], stream[mine])
    np.add.at(spent, mine[who], shared(lo, hi, instants.starts, instants.ends))
    return spent
