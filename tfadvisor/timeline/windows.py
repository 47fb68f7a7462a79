"""In which step an instant lies."""

from __future__ import annotations

import numpy as np

from tfadvisor.arrays import BoolArray, Int64Array, blocks, falses, unknown
from tfadvisor.timeline.sweeps import reached
from tfadvisor.timeline.timeline_parts import Steps


def step_of(times: Int64Array, steps: Steps) -> Int64Array:
    """Index of the step in which each time lies, -1 outside of all."""
    if not len(steps) or not len(times):
        return unknown(times)
    step = reached(steps.starts, times) - 1
    return np.where((step >= 0) & (times < steps.ends[np.maximum(step, 0)]), step, -1)


def in_counted_steps(times: Int64Array, steps: Steps) -> BoolArray:
    """Whether each time lies in a step that counts."""
    if not len(steps) or not len(times):
        return falses(times)
    found = np.empty(len(times), np.bool_)
    for part in blocks(len(times)):
        found[part] = steps.counts(step_of(times[part], steps))
    return found


def leading(known: BoolArray) -> int:
    """How many of the first are known before all others are not; 0 where a known one
    follows an unknown one.
    """
    count = int(np.count_nonzero(known))
    return count if known[:count].all() else 0
