"""What a thread does at given instants: the innermost event, and the function of the user's program around it."""

from __future__ import annotations

import msgspec
import numpy as np

from tfadvisor.arrays import ranks, used
from tfadvisor.timeline.host.threads import Thread, Threads
from tfadvisor.timeline.intervals import BoolArray, Int64Array, Intervals, difference, union
from tfadvisor.timeline.losses.model import Activity
from tfadvisor.timeline.model import Steps
from tfadvisor.timeline.names.frames import annotates, bare_frame, frame_place
from tfadvisor.timeline.names.package_files import is_users_frame
from tfadvisor.timeline.names.programs import inside_runtime
from tfadvisor.timeline.nesting import innermost, parents
from tfadvisor.timeline.sweeps import reached

_MOST_EVENTS = 3_000_000
_TELLING_SHARE = 0.3
"""Of the instants, what events of the driving thread must cover to explain them."""


class Names(msgspec.Struct, frozen=True):
    """What each distinct name of a host's events says, worked out once: shape (names,)."""

    users: BoolArray
    """A function of the user's program."""
    silent: BoolArray
    """The profiler's own frame."""
    telling: BoolArray
    """No event inside a runtime."""


def names_of(threads: Threads) -> Names:
    """Of every name that the host's threads use."""
    users, silent, telling = (np.zeros(len(threads.names), np.bool_) for _ in range(3))
    for row in (
        used(threads.row, len(threads.names)) if threads.borne is None else np.flatnonzero(threads.borne).tolist()
    ):
        name = threads.names[row]
        users[row], silent[row], telling[row] = is_users_frame(name), annotates(name), not inside_runtime(name)
    return Names(users, silent, telling)


def main_activity(threads: Threads, names: Names, steps: Steps, instants: Intervals, drivers: bool) -> Activity:
    """What fills most of these instants: on the driving thread if its events cover enough of them, else on the thread whose
    events cover most. drivers: the instants are by definition the driving thread's."""
    driver = threads.threads[steps.thread] if steps.thread >= 0 else None
    if driver is not None:
        chosen = _telling(threads, names, driver, steps, instants)
        covered = _covered(threads, chosen, instants)
        if drivers or covered >= _TELLING_SHARE * instants.length():
            return _most(threads, names, driver, steps, chosen, instants)
    best, most, telling = driver, 0 if driver is None else covered, chosen if driver is not None else None
    for thread in threads.threads:
        if driver is not None and thread.index == driver.index:
            continue
        chosen = _telling(threads, names, thread, steps, instants)
        covered = _covered(threads, chosen, instants)
        if covered > most:
            best, most, telling = thread, covered, chosen
    if best is None or telling is None:
        return Activity("", "", "", "", "", "", instants.length())
    return _most(threads, names, best, steps, telling, instants)


def _telling(threads: Threads, names: Names, thread: Thread, steps: Steps, instants: Intervals) -> Int64Array:
    """Positions of a thread's events at these instants, those that only mark a whole step left out."""
    inside = _of_steps(threads, names, thread, steps)
    return inside[instants.within(threads.start[inside], threads.end[inside]) > 0] if len(instants) else inside[:0]


def _of_steps(threads: Threads, names: Names, thread: Thread, steps: Steps) -> Int64Array:
    """Positions of a thread's events that say something: no marker of a whole step, no frame of the profiler's."""
    start, end = threads.start[thread.lo : thread.hi], threads.end[thread.lo : thread.hi]
    inside = np.flatnonzero((end > start) & (start < steps.ends[-1]) & (end > steps.starts[0]))[:_MOST_EVENTS]
    start, end, row = start[inside], end[inside], threads.row[inside + thread.lo]
    step = reached(steps.starts, start - 1)
    around = (step < len(steps)) & (end >= steps.span_ends[np.minimum(step, len(steps) - 1)])
    return inside[(~around | names.users[row]) & ~names.silent[row]] + thread.lo


def _covered(threads: Threads, chosen: Int64Array, instants: Intervals) -> int:
    """How much of the instants the events cover, ps."""
    covering = union(threads.start[chosen], threads.end[chosen])
    return int(covering.within(instants.starts, instants.ends).sum())


def _most(
    threads: Threads, names: Names, thread: Thread, steps: Steps, chosen: Int64Array, instants: Intervals
) -> Activity:
    """The user's call, or the event without one, that fills most of the instants; nothing named where gaps fill more."""
    start, end, row = threads.start[chosen], threads.end[chosen], threads.row[chosen]
    gap = _unnamed(threads, names, thread, steps, difference(instants, union(start, end)))
    spent = _innermost_time(start, end, instants)
    leaf = np.flatnonzero(spent)
    if not len(leaf):
        return Activity("", "", "", thread.name, *gap)
    parent = parents(start, end)
    del start, end
    named, _ = _around(parent, leaf, names.telling[row])
    spent_on = np.where(named >= 0, named, leaf)
    user, call = _around(parent, leaf, names.users[row])
    call = np.where(user >= 0, call, spent_on)
    of_user = np.where(user >= 0, row[user].astype(np.int64), -1)
    group = ranks(of_user * len(threads.names) + row[call])
    del of_user, parent
    time = np.zeros(int(group.max()) + 1, np.int64)
    np.add.at(time, group, spent[leaf])
    top = int(np.argmax(time))
    if time[top] < gap[2]:
        return Activity("", "", "", thread.name, *gap)
    mine = leaf[group == top]
    inner = np.bincount(row[spent_on[group == top]], spent[mine])
    name, first = threads.names[int(np.argmax(inner))], np.flatnonzero(group == top)[0]
    calls = threads.names[row[call[first]]]
    place = _place(threads.names[row[user[first]]]) if user[first] >= 0 else ""
    return Activity(_plain(name), _plain(calls) if calls != name else "", place, thread.name, "", "", int(time[top]))


def _innermost_time(start: Int64Array, end: Int64Array, instants: Intervals) -> Int64Array:
    """How much of the instants each event is the innermost one in, ps."""
    lo, hi, who = innermost(start, end)
    spent = np.zeros(len(start), np.int64)
    np.add.at(spent, who, instants.within(lo, hi))
    return spent


def _around(parent: Int64Array, leaf: Int64Array, wanted: BoolArray) -> tuple[Int64Array, Int64Array]:
    """For each leaf (the innermost wanted event around it, -1 without one; the event below that on the way to the leaf).

    Both are the leaf itself where that is wanted.
    """
    found, below = leaf.copy(), leaf.copy()
    climbing = np.flatnonzero(~wanted[found])
    while len(climbing):
        below[climbing] = found[climbing]
        found[climbing] = parent[found[climbing]]
        climbing = climbing[found[climbing] >= 0]
        climbing = climbing[~wanted[found[climbing]]]
    return found, below


def _unnamed(threads: Threads, names: Names, thread: Thread, steps: Steps, gaps: Intervals) -> tuple[str, str, int]:
    """(event before, event after, ps of all gaps) of the pair of events between which most of the gaps' time lies."""
    if not len(gaps):
        return "", "", 0
    around = _of_steps(threads, names, thread, steps)
    start, end, row = threads.start[around], threads.end[around], threads.row[around].astype(np.int64)
    order = slice(None) if (end[1:] >= end[:-1]).all() else np.argsort(end, kind="stable")
    before = np.append(row[order], -1)[reached(end[order], gaps.starts) - 1]
    after = np.append(row, -1)[reached(start, gaps.ends - 1)]
    pair = ranks((before + 1) * (len(threads.names) + 1) + after + 1)
    time = np.zeros(int(pair.max()) + 1, np.int64)
    np.add.at(time, pair, gaps.ends - gaps.starts)
    at = int(np.flatnonzero(pair == int(np.argmax(time)))[0])
    left, right = (_plain(threads.names[one]) if one >= 0 else "" for one in (int(before[at]), int(after[at])))
    return left, right, int(time.sum())


def _plain(name: str) -> str:
    """A frame as people write it, `wait (threading.py:288)`; other events by their name."""
    return _place(name) or bare_frame(name)


def _place(name: str) -> str:
    place = frame_place(name)
    return f"{place[2]} ({place[0]}:{place[1]})" if place is not None else ""
