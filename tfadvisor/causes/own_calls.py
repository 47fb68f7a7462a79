"""Which of the program's own functions samples meet below a loop or a pipeline, with
all that they call, and the line that calls each.
"""

from __future__ import annotations

import numpy as np

from tfadvisor.arrays import Int64Array, descending
from tfadvisor.causes.account import RunShare
from tfadvisor.causes.own_lines import place_of_frame
from tfadvisor.causes.sampled_stacks import NOBODY, Sampled, Stacks

_LEAST = 0.05
"""Of the time, that a function is named for."""
_MOST_CALLS = 12
_PARTS, _MOST_PARTS = 10, 7
"""Of the time in equal parts, in how many a function is met that runs again and
again; what runs once takes few of them."""


def own_calls(
    stacks: Stacks,
    sampled: Sampled,
    among: Sampled,
    depth: int = -1,
) -> tuple[RunShare, ...]:
    """Functions below a depth that take a twentieth of the time and come again and
    again, most time first. sampled: the runs that count. among: those that make up the
    whole time. The places of each are its line that takes most, and the line that
    calls it.
    """
    if not len(sampled):
        return ()
    begins = np.linspace(among.at_us[0], among.at_us[-1] + 1, _PARTS + 1)[1:-1]
    parts = np.zeros((len(stacks.frame), _PARTS), np.bool_)
    parts[sampled.stack, np.searchsorted(begins, sampled.at_us, side="right")] = True
    sampled = sampled.of_stacks()
    row, callee, caller = _calls(stacks, sampled, depth)
    width = len(stacks.frames) + 1
    function = _function_of_frame(stacks)[callee]
    keys, which = np.unique((caller + 1) * width + function, return_inverse=True)
    us = np.bincount(which, weights=sampled.us[row], minlength=len(keys))
    total = max(int(among.us.sum()), 1)
    found = []
    for key in [int(key) for key in descending(us) if us[key] >= _LEAST * total]:
        mine = np.flatnonzero(which == key)
        if parts[sampled.stack[row[mine]]].any(axis=0).sum() < _MOST_PARTS:
            continue
        most = np.bincount(callee[mine], weights=sampled.us[row[mine]]).argmax()
        place = place_of_frame(stacks.frames[int(most)])
        by = place_of_frame(stacks.frames[int(caller[mine[0]])])
        seen = int(sampled.seen[row[mine]].sum())
        share = float(us[key]) / total
        places = (place, by)
        name = place.function
        found.append(RunShare(name, "other", share, us[key] / 1e6, seen, places))
    return tuple(found[:_MOST_CALLS])


def _calls(
    stacks: Stacks,
    sampled: Sampled,
    depth: int,
) -> tuple[Int64Array, Int64Array, Int64Array]:
    """(run, frame, the frame that calls it) of the program's functions, each once a
    run, by its outermost call: what no line of the program calls is left out.
    """
    frames = stacks.frame[sampled.stack]
    own = stacks.is_own[frames]
    row, column = np.nonzero(own[:, 1:] & own[:, :-1])
    column += 1
    named = stacks.of_frames(frame.function != "" for frame in stacks.frames) > 0
    is_meant = (column > depth) & named[frames[row, column]]
    row, column = row[is_meant], column[is_meant]
    callee, caller = frames[row, column], frames[row, column - 1]
    function = _function_of_frame(stacks)[callee]
    _, first = np.unique(row * (len(stacks.frames) + 1) + function, return_index=True)
    return row[first], callee[first], caller[first]


def _function_of_frame(stacks: Stacks) -> Int64Array:
    """Numbers of functions, so that those of frames index it."""
    found = np.full(len(stacks.frames) + 1, NOBODY, np.int64)
    found[stacks.frame] = stacks.function
    return found
