"""The program's own lines and functions in which samples find one kind of work."""

from __future__ import annotations

from operator import itemgetter

import numpy as np

from tfadvisor.arrays import Int64Array, descending, distinct
from tfadvisor.causes.account import RunDone, RunPlace, RunShare
from tfadvisor.causes.loop_levels import file_name
from tfadvisor.causes.sampled_stacks import NOBODY, Frame, Sampled, Stacks
from tfadvisor.tallies import added_up
from tfadvisor.timeline.names.doings import Doing
from tfadvisor.timeline.names.stack_frames import Work

_MOST_LINES = 8
_NEARLY_ALL, _HARDLY = 0.9, 0.1
"""Of a kind of work, that one function must hold to be where it is done, and that one
line of several holds at most to be left out.
"""

_DONE = Doing.FLATTENING, Doing.CONVERTING, Doing.CHECKING, Doing.EXTENDING


def place_of_frame(frame: Frame) -> RunPlace:
    """A line of the program, by the call that is under way on it."""
    return RunPlace(file_name(frame.file), frame.line, frame.function)


def innermost_own(
    stacks: Stacks,
    sampled: Sampled,
    depth: int = -1,
) -> Int64Array:
    """Of each run the program's innermost frame below a depth: its number, NOBODY for
    none.
    """
    stack, which = np.unique(sampled.stack, return_inverse=True)
    return _first_own(stacks, stacks.frame[stack, depth + 1 :][:, ::-1])[which]


def outermost_own(
    stacks: Stacks,
    sampled: Sampled,
    depth: int,
) -> Int64Array:
    """As innermost_own, the outermost."""
    stack, which = np.unique(sampled.stack, return_inverse=True)
    return _first_own(stacks, stacks.frame[stack, depth + 1 :])[which]


def brings_on(
    stacks: Stacks,
    sampled: Sampled,
    work: Work,
) -> tuple[RunPlace, ...]:
    """The program's innermost lines around the outermost function that is known to do
    this work, most time first, but for what takes hardly any of it. What is traced is
    the program's own, too.
    """
    sampled = sampled.of_stacks()
    frames = stacks.frame[sampled.stack]
    inside = np.logical_or.accumulate(stacks.of_work(work)[frames], axis=1)
    found = _first_own(stacks, np.where(inside, NOBODY, frames)[:, ::-1])
    us = np.bincount(found + 1, weights=sampled.us)[1:]
    least = _HARDLY * sampled.us.sum()
    order = [int(best) for best in descending(us) if us[best] > least]
    return tuple(place_of_frame(stacks.frames[best]) for best in order)


def _first_own(
    stacks: Stacks,
    frames: Int64Array,
) -> Int64Array:
    """frames: of each run, in the order in which they are looked at."""
    found = frames[np.arange(len(frames)), stacks.is_own[frames].argmax(axis=1)]
    return np.where(stacks.is_own[found], found, NOBODY)


def own_lines(
    stacks: Stacks,
    sampled: Sampled,
    total_us: int,
) -> tuple[RunShare, ...]:
    """The program's innermost lines in these runs, most time first. total_us: that
    their fractions are of.
    """
    lines = stacks.of_line[innermost_own(stacks, sampled)]
    found = []
    for key in distinct(lines[lines != NOBODY]).tolist():
        mine = sampled.only(lines == key)
        place = place_of_frame(stacks.frames[key])
        us, seen = int(mine.us.sum()), int(mine.seen.sum())
        what = f"{place.file}:{place.line}"
        share = us / max(total_us, 1)
        found.append(RunShare(what, "other", share, us / 1e6, seen, (place,)))
    found.sort(key=lambda share: -share.seconds)
    return tuple(found[:_MOST_LINES])


def done_in_steps(
    stacks: Stacks,
    steps: Sampled,
) -> tuple[RunDone, ...]:
    """What libraries do there for the arguments of calls, or for a session's graph, but
    for tracing.
    """
    ready = steps.only(~stacks.does(Work.COMPILE)[steps.stack]).of_stacks()
    found = []
    for doing in _DONE:
        frames = stacks.frame[ready.stack][:, ::-1]
        is_it = stacks.doing(doing)[frames]
        rows = np.flatnonzero(is_it.any(axis=1))
        if not len(rows):
            continue
        mine = ready.only(np.asarray(is_it.any(axis=1)))
        innermost = frames[rows, is_it[rows].argmax(axis=1)]
        us = np.bincount(innermost, weights=mine.us)
        lines = own_lines(stacks, mine, int(steps.us.sum()))
        found.append(
            RunDone(
                doing.slug,
                stacks.frames[int(us.argmax())].function,
                int(mine.us.sum()) / max(int(steps.us.sum()), 1),
                tuple(place for line in lines for place in line.places),
            )
        )
    return tuple(found)


def own_functions(
    stacks: Stacks,
    sampled: Sampled,
    depth: int,
) -> tuple[RunPlace, ...]:
    """The program's functions below a depth in each of which nearly all of these runs
    are, one inside of another, the outermost first; each with its line that takes most.
    """
    found: list[RunPlace] = []
    sampled = sampled.of_stacks()
    frames = stacks.frame[sampled.stack, depth + 1 :]
    is_own = stacks.is_own[frames]
    nth = np.where(is_own, np.cumsum(is_own, axis=1), 0)
    for level in range(1, int(nth.max(initial=0)) + 1):
        is_it = nth == level
        has = is_it.any(axis=1)
        at = frames[np.flatnonzero(has), is_it[has].argmax(axis=1)]
        place = _mostly_in(stacks, at, sampled.only(has), int(sampled.us.sum()))
        if place is None:
            break
        found.append(place)
    return tuple(found)


def _mostly_in(
    stacks: Stacks, frames: Int64Array, sampled: Sampled, total_us: int
) -> RunPlace | None:
    """frames: of each run, the one of the program. None where no function holds nearly
    all of the time.
    """
    us = np.bincount(frames, weights=sampled.us)
    lines = [(stacks.frames[key], time) for key, time in enumerate(us.tolist()) if time]
    time = added_up(((call.file, call.function), us) for call, us in lines)
    most = max(time, key=time.__getitem__, default=None)
    if most is None or time[most] < _NEARLY_ALL * total_us:
        return None
    of_it = [line for line in lines if (line[0].file, line[0].function) == most]
    return place_of_frame(max(of_it, key=itemgetter(1))[0])
