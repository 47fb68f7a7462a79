"""Which calls of the training loop's own Python take the time, from the Python tracer's
frames.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import numpy as np

from tfadvisor.arrays import (
    NO_VALUES,
    BoolArray,
    Int64Array,
    distinct,
    is_in,
    median,
    ranks,
    true_at,
    trues,
)
from tfadvisor.timeline.host.dispatches import dispatches
from tfadvisor.timeline.host.thread_layout import Thread
from tfadvisor.timeline.host.threads import Threads
from tfadvisor.timeline.intervals import Intervals, intersection, parents, union
from tfadvisor.timeline.names.classes import HostClass
from tfadvisor.timeline.names.doings import brings_data, moves_on_devices, puts_arrays
from tfadvisor.timeline.names.frames import (
    annotates,
    asks_iterator,
    bare_frame,
    frame_place,
    is_frame,
    is_users_frame,
    place_in_words,
    waits_for_others,
    walks_modules,
)
from tfadvisor.timeline.names.program_calls import takes_over_value
from tfadvisor.timeline.timeline_parts import Steps

_MOST_FRAMES = 3_000_000
_WORTH_NAMING = 0.01
_DEEPEST = 1_000
"""Calls in one another that are followed: Python itself allows no more."""
_MOST_STEPS = 0.5
_LAST_ASK = 0.1
"""A generator is asked once more than it has batches. That call is shorter than this
share of the others.
"""


class FrameShare(msgspec.Struct, frozen=True):
    """A call that the training loop makes. host_ps, input_ps: how much of the counted
    steps it fills with each. others_ps: how much of input_ps it waits for another
    thread or process.

    file: the script's name as the trace has it, without its folder. line: where the
    function begins. inner: the call below it that takes most of its time, "" when none
    stands out. runs_step: whether most steps' longest dispatch is made inside it: such
    a call is the step, and no work beside it. own: where Python's or a library's
    function is called, the user's own function: the one below it that takes most of its
    time, else the one that calls it; "" where neither is known, or the call is the
    user's itself. pipeline_ps: how much of input_ps it waits for a batch of a tf.data
    pipeline, whose stages tell more.
    """

    file: str
    line: int
    function: str
    calls: int
    host_ps: int
    input_ps: int
    inner: str
    others_ps: int = 0
    runs_step: bool = False
    own: str = ""
    pipeline_ps: int = 0

    def place(self) -> str:
        """Of the user's own function, where that is known: `load_batch
        (train.py:42)`.
        """
        return self.own or self.called()

    def called(self) -> str:
        """What the loop calls: `load_batch (train.py:42)`, `builtins next`."""
        if self.file:
            return place_in_words(self.file, self.line, self.function)
        return self.function


def loop_frames(
    threads: Threads,
    steps: Steps,
    host: Intervals,
    loading: Intervals,
    line_in: Callable[[Int64Array, Int64Array], str] | None = None,
) -> tuple[FrameShare, ...]:
    """The calls made by the frame that encloses the steps, empty without a Python
    tracer.

    line_in: the program's line that samples name in stretches of time, for calls of
    libraries whose caller began before the trace.
    """
    if steps.thread < 0 or not steps.steady().any():
        return ()
    steady = steps.steady()
    frames, parent, called = _loop(threads, steps, steady)
    if not len(frames):
        return ()
    start = threads.start[frames]
    end = threads.end[frames]
    row = threads.row[frames]
    windows = steps.steady_time
    # the tracer's stop may lie in the last call
    host = intersection(host, windows)
    loading = intersection(loading, windows)
    longest = _longest_dispatches(threads, steps, steady)

    def spent(calls: Int64Array, instants: Intervals) -> Int64Array:
        return instants.within(start[calls], end[calls])

    def cost_of(calls: Int64Array) -> Int64Array:
        return spent(calls, host) + spent(calls, loading)

    thread = threads.threads[steps.thread]
    begun = threads.start[dispatches(threads, thread)]
    called = _inside_steps(
        threads,
        parent,
        start,
        end,
        row,
        called,
        cost_of,
        longest,
        begun,
    )
    called = called[windows.contains(start[called])]
    cost = cost_of(called)
    total = windows.length()
    others = _waits_for_others(threads, frames)
    loading_waits = intersection(
        loading,
        threads.when(others),
    )
    asked = threads.of(thread, HostClass.GET_NEXT)
    pipeline = intersection(loading, threads.when(asked))
    shares = []
    for used in distinct(row[called]).tolist():
        mine = called[row[called] == used]
        if int(cost[row[called] == used].sum()) < _WORTH_NAMING * total:
            continue
        file, line, function = frame_place(threads.names[used]) or (
            "",
            0,
            bare_frame(threads.names[used]),
        )
        below = _mostly(parent, start, end, row, mine)
        own = _own(threads.names, parent, start, end, row, mine)
        if not own and line_in is not None and not is_users_frame(threads.names[used]):
            own = line_in(start[mine], end[mine])
        shares.append(
            FrameShare(
                file,
                line,
                function,
                len(mine),
                int(spent(mine, host).sum()),
                int(spent(mine, loading).sum()),
                bare_frame(threads.names[int(row[below[0]])]) if len(below) else "",
                int(spent(mine, loading_waits).sum()),
                _holds_most(longest, start[mine], end[mine]),
                own,
                int(spent(mine, pipeline).sum()),
            )
        )
    return tuple(shares)


def _inside_steps(
    threads: Threads,
    parent: Int64Array,
    start: Int64Array,
    end: Int64Array,
    row: np.ndarray,
    called: Int64Array,
    cost_of: Callable[[Int64Array], Int64Array],
    longest: Int64Array,
    begun: Int64Array,
) -> Int64Array:
    """The calls, with those of a user's function that runs the whole step replaced by
    the calls that it makes.

    A loop may only call `advance(state)`, which draws the batch, dispatches the step
    and writes the log. Which of these costs the time is the answer, as long as they
    make up most of it. What takes modules apart around a step is the step's, and so are
    a library's calls that dispatch: a function that adds arrays one by one is not named
    for JAX's own frames. begun: when each dispatch begins, ps, ascending.
    """
    names = threads.names
    users = threads.wanted_rows(is_users_frame)
    beside = users[row] | ~_any_begins_in(begun, start, end)
    while len(called):
        for used in distinct(row[called]).tolist():
            mine = called[row[called] == used]
            if not users[used] or not _holds_most(longest, start[mine], end[mine]):
                continue
            below = true_at(is_in(parent, mine))
            below_most = _mostly(parent, start, end, row, mine)
            if len(below_most):
                place = frame_place(names[int(row[below_most[0]])])
            else:
                place = None
            if place is not None and walks_modules(place[0], place[2]):
                continue
            if (
                int(cost_of(below[beside[below]]).sum())
                >= _MOST_STEPS * int(cost_of(mine).sum())
                > 0
            ):
                called = np.sort(np.concatenate([called[row[called] != used], below]))
                break
        else:
            break
    return called


def _longest_dispatches(
    threads: Threads,
    steps: Steps,
    of: BoolArray,
) -> Int64Array:
    """When the longest dispatch of each of those steps begins, ps."""
    calls = dispatches(threads, threads.threads[steps.thread])
    start = threads.start[calls]
    length = threads.end[calls] - start
    bounds = start.searchsorted(np.stack([steps.starts[of], steps.ends[of]], axis=1))
    return start[
        [lo + int(length[lo:hi].argmax()) for lo, hi in bounds.tolist() if lo < hi]
    ]


def _holds_most(
    moments: Int64Array,
    start: Int64Array,
    end: Int64Array,
) -> bool:
    """Whether at least half of the moments lie in these stretches of time."""
    return (
        bool(len(moments))
        and float(union(start, end).contains(moments).mean()) >= _MOST_STEPS
    )


def _loop(
    threads: Threads,
    steps: Steps,
    of: BoolArray,
    before: int = 0,
) -> tuple[Int64Array, Int64Array, Int64Array]:
    """(positions of the driving thread's frames around and inside those steps, the
    parent of each among them, which of them the frame calls that encloses these steps).
    before: ps before the first step that are looked at too."""
    thread = threads.threads[steps.thread]
    frames = (
        threads.bear(slice(thread.lo, thread.hi), is_frame).nonzero()[0] + thread.lo
    )
    lo = int(steps.starts[of].min())
    hi = int(steps.ends[of].max())
    last = min(hi, int(steps.span_ends[of].max()))
    around = (threads.start[frames] <= lo) & (threads.end[frames] >= last)
    inside = (threads.end[frames] > lo - before) & (threads.start[frames] < hi)
    frames = frames[around | inside][:_MOST_FRAMES]
    start = threads.start[frames]
    end = threads.end[frames]
    parent = parents(start, end)
    around = (start <= lo) & (end >= last)
    loop = int(true_at(around)[-1]) if around.any() else -1
    return frames, parent, true_at((parent == loop) & ~around & (end > start))


def calls_before_dispatches(threads: Threads, steps: Steps) -> Int64Array:
    """Positions of calls of the training loop whose work could be done ahead: what
    loads or makes the next batch.

    Such a function is called before the step is dispatched, from the first step of the
    trace to the last, and it neither dispatches nor waits for a device, so that it
    cannot depend on the step before it. `next(iterator)` need not be the first, nor a
    call that copies data of the host to the device. What only moves arrays that are on
    devices already loads nothing. Where such a call waits for a thread or process that
    makes the batch, that wait is among them.
    """
    if steps.thread < 0 or not len(steps):
        return NO_VALUES
    longest = int(
        (steps.ends - steps.starts).max()
    )  # found without markers, a step begins with its dispatch
    frames, _, called = _loop(
        threads,
        steps,
        trues(steps),
        before=longest,
    )
    if not len(called):
        return NO_VALUES
    thread = threads.threads[steps.thread]
    dispatched = dispatches(threads, thread)
    dispatched = dispatched[~threads.bear(dispatched, takes_over_value)]
    dispatched = dispatched[~threads.bear(dispatched, puts_arrays)]
    if not len(dispatched):
        return NO_VALUES
    others = _waits_for_others(threads, frames)
    calls = frames[called]
    waits = threads.of(thread, HostClass.WAIT)
    loop = _Loop(
        begun=threads.start[dispatched],
        last_end=int(threads.end[dispatched][-1]),
        first_of_steps=_first_of_steps(threads, dispatched, len(steps)),
        waits=threads.start[waits[~is_in(waits, others)]],
        brought=_begun(threads, thread, brings_data),
        moved=_begun(threads, thread, moves_on_devices),
        steps=len(steps),
    )
    row = threads.row[calls]
    found = []
    for used in distinct(row).tolist():
        mine = calls[row == used]
        if loop.loads(threads.names[used], threads.start[mine], threads.end[mine]):
            found.append(mine)
    if not found:
        return NO_VALUES
    loading = np.concatenate(found)
    inside = threads.when(loading).contains(threads.start[others])
    return distinct(np.concatenate([loading, others[inside]]))


class _Loop(msgspec.Struct, frozen=True):
    """When the thread that drives the loop does what a call may contain, ps."""

    begun: Int64Array
    """Dispatches begin."""
    last_end: int
    """The last of them ends."""
    first_of_steps: int
    """The first that most steps repeat begins."""
    waits: Int64Array
    """Waits for a device begin."""
    brought: Int64Array
    """Copies of the host's data begin."""
    moved: Int64Array
    """Arrays begin to move that are on devices already."""
    steps: int

    def loads(self, name: str, start: Int64Array, end: Int64Array) -> bool:
        """Whether calls of a function load or make the next batch."""
        brings = _any_begins_in(self.brought, start, end)
        busy = _any_begins_in(self.begun, start, end)
        busy |= _any_begins_in(self.waits, start, end)
        busy |= _any_begins_in(self.moved, start, end) & ~brings
        if busy.any():
            return False
        if asks_iterator(name):
            return True
        if annotates(name) or len(start) < _MOST_STEPS * self.steps:
            return False
        last = int(_without_last_ask(start, end)[-1])
        is_before = int(start[0]) < self.first_of_steps and last <= self.last_end
        return is_before or bool(brings.mean() >= _MOST_STEPS)


def _begun(
    threads: Threads,
    thread: Thread,
    question: Callable[[str], bool],
) -> Int64Array:
    """When those events of a thread begin whose name the answer is yes to, ps."""
    mine = slice(thread.lo, thread.hi)
    return threads.start[mine][threads.bear(mine, question)]


def _first_of_steps(
    threads: Threads,
    dispatched: Int64Array,
    steps: int,
) -> int:
    """When the first dispatch begins that is repeated in most of the steps. Others may
    set the loop up.
    """
    _, inverse, count = np.unique(
        threads.row[dispatched],
        return_inverse=True,
        return_counts=True,
    )
    repeated = dispatched[count[inverse] >= _MOST_STEPS * steps]
    return int(threads.start[repeated[0] if len(repeated) else dispatched[0]])


def _waits_for_others(threads: Threads, frames: Int64Array) -> Int64Array:
    """Which of the frames wait for another thread or process."""
    return frames[threads.bear(frames, waits_for_others)]


def _without_last_ask(start: Int64Array, end: Int64Array) -> Int64Array:
    """The ends of a function's calls, without the one in which a generator says that it
    has no more.
    """
    length = end - start
    asked = len(length) > 2 and length[-1] < _LAST_ASK * float(median(length))
    return end[:-1] if asked else end


def _any_begins_in(
    moments: Int64Array,
    start: Int64Array,
    end: Int64Array,
) -> BoolArray:
    """For each stretch of time whether one of the moments (ascending) lies in it."""
    return np.asarray(
        np.searchsorted(moments, end) > np.searchsorted(moments, start),
        np.bool_,
    )


def _mostly(
    parent: Int64Array,
    start: Int64Array,
    end: Int64Array,
    row: np.ndarray,
    calls: Int64Array,
) -> Int64Array:
    """The calls of the one function that fills at least half of these calls' time;
    empty where none does.
    """
    chosen = np.zeros(len(parent) + 1, np.bool_)  # the last for frames without a parent
    chosen[calls] = True
    below = true_at(chosen[parent])
    if not len(below):
        return below
    function = ranks(row[below])
    time = np.bincount(function, (end - start)[below])
    top = int(np.argmax(time))
    if time[top] < 0.5 * float((end - start)[calls].sum()):
        return below[:0]
    most: Int64Array = below[function == top]
    return most


def _own(
    names: tuple[str, ...],
    parent: Int64Array,
    start: Int64Array,
    end: Int64Array,
    row: np.ndarray,
    calls: Int64Array,
) -> str:
    """The user's own function below calls of a library that takes most of their time,
    else the one that makes the calls.
    """
    below = calls
    for _ in range(_DEEPEST):
        if not len(below):
            break
        name = names[int(row[below[0]])]
        if is_users_frame(name):
            return "" if below is calls else _place(name)
        below = _mostly(parent, start, end, row, below)
    above = int(parent[calls[0]])
    while above >= 0 and not is_users_frame(names[int(row[above])]):
        above = int(parent[above])
    return _place(names[int(row[above])]) if above >= 0 else ""


def _place(name: str) -> str:
    file, line, function = frame_place(name) or ("", 0, "")
    return f"{function} ({file}:{line})"
