"""Python frames that cross: one begins within another and outlives it, which no call
stack does.
"""

from __future__ import annotations

import numpy as np

from tfadvisor.arrays import BoolArray, Int64Array, true_at
from tfadvisor.timeline.intervals import parents

_LONG_PS = 1_000_000_000
"""Shorter frames (1 ms) take no time worth telling from the caller's."""
_MOST_ROUNDS = 64


def without_crossings(
    start: Int64Array,
    end: Int64Array,
    frames: BoolArray,
) -> Int64Array:
    """Ends of one thread's events, ps, such that long frames enclose each other or lie
    apart.

    start, end: sorted by start, longer ones first among equal starts. frames: which of
    them are Python frames.

    Where most of the later frame lies behind the end of the earlier one, or the earlier
    one begins with the recording, the earlier had ended when the later began; else the
    later one ends with it.
    """
    long = true_at(frames & (end - start >= _LONG_PS))
    if len(long) < 2:
        return end
    recording = start[np.argmax(frames)]
    begins = start[long]
    ends = end[long].copy()
    for _ in range(_MOST_ROUNDS):
        inner, outer = _crossing(begins, ends)
        if not len(inner):
            break
        behind = ends[inner] - ends[outer]
        within = ends[outer] - begins[inner]
        ended = (behind > within) | (begins[outer] == recording)
        np.minimum.at(ends, outer[ended], begins[inner[ended]])
        np.minimum.at(ends, inner[~ended], ends[outer[~ended]])
    if (ends == end[long]).all():
        return end
    mended = end.copy()
    mended[long] = ends
    return mended


def _crossing(begins: Int64Array, ends: Int64Array) -> tuple[Int64Array, Int64Array]:
    """(frames that outlive the one in which they begin, that one)."""
    around = parents(begins, ends)
    inner = true_at(around >= 0)
    outer = around[inner]
    crosses = (begins[inner] < ends[outer]) & (ends[inner] > ends[outer])
    return inner[crosses], outer[crosses]
