"""The period of what a training loop repeats, its rhythm, and the few calls that make a
loop of long steps.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np

from tfadvisor.arrays import (
    NO_VALUES,
    Int64Array,
    descending,
    distinct,
    is_in,
    median,
    order_of,
    true_at,
    unknown,
    zeros,
)
from tfadvisor.timeline.host.dispatches import outermost
from tfadvisor.timeline.host.threads import Threads
from tfadvisor.timeline.names import stats
from tfadvisor.timeline.names.host_events import function_name, is_eager_function
from tfadvisor.timeline.names.program_calls import is_jitted
from tfadvisor.timeline.timeline_parts import Device, StepSource
from tfadvisor.trace.columns import HostTrace
from tfadvisor.vocabulary import DeviceKind

_LOOKED_AT = 1 << 17
_MOST_LAGS = 96
_LEAST_MATCH = 0.85
_AS_GOOD = 0.97
_MOST_USES, _NEXT = 8, range(1, 2)
"""Of a name in a cycle that is found by it."""
_LONG_CYCLE = 32
"""Items, at least, where each name comes several times: shorter ones are parts of a
computation, as the rounds of add, rotate and xor that make random bits.
"""
_MOSTLY = 0.5
"""Where at least this share of items equals the one a cycle earlier, some cycles may
hold more or fewer, as with a branch.
"""
_SOME = 3
"""Lengths that are tried for such cycles, from the shortest."""


class Period(msgspec.Struct, frozen=True):
    """length: items a cycle. match: share of items that equal the one a cycle earlier.
    firsts: where cycles begin.
    """

    length: int
    match: float
    firsts: Int64Array


def find_period(
    codes: Int64Array,
    starts: Int64Array,
    ends: Int64Array,
) -> Period | None:
    """The shortest cycle that explains the sequence, cut where the largest pauses are;
    None when nothing repeats thrice.

    codes: name of each item, in order of time. starts, ends: its time, ps.

    Candidate lengths are the distances between successive uses of each name; where none
    of these explains the sequence, those between a use and the second after it, or a
    later one. Of those whose match is nearly the best, the shortest wins. A cycle
    begins after the longest average pause.
    """
    lags, match = _matches(codes[:_LOOKED_AT], _NEXT)
    if not len(lags):
        return None
    if match.max() < _LEAST_MATCH:  # as where each op of a model comes several times
        further, explained = _matches(codes[:_LOOKED_AT], range(2, _MOST_USES + 1))
        is_long = (further >= _LONG_CYCLE) & (explained >= _LEAST_MATCH)
        if is_long.any():
            lags, match = further[is_long], explained[is_long]
    best = float(match.max())
    if best < _LEAST_MATCH:
        tried = (
            _branching(codes, lag, starts, ends)
            for lag in lags[match >= _MOSTLY][:_SOME].tolist()
        )
        return next((period for period in tried if period is not None), None)
    length = int(lags[match >= best * _AS_GOOD].min())
    pause = zeros(codes)
    pause[1:] = np.maximum(starts[1:] - np.maximum.accumulate(ends)[:-1], 0)
    by_phase = (
        pause[: len(codes) // length * length].reshape(-1, length)[1:].mean(axis=0)
    )
    return Period(length, best, _cycle_starts(codes, length, int(np.argmax(by_phase))))


def _branching(
    codes: Int64Array,
    length: int,
    starts: Int64Array,
    ends: Int64Array,
) -> Period | None:
    """Cycles of which some take a branch, as a random action in an agent's loop: from
    one use of a name to the next.

    Of the names that most cycles use once, the one after the longest pauses begins
    them. What they share is the match.
    """
    pause = np.append(0, np.maximum(starts[1:] - np.maximum.accumulate(ends)[:-1], 0))
    _, item = np.unique(codes, return_inverse=True)
    begins = None
    longest = -1.0
    for code in true_at(
        np.abs(np.bincount(item) * length / len(codes) - 1) < _MOSTLY
    ).tolist()[:_MOST_LAGS]:
        uses = true_at(item == code)
        apart = np.diff(uses)
        once = len(uses) > LEAST_CYCLES and np.mean(apart == length) >= _MOSTLY
        if (
            once
            and length / 2 < apart.min() <= apart.max() < length * 2
            and pause[uses].mean() > longest
        ):
            begins = uses
            longest = float(pause[uses].mean())
    if begins is None:
        return None
    often = np.bincount(item) * 2 >= len(
        begins
    )  # the others are in no usual cycle, and may be many
    name = np.where(often, np.cumsum(often) - 1, -1)[item[begins[0] : begins[-1]]]
    cycle = np.repeat(np.arange(len(begins) - 1), np.diff(begins))
    held = np.zeros((len(begins) - 1, int(often.sum())), np.int64)
    np.add.at(held, (cycle[name >= 0], name[name >= 0]), 1)
    usual = np.median(held, axis=0)
    shared = np.minimum(held, usual).sum(axis=1)
    match = float(np.mean(shared / (np.diff(begins) + usual.sum() - shared)))
    return Period(length, match, begins) if match >= _LEAST_MATCH else None


def _matches(codes: Int64Array, uses: range) -> tuple[Int64Array, np.ndarray]:
    """Candidate lengths of a cycle, and the share of items that equal the one so many
    earlier. uses: as of _candidate_lags.
    """
    lags = _candidate_lags(codes, uses)
    pairs = ((codes[lag:], codes[:-lag]) for lag in lags.tolist())
    return lags, np.array([np.mean(later == before) for later, before in pairs])


def _candidate_lags(codes: Int64Array, uses: range = _NEXT) -> Int64Array:
    """Distances between uses of a name that leave room for three cycles, ascending: the
    most frequent ones. uses: how many uses later, which is how often a cycle uses the
    name.
    """
    order = order_of(codes)
    name = codes[order]
    apart = [
        (order[use:] - order[:-use])[name[use:] == name[:-use]]
        for use in uses
        if use < len(order)
    ]
    distances = np.concatenate([NO_VALUES, *apart])
    distances = distances[distances * 3 <= len(codes)]
    lags, count = np.unique(distances, return_counts=True)
    weight = lags * count  # a long cycle has few repeats but each explains many items
    return np.sort(lags[descending(weight)][:_MOST_LAGS])


def _cycle_starts(
    codes: Int64Array,
    length: int,
    phase: int,
) -> Int64Array:
    """Where cycles begin: at each use of the name at this phase if a cycle uses it
    once, else every `length` items.
    """
    regular = np.arange(phase, len(codes), length, dtype=np.int64)
    uses = true_at(codes == codes[phase])
    if abs(len(uses) - len(regular)) <= 1:
        return uses.astype(np.int64)
    return regular


# How sure inferred steps are: cycles without a rhythm are none.


LEAST_CYCLES = 3
_LARGEST_SPREAD = 0.35
"""Median deviation from the median period, as a share of it, beyond which cycles are no
steps. Recorded training loops stay below 0.1, unrelated calls of one helper function
lie above 0.45."""
_FEW_PERIODS = 5


class Inferred(msgspec.Struct, frozen=True):
    """Where steps begin, when the last one's own work ends, and how sure that is."""

    starts: Int64Array
    ends: Int64Array
    source: StepSource
    confidence: float
    thread: int
    about: str


def inferred(
    starts: Int64Array,
    ends: Int64Array,
    source: StepSource,
    confidence: float,
    thread: int,
    about: str,
) -> Inferred:
    """Irregular cycles are less sure: the confidence falls with the spread of the
    periods, to 0 when there is no rhythm.
    """
    spread = _spread(starts)
    sure = 0.0 if spread > _LARGEST_SPREAD else confidence / (1.0 + spread)
    return Inferred(starts, ends, source, round(sure, 3), thread, about)


def _spread(starts: Int64Array) -> float:
    """How far the periods lie from the median one, as a share of it; or from their
    neighbours, where they slowly grow.

    starts: of two cycles or more.
    """
    periods = np.diff(starts)
    typical = median(periods)
    if typical <= 0:
        return 1.0
    away = np.abs(periods - typical)
    spread = float(np.mean(away)) if len(periods) < _FEW_PERIODS else median(away)
    if len(periods) >= _FEW_PERIODS:
        spread = min(spread, median(np.abs(np.diff(periods))))
    return spread / typical


# Steps of a capture too short for a rhythm: calls of the compiled function in which the
# devices' work is launched.

_MANY_CALLS = 8
_OF_MANY_CALLS = 0.6
_OF_UNEVEN_CALLS = 0.45
"""Confidence in calls without a rhythm. Of three to seven of them no share is typical:
rules abstain below 0.5.
"""
_NEARLY_ALL_WORK = 0.8
"""Calls without a rhythm are steps only where little else computes; one op of an eager
program is none.
"""
_MOST_WORK = 0.5
"""The function in which at least this share of the devices' work is launched is what
the program steps by.
"""


class Calls(msgspec.Struct, frozen=True):
    """Calls of one function on one thread, ascending."""

    starts: Int64Array
    """When each call begins, ps."""
    ends: Int64Array
    """When the last device work launched in the call ends, or the call where nothing is
    launched after it returns. ps.
    """
    share: float
    """Of all device work, how much the calls launch: 0..1."""
    thread: int
    name: str
    """The function, as its calls are named, without numbers that a runtime appended."""

    def about(self) -> str:
        """What such steps were found by, for the report."""
        return f"calls of {self.name}, which launch {self.share:.0%} of the device work"


def uneven_calls(calls: Calls | None) -> Inferred | None:
    """Three calls or more that launch nearly all device work: the program's steps,
    though they keep no rhythm.
    """
    if (
        calls is None
        or len(calls.starts) < LEAST_CYCLES
        or calls.share < _NEARLY_ALL_WORK
    ):
        return None
    sure = _OF_MANY_CALLS if len(calls.starts) >= _MANY_CALLS else _OF_UNEVEN_CALLS
    return Inferred(
        calls.starts,
        calls.ends,
        StepSource.MODULE,
        sure,
        calls.thread,
        calls.about(),
    )


def calls_with_device_work(
    trace: HostTrace,
    threads: Threads,
    devices: Sequence[Device],
) -> Calls | None:
    """Of the compiled functions that Python calls, the one whose calls launch most
    device work; None without such.

    It must be at least half of all. Functions are distinguished by name; numbers that a
    runtime appends do not count.
    """
    position = _outer_calls(trace, threads)
    label = {
        row: function_name(threads.names[row])
        for row in distinct(threads.row[position]).tolist()
    }
    thread = threads.thread_of(position)
    best: Calls | None = None
    for thread_number in sorted(set(thread.tolist())):
        for name in sorted(set(label.values())):
            rows = [row for row, text in label.items() if text == name]
            mine = position[
                (thread == thread_number) & is_in(threads.row[position], rows)
            ]
            if len(mine):
                found = _launching(
                    threads,
                    outermost(threads, mine),
                    devices,
                    thread_number,
                    name,
                )
            else:
                found = None
            if found is not None and (best is None or found.share > best.share):
                best = found
    return best


def _outer_calls(trace: HostTrace, threads: Threads) -> Int64Array:
    """Positions at which Python calls a tf.function or a jitted function; without
    these, functions run eagerly.
    """
    position = threads.positions(trace.stat(stats.TF_FUNCTION_CALL).event)
    position = distinct(np.append(position[position >= 0], threads.named(is_jitted)))
    if not len(position):
        position = threads.named(is_eager_function)
    return position[~threads.on_pipeline_threads(position)]


def _launching(
    threads: Threads,
    calls: Int64Array,
    devices: Sequence[Device],
    thread: int,
    name: str,
) -> Calls | None:
    """The calls that launch device work; None where they launch less than half of all.

    An accelerator's work belongs to the call during which it was launched. A CPU's runs
    during the call itself.
    """
    starts = threads.start[calls]
    ends = threads.end[calls]
    finished = ends.copy()
    worked = zeros(calls)
    everything = 0
    for device in devices:
        ops = device.ops
        on_cpu = device.kind is DeviceKind.CPU
        otherwise = ops.start if on_cpu else unknown(ops)
        begun = np.where(ops.launch_start >= 0, ops.launch_start, otherwise)
        call = np.searchsorted(starts, begun, side="right") - 1
        inside = (call >= 0) & (begun < ends[np.maximum(call, 0)])
        np.maximum.at(finished, call[inside], ops.end[inside])
        np.add.at(worked, call[inside], (ops.end - ops.start)[inside])
        everything += int((ops.end - ops.start).sum())
    if worked.sum() < max(_MOST_WORK * everything, 1):
        return None
    mine = worked > 0
    return Calls(
        starts[mine],
        finished[mine],
        float(worked.sum() / everything),
        thread,
        name,
    )
