"""Python of a TensorFlow loop that ends in a tensor for the next dispatch: work that makes the next batch.

For traces without Python frames, which would name the function. A loop that takes its batches from tf.data makes none.
"""

from __future__ import annotations

import numpy as np

from tfadvisor.timeline.host.dispatches import dispatches, outermost
from tfadvisor.timeline.host.threads import Threads
from tfadvisor.timeline.intervals import EMPTY, Intervals, union
from tfadvisor.timeline.model import Steps, StepSource
from tfadvisor.timeline.names.classes import HostClass
from tfadvisor.timeline.names.frames import is_frame
from tfadvisor.timeline.names.programs import makes_tensor

_MOST_DISPATCHES = 8
"""A step with as many dispatches runs op by op, and most of them have a conversion before them."""
_MOST_STEPS = 0.5


def made_batches(threads: Threads, steps: Steps) -> Intervals:
    """Python inside a step's marker and before its dispatch that ends in a tensor, in most of the steps. Other events of the
    thread lie inside it.
    """
    if steps.thread < 0 or not len(steps) or steps.source is not StepSource.MARKER:
        return EMPTY
    thread = threads.threads[steps.thread]
    if threads.bear(slice(thread.lo, thread.hi), is_frame).any():
        return EMPTY
    known = threads.of(thread, HostClass.LAUNCH)
    conversions = outermost(threads, known[threads.bear(known, makes_tensor)])
    batches = threads.everywhere(HostClass.GET_NEXT)  # also where a compiled function takes them, as in Keras' fit
    calls = dispatches(threads, thread)
    inside = union(threads.start[conversions], threads.end[conversions])
    calls = calls[~inside.contains(threads.start[calls])] if len(conversions) else calls
    most = _MOST_STEPS * len(steps)
    if not len(conversions) or len(batches) >= most or len(calls) >= _MOST_DISPATCHES * len(steps):
        return EMPTY

    begun, ended = threads.start[calls], threads.end[calls]
    first = np.searchsorted(begun, steps.starts)  # the first dispatch of each step
    has = first < len(calls)
    first = first[has]
    until, after = begun[first], np.where(first > 0, ended[first - 1], steps.starts[has])
    last = np.searchsorted(threads.start[conversions], until) - 1
    converted = threads.start[conversions][np.maximum(last, 0)]
    converts = (last >= 0) & (converted > after)
    if int(converts.sum()) < min(most, int(has.sum())) or not converts.any():
        return EMPTY
    after, converted = after[converts], converted[converts]
    start = np.maximum(steps.starts[has][converts], after)
    marked = start < converted
    return union(start[marked], converted[marked])
