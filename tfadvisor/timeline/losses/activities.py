"""What a thread does at given instants: the innermost event, and the function of the user's program around it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

import msgspec
import numpy as np

from tfadvisor.arrays import blocks, distinct, true_at
from tfadvisor.memory import give_back
from tfadvisor.timeline.host.threads import Thread, Threads
from tfadvisor.timeline.intervals import (
    BoolArray,
    Int64Array,
    Intervals,
    difference,
    innermost,
    intersection,
    parents,
    union,
)
from tfadvisor.timeline.model import Steps
from tfadvisor.timeline.names.frames import annotates, bare_frame, frame_place, is_users_frame
from tfadvisor.timeline.names.programs import inside_runtime
from tfadvisor.timeline.sweeps import reached
from tfadvisor.trace.columns import Int32Array
from tfadvisor.vocabulary import TimeClass

_MOST_EVENTS = 3_000_000
_FEW_GROUPS = 1 << 22
_TELLING_SHARE = 0.3
_USUAL_DEPTH = 64
"""Of calls in one another."""
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
    for row in true_at(threads.borne).tolist():
        name = threads.names[row]
        users[row], silent[row], telling[row] = is_users_frame(name), annotates(name), not inside_runtime(name)
    return Names(users, silent, telling)


def main_activity(
    threads: Threads,
    names: Names,
    steps: Steps,
    instants: Intervals,
    drivers: bool,
    of_steps: Callable[[Thread], Int32Array],
) -> Activity:
    """What fills most of these instants: on the driving thread if its events cover enough of them, else on the thread whose
    events cover most. drivers: the instants are by definition the driving thread's. of_steps: see
    events_of_steps."""
    driver = threads.threads[steps.thread] if steps.thread >= 0 else None
    best, most, found = driver, 0, None
    if driver is not None:
        found = _seen(threads, driver, of_steps(driver), instants)
        most = _covered(threads, found.telling, instants)
        if drivers or most >= _TELLING_SHARE * instants.length():
            return _most(threads, names, found, instants)
    for thread in threads.threads:
        if driver is not None and thread.index == driver.index:
            continue
        other = _seen(threads, thread, of_steps(thread), instants)
        covered = _covered(threads, other.telling, instants)
        if covered > most:
            best, most, found = thread, covered, other
    if best is None or found is None:
        return Activity("", "", "", "", "", "", instants.length())
    return _most(threads, names, found, instants)


class _Seen(msgspec.Struct, frozen=True):
    """Positions of a thread's events that say something, and of those among them at the instants that are asked about."""

    thread: Thread
    all: Int32Array
    telling: Int32Array


def _seen(threads: Threads, thread: Thread, inside: Int32Array, instants: Intervals) -> _Seen:
    keep = np.empty(len(inside), np.bool_)
    for part in blocks(len(inside)):
        mine = inside[part]
        keep[part] = instants.within(threads.start[mine], threads.end[mine]) > 0
    return _Seen(thread, inside, inside if keep.all() else inside[keep])


def events_of_steps(threads: Threads, names: Names, steps: Steps, thread: Thread) -> Int32Array:
    """Positions of a thread's events that say something: no marker of a whole step, no frame of the profiler's."""
    found, looked_at = [np.empty(0, np.int32)], 0
    for part in blocks(thread.hi - thread.lo):
        at = slice(thread.lo + part.start, thread.lo + part.stop)
        start, end, row = threads.start[at], threads.end[at], threads.row[at]
        inside = true_at((end > start) & (start < steps.ends[-1]) & (end > steps.starts[0]))
        inside = inside[: _MOST_EVENTS - looked_at]
        looked_at += len(inside)
        start, end, row = start[inside], end[inside], row[inside]
        step = reached(steps.starts, start - 1)
        around = (step < len(steps)) & (end >= steps.span_ends[np.minimum(step, len(steps) - 1)])
        inside = inside[(~around | names.users[row]) & ~names.silent[row]]
        found.append((inside + at.start).astype(np.int32))
        if looked_at == _MOST_EVENTS:
            break
    return np.concatenate(found)


def _covered(threads: Threads, chosen: Int32Array, instants: Intervals) -> int:
    """How much of the instants the events cover, ps."""
    covering = union(threads.start[chosen], threads.end[chosen])
    return sum(int(covering.within(instants.starts[part], instants.ends[part]).sum()) for part in blocks(len(instants)))


def _most(threads: Threads, names: Names, seen: _Seen, instants: Intervals) -> Activity:
    """The user's call, or the event without one, that fills most of the instants; nothing named where gaps fill more."""
    give_back(len(seen.all))
    chosen, thread = seen.telling, seen.thread.name
    start, end = threads.start[chosen], threads.end[chosen]
    everything = (start, end) if seen.all is chosen else (threads.start[seen.all], threads.end[seen.all])
    gap = _unnamed(threads, seen, everything, _gaps(instants, union(start, end)))
    del everything
    spent, parent = _innermost_time(start, end, instants), parents(start, end)
    del start, end
    row, leaf = threads.row[chosen], true_at(spent > 0)
    if not len(leaf):
        return Activity("", "", "", thread, *gap)
    named, _ = _around(parent, leaf, names.telling[row])
    spent_on = np.where(named >= 0, named, leaf)
    user, call = _around(parent, leaf, names.users[row])
    del named, parent
    call = np.where(user >= 0, call, spent_on)
    of_user = np.where(user >= 0, row[user].astype(np.int64), -1)
    group = np.asarray((of_user + 1) * len(threads.names) + row[call], np.int64)
    top, time = _largest([(group, spent[leaf])], (len(threads.names) + 1) * len(threads.names))
    if time < gap[2]:
        return Activity("", "", "", thread, *gap)
    mine = true_at(group == top)
    inner = np.bincount(row[spent_on[mine]], spent[leaf[mine]])
    name, first = threads.names[int(np.argmax(inner))], mine[0]
    calls = threads.names[row[call[first]]]
    place = _place(threads.names[row[user[first]]]) if user[first] >= 0 else ""
    return Activity(_plain(name), _plain(calls) if calls != name else "", place, thread, "", "", time)


def _largest(blocks: Iterable[tuple[Int64Array, Int64Array]], groups: int) -> tuple[int, int]:
    """(the number of the group that takes most, what it takes). blocks: the group of each entry, below groups; its time."""
    if groups <= _FEW_GROUPS:
        time = np.zeros(groups, np.int64)
        for group, spent in blocks:
            np.add.at(time, group, spent)
        top = int(np.argmax(time))
        return top, int(time[top])
    parts = [np.concatenate(part) for part in zip(*blocks, strict=True)]
    if not parts or not len(parts[0]):
        return 0, 0
    group, spent = parts
    known = distinct(group)
    time = np.zeros(len(known), np.int64)
    np.add.at(time, np.searchsorted(known, group), spent)
    top = int(np.argmax(time))
    return int(known[top]), int(time[top])


def _innermost_time(start: Int64Array, end: Int64Array, instants: Intervals) -> Int64Array:
    """How much of the instants each event is the innermost one in, ps."""
    lo, hi, who = innermost(start, end)
    spent = np.zeros(len(start), np.int64)
    for part in blocks(len(who)):
        np.add.at(spent, who[part], instants.within(lo[part], hi[part]))
    return spent


def _gaps(instants: Intervals, covered: Intervals) -> Iterator[Intervals]:
    """The instants that are not covered, in blocks."""
    for part in blocks(len(instants)):
        yield difference(Intervals(instants.starts[part], instants.ends[part]), covered)


def _around(parent: Int64Array, leaf: Int64Array, wanted: BoolArray) -> tuple[Int64Array, Int64Array]:
    """For each leaf (the innermost wanted event around it, -1 without one; the event below that on the way to the leaf).

    Both are the leaf itself where that is wanted.
    """
    found, below = leaf.copy(), leaf.copy()
    climbing = true_at(~wanted[found])
    for _ in range(_USUAL_DEPTH):
        below[climbing] = found[climbing]
        found[climbing] = parent[found[climbing]]
        climbing = climbing[found[climbing] >= 0]
        climbing = climbing[~wanted[found[climbing]]]
    if len(climbing):  # deeper than programs are: the way is halved each time
        top = np.where((parent >= 0) & ~wanted[parent], parent, np.arange(len(parent)))
        while not np.array_equal(top, higher := top[top]):
            top = higher
        below[climbing] = top[found[climbing]]
        found[climbing] = parent[below[climbing]]
    return found, below


def _unnamed(
    threads: Threads, seen: _Seen, times: tuple[Int64Array, Int64Array], pieces: Iterable[Intervals]
) -> tuple[str, str, int]:
    """(event before, event after, ps of all gaps) of the pair of events between which most of the gaps' time lies.

    times: when all events begin and end. pieces: the gaps, some after the other.
    """
    names, (start, end) = len(threads.names) + 1, times
    order = None if (end[1:] >= end[:-1]).all() else np.argsort(end, kind="stable")
    end = end if order is None else end[order]
    total = 0

    def row(at: Int64Array) -> Int64Array:
        """Of the name of the event that is there in time, -1 before the first."""
        found, known = np.full(len(at), -1, np.int64), at >= 0
        found[known] = threads.row[seen.all[at[known]]]
        return found

    def pairs() -> Iterator[tuple[Int64Array, Int64Array]]:
        nonlocal total
        for gaps in pieces:
            total += gaps.length()
            before, after = reached(end, gaps.starts) - 1, reached(start, gaps.ends - 1)
            before = row(before if order is None else np.where(before < 0, -1, order[before]))
            after = row(np.where(after < len(start), after, -1))
            yield (before + 1) * names + after + 1, gaps.ends - gaps.starts

    top, _ = _largest(pairs(), names * names)
    if not total:
        return "", "", 0
    left, right = (_plain(threads.names[one - 1]) if one else "" for one in divmod(top, names))
    return left, right, total


def _plain(name: str) -> str:
    """A frame as people write it, `wait (threading.py:288)`; other events by their name."""
    return _place(name) or bare_frame(name)


def _place(name: str) -> str:
    place = frame_place(name)
    return f"{place[2]} ({place[0]}:{place[1]})" if place is not None else ""


# What a class of lost time is spent on, by name and place.


class Activity(msgspec.Struct, frozen=True):
    """One thing that runs, or waits, during the time of a class."""

    name: str
    """The innermost event, as the trace names it: a Python frame without its `$`, a call of the runtime, an op; "" where
    the trace names none."""
    calls: str
    """What the user's function calls of which that is a part; "" where it is the same, or no such function is known."""
    place: str
    """The innermost function of the user's own program around it, `save (train.py:42)`; of an op of a compiled program, the
    line that it comes from; "" where the trace does not tell."""
    thread: str
    """The thread's name, or the device's."""
    before: str
    """Where nothing is named: the event after which the time begins, "" where there is none."""
    after: str
    """Where nothing is named: the event that ends the time, "" where there is none."""
    ps: int
    """How much of the class's time in the counted steps it fills."""


class LostTime(msgspec.Struct, frozen=True):
    """One class of lost time on the first active device, or on the host without one."""

    kind: TimeClass
    """The class."""
    ps: int
    """Its time in the counted steps."""
    activity: Activity
    """What fills most of it."""


# Python threads beside the loop that make its batches while it waits for one, and the function that they are mostly
# in.

_WORTH_LOOKING = 0.05
"""Of the counted steps, what waiting for input must take."""
_AT_WORK = 0.5
"""Of the time that the loop waits for input, what functions of the user's program must take on a thread that makes batches."""


class BatchMakers(msgspec.Struct, frozen=True):
    """Threads that make batches."""

    threads: int = 0
    """How many are in the user's own functions for most of the time that the loop waits for input."""
    place: str = ""
    """The innermost of these functions in which they spend most of it, `__getitem__ (data.py:39)`; "" without threads."""


def batch_makers(
    threads: Threads, steps: Steps, classes: Mapping[TimeClass, Intervals], names: Callable[[], Names]
) -> BatchMakers:
    """Of the counted steps; none where the trace holds no frames of other threads. classes: of host_classes_of_time. names:
    what the threads' names say, asked for only where the loop waits.
    """
    windows = steps.steady_time
    if steps.thread < 0 or not windows:
        return BatchMakers()
    waiting = intersection(classes[TimeClass.INPUT], windows)
    if waiting.length() < max(_WORTH_LOOKING * windows.length(), 1):
        return BatchMakers()
    users = names().users
    count, time = 0, np.zeros(len(threads.names), np.int64)
    for thread in threads.threads:
        frames = true_at(users[threads.row[thread.lo : thread.hi]]) + thread.lo
        frames = frames[threads.end[frames] > threads.start[frames]]
        if thread.index == steps.thread or thread.is_pipeline or not len(frames):
            continue
        lo, hi, who = innermost(threads.start[frames], threads.end[frames])
        spent = waiting.within(lo, hi)
        if int(spent.sum()) >= _AT_WORK * waiting.length():
            count += 1
            np.add.at(time, threads.row[frames[who]], spent)
    if not count:
        return BatchMakers()
    file, line, function = frame_place(threads.names[int(np.argmax(time))]) or ("", 0, "")
    return BatchMakers(count, f"{function} ({file}:{line})")
