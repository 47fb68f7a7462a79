"""Python frames that cross: one begins within another and outlives it, which no call stack does.

Coroutines and C functions that raise leave frames behind that the tracer closes late, with a call further up. And where a
coroutine goes on, the tracer sees it return without having seen the call, and lets it begin with the recording. Such a frame
would take the place of the true caller of everything that happens meanwhile.
"""

from __future__ import annotations

import numpy as np

from tfadvisor.timeline.intervals import BoolArray, Int64Array
from tfadvisor.timeline.nesting import parents

_LONG_PS = 1_000_000_000
"""Shorter frames (1 ms) take no time worth telling from the caller's."""
_MOST_ROUNDS = 64


def without_crossings(start: Int64Array, end: Int64Array, frames: BoolArray) -> Int64Array:
    """Ends of one thread's events, ps, such that long frames enclose each other or lie apart.

    start, end: sorted by start, longer ones first among equal starts. frames: which of them are Python frames.

    Where most of the later frame lies behind the end of the earlier one, or the earlier one begins with the recording, the
    earlier had ended when the later began; else the later one ends with it.
    """
    long = np.flatnonzero(frames & (end - start >= _LONG_PS))
    if len(long) < 2:
        return end
    recording = start[np.argmax(frames)]
    begins, ends = start[long], end[long].copy()
    for _ in range(_MOST_ROUNDS):
        inner, outer = _crossing(begins, ends)
        if not len(inner):
            break
        beyond = (ends[inner] - ends[outer] > ends[outer] - begins[inner]) | (begins[outer] == recording)
        np.minimum.at(ends, outer[beyond], begins[inner[beyond]])
        np.minimum.at(ends, inner[~beyond], ends[outer[~beyond]])
    if (ends == end[long]).all():
        return end
    mended = end.copy()
    mended[long] = ends
    return mended


def _crossing(begins: Int64Array, ends: Int64Array) -> tuple[Int64Array, Int64Array]:
    """(frames that outlive the one in which they begin, that one)."""
    outer = parents(begins, ends)
    inner = np.flatnonzero(outer >= 0)
    outer = outer[inner]
    crosses = (begins[inner] < ends[outer]) & (ends[inner] > ends[outer])
    return inner[crosses], outer[crosses]
