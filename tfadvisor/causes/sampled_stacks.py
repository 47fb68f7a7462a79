"""A program's main thread as samples saw it: when, for how long, in which calls."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
from msgspec.structs import replace

from tfadvisor.arrays import AnyArray, BoolArray, Int64Array, falses, trues
from tfadvisor.timeline.names.doings import Doing, doing_of_call
from tfadvisor.timeline.names.stack_frames import (
    Work,
    bare,
    free_iterators,
    is_of_program,
    is_own,
    may_use_devices,
    runs_op,
    work_of,
)

if TYPE_CHECKING:
    from tfadvisor.arrays import BoolArray, Int64Array
    from tfadvisor.trace.samples import Samples

BEFORE_US = 100_000
"""So long before a profiler's window, and after it, it is being prepared or written."""
LONG_FREEING_US = 100_000
"""What a library's loop does by itself in each step is shorter than freeing an
iterator.
"""
_MOST_MISSED = 20
"""Samples that may be missing before a gap is time of which nothing is known."""
WORKS = tuple(Work)
_EPOCH = WORKS.index(Work.EPOCH)
_AT_ITS_END = tuple(map(WORKS.index, (Work.EVALUATION, Work.SAVING, Work.LOGGING)))
NOBODY = -1
"""The number of a frame or function that is not there."""


class Frame(msgspec.Struct, frozen=True):
    """One call of a stack."""

    file: str
    function: str
    """Bare; "" outside of all functions."""
    line: int
    is_own: bool
    """Whether it is of the program's own files."""
    work: Work | None
    """What a library's function does."""
    runs_op: bool = False
    """Whether Python runs an op in it, or traces one."""
    may_use_devices: bool = False
    """Whether it may run what the devices do, or wait."""
    doing: Doing = Doing.UNKNOWN
    """What a library's function does for the arguments of a call."""


class Stacks(msgspec.Struct, frozen=True, dict=True):
    """The stacks of a program as tables. Shapes (stacks, deepest): outermost first,
    NOBODY beyond the innermost.
    """

    frames: tuple[Frame, ...]
    frame: Int64Array
    """Numbers of frames."""
    function: Int64Array
    """The same without their lines: numbers of functions."""
    depth: Int64Array
    """How many frames each stack has."""
    is_own: BoolArray
    """Of each frame, whether it is of the program's own files; NOBODY is not."""
    imports: BoolArray
    """Of each stack, whether a module runs that another one imports."""

    def of_frames(self, values: Iterable[Any]) -> AnyArray:
        """One value for each frame, so that `frame` and NOBODY index it; 0 for
        NOBODY.
        """
        return np.array([*values, 0])

    @cached_property
    def _work(self) -> Int64Array:
        """Of each frame, and of NOBODY, the number of its work; -1 for none."""
        works = (
            -1 if call.work is None else WORKS.index(call.work) for call in self.frames
        )
        return np.array([*works, -1])

    @cached_property
    def _done(self) -> BoolArray:
        """Of each stack the work that any function in it is known to do. Shape (stacks,
        works and none).
        """
        done = np.zeros((len(self.frame), len(WORKS) + 1), np.bool_)
        done[np.arange(len(done))[:, None], self._work[self.frame]] = True
        return done

    def does(self, work: Work) -> BoolArray:
        """Of each stack whether any function in it is known to do this work."""
        return self._done[:, WORKS.index(work)]

    def of_work(self, work: Work) -> BoolArray:
        """Of each frame, and of NOBODY, whether its function is known to do this."""
        return np.asarray(self._work == WORKS.index(work))

    @cached_property
    def op_by_op(self) -> BoolArray:
        """Of each stack whether Python runs an op in it, traces none, adds none to a
        graph and waits for none.
        """
        is_it = self.of_frames(frame.runs_op for frame in self.frames) > 0
        runs = np.asarray(is_it[self.frame].any(axis=1))
        others = Work.COMPILE, Work.GRAPH, Work.READING
        return np.asarray(runs & ~np.logical_or.reduce([*map(self.does, others)]))

    def doing(self, doing: Doing) -> BoolArray:
        """Of each frame, and of NOBODY, whether a library does this in it."""
        does = self.of_frames(frame.doing is doing for frame in self.frames)
        return np.asarray(does > 0)

    @cached_property
    def in_freeing(self) -> BoolArray:
        """Of each stack whether the innermost function is one that frees iterators of
        tf.data, and does nothing else that takes long outside of its calls.
        """
        frees = free_iterators((call.file, call.function) for call in self.frames)
        return np.asarray(self.of_frames(frees)[self.innermost] > 0)

    def in_python(self, depth: int) -> BoolArray:
        """Of each stack whether nothing below a depth may use a device or wait: Python
        of the program, NumPy and the like.
        """
        other = self.of_frames(frame.may_use_devices for frame in self.frames) > 0
        return ~np.asarray(other[self.frame[:, depth + 1 :]].any(axis=1))

    @cached_property
    def innermost(self) -> Int64Array:
        """Of each stack its innermost frame, NOBODY for an empty one."""
        return self.frame[np.arange(len(self.frame)), self.depth - 1]

    @cached_property
    def of_line(self) -> Int64Array:
        """Of each frame, and of NOBODY, that which stands for its line, on which a
        function's own calls and those of its comprehensions may be: the first that has
        a name.
        """
        first: dict[tuple[str, int], int] = {}
        for number, call in enumerate(self.frames):
            line = call.file, call.line
            known = self.frames[first.setdefault(line, number)]
            if call.function and not known.function:
                first[line] = number
        found = [first[call.file, call.line] for call in self.frames]
        return np.array([*found, NOBODY], np.int64)

    def work_below(self, depth: int) -> Int64Array:
        """Of each stack the work of the outermost function below a depth that is known
        to do any: its number in WORKS, -1 for none. What is saved, logged or evaluated
        at an epoch's end is that. Shape (stacks,).
        """
        below = self._work[self.frame[:, depth + 1 :]]
        found = _outermost(below, below >= 0)
        within = _outermost(below, np.isin(below, _AT_ITS_END))
        is_known = (found == _EPOCH) & (within >= 0)
        return np.where(is_known, within, found)


def _outermost(
    below: Int64Array,
    which: BoolArray,
) -> Int64Array:
    """Of each row the first that it is true of, -1 for none."""
    first = which.argmax(axis=1)
    rows = np.arange(len(below))
    return np.where(which[rows, first], below[rows, first], -1)


class Sampled(msgspec.Struct, frozen=True):
    """Samples of the main thread in the order of time, as runs of one stack each.
    Shapes (runs,).
    """

    number: Int64Array
    """Counts the runs of the whole recording, so that neighbours differ by one."""
    at_us: Int64Array
    """Since the recording began."""
    us: Int64Array
    """How long."""
    seen: Int64Array
    """Samples."""
    stack: Int64Array
    is_pause: BoolArray
    """Whether it is much longer than one stack is met in a row elsewhere."""

    def __len__(self) -> int:
        """Runs."""
        return len(self.at_us)

    def only(self, which: BoolArray) -> Sampled:
        """Those of which it is true."""
        if which.all():
            return self
        return Sampled(
            self.number[which],
            self.at_us[which],
            self.us[which],
            self.seen[which],
            self.stack[which],
            self.is_pause[which],
        )

    def of_stacks(self) -> Sampled:
        """All runs of each stack as one, at the place of the first: tables of their
        frames take no more memory than those of the stacks.
        """
        stack, first, which = np.unique(
            self.stack, return_index=True, return_inverse=True
        )
        us, seen = (
            np.bincount(which, weights=each, minlength=len(stack)).astype(np.int64)
            for each in (self.us, self.seen)
        )
        return Sampled(
            self.number[first], self.at_us[first], us, seen, stack, self.is_pause[first]
        )


def stacks_of(samples: Samples) -> Stacks:
    """Of all threads."""
    frames = tuple(
        Frame(
            file,
            bare(function),
            line,
            is_of_program(file),
            work_of(file, function),
            runs_op(file, function),
            may_use_devices(file, function),
            _doing(file, bare(function)),
        )
        for file, function, line in samples.frames
    )
    functions: dict[tuple[str, str], int] = {}
    of_frame = [
        functions.setdefault((file, function), len(functions))
        for file, function, _ in samples.frames
    ]
    calls = [_calls(stack, frames, samples.looked_at) for stack in samples.stacks]
    depth = np.array([len(call) for call in calls], np.int64)
    table = np.full((len(calls), int(depth.max(initial=0)) + 2), NOBODY, np.int64)
    for row, stack in enumerate(calls):
        table[row, : len(stack)] = stack
    numbers = np.array([*of_frame, NOBODY], np.int64)
    is_own = np.array([*(frame.is_own for frame in frames), False])
    is_module = np.array(
        [*(name == "<module>" for _, name, _ in samples.frames), False]
    )
    imports = is_module[table].sum(axis=1) > 1
    return Stacks(frames, table, numbers[table], depth, is_own, imports)


def _doing(file: str, function: str) -> Doing:
    if is_of_program(file):
        return Doing.UNKNOWN
    return doing_of_call(file.replace("\\", "/").rpartition("/")[2], function)


def _calls(
    stack: list[int],
    frames: tuple[Frame, ...],
    most: int,
) -> list[int]:
    """None where tfadvisor itself or a profiler works; of a deeper stack the outer and
    the inner ones.
    """
    calls = (frames[number] for number in stack)
    if any(is_own(call.file) or call.work is Work.PROFILING for call in calls):
        return []
    inner = most // 2
    return stack if len(stack) <= most else stack[: most - inner] + stack[-inner:]


def sampled_of(samples: Samples) -> Sampled:
    """Of the main thread. A sample stands for the time up to the next one; where many
    are missing, only for its own. Runs are cut where a sleep or a profiler's window
    begins or ends.
    """
    rows = [row for row in samples.samples if not row[1]]
    table = np.array(rows, np.int64).reshape(-1, 4)
    at, _, stack, seen = table.T
    every = max(samples.every_ns // 1000, 1)
    end = max((samples.ended_ns - samples.began_ns) // 1000, int(at.max(initial=0)))
    until = np.diff(at, append=end + every)
    us = np.minimum(until, (seen + _MOST_MISSED) * every)
    number = np.arange(len(at), dtype=np.int64)
    sampled = Sampled(number, at, us, seen, stack, falses(at))
    edges = np.array([*samples.asleep, *_windows_us(samples)], np.int64)
    return _cut(sampled, edges.reshape(-1))


def _cut(
    sampled: Sampled,
    edges: Int64Array,
) -> Sampled:
    """The same runs in pieces, none of which goes over an edge, in us."""
    if not len(sampled):
        return sampled
    begin = np.union1d(sampled.at_us, edges[edges > sampled.at_us[0]])
    row = np.searchsorted(sampled.at_us, begin, side="right") - 1
    ends = sampled.at_us + sampled.us
    end = np.minimum(np.append(begin[1:], ends[-1]), ends[row])
    into = np.stack([begin, end]) - sampled.at_us[row]
    seen = (into * sampled.seen[row]) // np.maximum(sampled.us[row], 1)
    kept = end > begin
    number = np.arange(len(begin), dtype=np.int64)
    pieces = Sampled(
        number,
        begin,
        end - begin,
        seen[1] - seen[0],
        sampled.stack[row],
        sampled.is_pause[row],
    )
    return pieces.only(kept)


def _windows_us(samples: Samples) -> list[tuple[int, int]]:
    """When a profiler was at work, or began or ended to be."""
    return [
        (
            (opened - samples.began_ns) // 1000 - BEFORE_US,
            (closed - samples.began_ns) // 1000 + BEFORE_US,
        )
        for opened, closed in samples.recorded_ns
    ]


def frees_long(
    stacks: Stacks,
    sampled: Sampled,
) -> BoolArray:
    """Of each run, whether an iterator of tf.data is freed in it, and slowly."""
    is_long = sampled.us >= LONG_FREEING_US
    return np.asarray(stacks.in_freeing[sampled.stack] & is_long)


def unrecorded(
    stacks: Stacks,
    sampled: Sampled,
    samples: Samples,
) -> Sampled:
    """Without what passed while a profiler was at work, or began or ended to be, and
    without the first slow freeing of an iterator behind it: it waits for a thread of
    tf.data that sleeps for seconds, which was seen only where a profiler had recorded.
    """
    stays = trues(sampled)
    frees = frees_long(stacks, sampled)
    for begin, end in _windows_us(samples):
        stays &= (sampled.at_us < begin) | (sampled.at_us >= end)
        behind = np.flatnonzero(frees & (sampled.at_us >= end))
        if len(behind):
            frees_no_more = np.flatnonzero(~frees[behind[0] :])
            until = frees_no_more[0] if len(frees_no_more) else len(sampled)
            stays[behind[0] : behind[0] + until] = False
    return sampled.only(stays)


def sleeping(
    sampled: Sampled,
    samples: Samples,
    least_us: int,
) -> BoolArray:
    """Of each run, whether the thread sleeps in it, for at least so long without a
    pause.
    """
    stretches = np.array(samples.asleep, np.int64).reshape(-1, 2)
    stretches = stretches[stretches[:, 1] - stretches[:, 0] >= least_us]
    row = np.searchsorted(stretches[:, 0], sampled.at_us, side="right") - 1
    ends = np.append(stretches[:, 1], 0)
    return np.asarray((row >= 0) & (sampled.at_us < ends[row]))


def readable(
    stacks: Stacks,
    sampled: Sampled,
) -> Sampled:
    """Without time in which tfadvisor itself or a profiler works, and without stacks
    that were read while they changed, as of Python that makes many short calls: they
    begin with another function than most. Their time is of the stacks around them.
    """
    sampled = sampled.only(stacks.depth[sampled.stack] > 0)
    if not len(sampled):
        return sampled
    outermost = stacks.function[sampled.stack, 0]
    usual = np.bincount(outermost + 1, weights=sampled.us).argmax() - 1
    is_read = (outermost == usual) | (sampled.seen > _MOST_MISSED)
    number = sampled.number - np.cumsum(~is_read)
    misread = np.cumsum(np.where(is_read, 0, sampled.us))[is_read]
    read = replace(sampled, number=number).only(is_read)
    since = np.diff(misread, prepend=0)
    halves = np.append(since[1:], 0) // 2, since // 2
    return replace(read, at_us=read.at_us - halves[1], us=read.us + sum(halves))
