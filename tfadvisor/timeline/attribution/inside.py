"""What lies inside the time of each activity of the host: what is done there, how
often, and in which steps.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

import msgspec
import numpy as np
from msgspec.structs import replace

from tfadvisor.arrays import true_at
from tfadvisor.timeline.attribution.thread_time import Chains
from tfadvisor.timeline.names.doings import Doing
from tfadvisor.vocabulary import TimeClass

if TYPE_CHECKING:
    import numpy.typing as npt

    from tfadvisor.timeline.intervals import Int64Array

_MOST = 200
"""Groups of events of a class that are looked at, the largest first."""


class Inside(msgspec.Struct, frozen=True):
    """A part of the time of one activity, in which one thing is done."""

    kind: TimeClass
    """The class of the time."""
    activity: str
    """As in `Spent`."""
    doing: Doing
    """What is done; UNKNOWN where no event inside tells."""
    by: str
    """The event that tells it, as `_variable_flatten (variablelib.py:2012)`."""
    ps: int
    """In all counted steps."""
    count: int
    """How many such events there are in them."""
    steps: int
    """The steps that have any of it: bit i for step i of the host's."""
    worst_ps: int
    """In the step that has most of it."""
    bearing: int = 0
    """The fewest steps that have nine tenths of it, as `steps`."""


def inside(
    kind: TimeClass,
    chains: Chains,
    spent: Int64Array,
    count: npt.NDArray[np.int32],
    activity_of: Callable[[int], str],
    words_of: Callable[[int], str],
    does: Callable[[int], Doing],
) -> Iterator[Inside]:
    """Of one class and thread. spent, count: ps and events of each place. activity_of:
    of a chain. words_of, does: of a name's row.
    """
    mine = true_at(spent > 0)
    if not len(mine):
        return
    ps = spent[mine]
    group = _groups(chains, chains.chain[mine])
    groups = int(group.max()) + 1
    chain = chains.chain[mine[_examples(group, chains.step[mine], groups)]]
    total = _summed(group, ps, groups)
    itself = (chains.leaf == chains.doing)[chains.chain[mine]]
    counts = _summed(group, count[mine] * itself, groups)
    largest = np.argsort(-total, kind="stable")[:_MOST]
    by_step = _by_step(largest, group, chains.step[mine], ps, groups)
    for number, time in zip(largest.tolist(), by_step, strict=True):
        row = int(chains.doing[chain[number]])
        yield Inside(
            kind=kind,
            activity=activity_of(int(chain[number])),
            doing=does(row) if row >= 0 else Doing.UNKNOWN,
            by=words_of(row) if row >= 0 else "",
            ps=int(total[number]),
            count=int(counts[number]),
            steps=_as_bits(time),
            worst_ps=int(time.max()),
            bearing=_as_bits(_bearing(time)),
        )


def _groups(chains: Chains, chain: npt.NDArray[np.int32]) -> Int64Array:
    """A number for each chain: the same for those with the same names."""
    there = np.zeros(len(chains.leaf), np.bool_)
    there[chain] = True
    used = true_at(there)
    group = np.zeros(len(there), np.int64)
    group[used] = _rank(
        chains.telling[used],
        chains.user[used],
        chains.called[used],
        chains.dispatched[used],
        chains.stage[used],
        chains.doing[used],
    )
    return group[chain]


def _examples(
    group: Int64Array, step: npt.NDArray[np.int32], groups: int
) -> Int64Array:
    """Of each group the last place in the first step that has one."""
    place = np.arange(len(group))
    first = np.full(groups, len(group))
    np.minimum.at(first, group, place)
    there = step == step[first[group]]
    last = np.zeros(groups, np.int64)
    np.maximum.at(last, group[there], place[there])
    return last


def _rank(*columns: npt.NDArray[np.int32]) -> Int64Array:
    """A number for each row: the same for rows that are alike in every column."""
    rank = np.zeros(len(columns[0]), np.int64)
    for column in columns:
        _, number = np.unique(column, return_inverse=True)
        pair = rank * (int(number.max()) + 1) + number
        _, rank = np.unique(pair, return_inverse=True)
    return rank


def _summed(
    group: Int64Array,
    ps: Int64Array,
    groups: int,
) -> Int64Array:
    """Exact, as no sum of doubles is."""
    total = np.zeros(groups, np.int64)
    np.add.at(total, group, ps)
    return total


def _by_step(
    largest: Int64Array,
    group: Int64Array,
    step: npt.NDArray[np.int32],
    ps: Int64Array,
    groups: int,
) -> Int64Array:
    """ps of the largest groups before the first step and in each, shape (those, steps +
    1).
    """
    line = np.full(groups, -1)
    line[largest] = np.arange(len(largest))
    line = line[group]
    time = np.zeros((len(largest), int(step.max()) + 2), np.int64)
    mine = line >= 0
    np.add.at(time, (line[mine], step[mine] + 1), ps[mine])
    return time


def _as_bits(time: Int64Array) -> int:
    """The steps that have any: what lies before the first counts as of it."""
    has_any = time > 0
    steps = np.packbits(has_any[1:], bitorder="little").tobytes()
    return int.from_bytes(steps, "little") | int(has_any[0])


_MOSTLY = 0.9


def _bearing(time: Int64Array) -> Int64Array:
    """The largest values alone, until they hold most of the sum; 0 for the others."""
    order = np.argsort(-time, kind="stable")
    whole = np.cumsum(time[order])
    enough = int(np.searchsorted(whole, _MOSTLY * whole[-1])) + 1
    kept = np.zeros_like(time)
    kept[order[:enough]] = time[order[:enough]]
    return kept


def together(found: Iterable[Inside]) -> tuple[Inside, ...]:
    """Those of the same activity and event as one, the largest first."""
    known: dict[tuple[TimeClass, str, Doing, str], Inside] = {}
    for part in found:
        key = (part.kind, part.activity, part.doing, part.by)
        before = known.get(key)
        known[key] = part if before is None else _joined(before, part)
    return tuple(sorted(known.values(), key=lambda one: -one.ps))


def _joined(part: Inside, other: Inside) -> Inside:
    return replace(
        part,
        ps=part.ps + other.ps,
        count=part.count + other.count,
        steps=part.steps | other.steps,
        bearing=part.bearing | other.bearing,
        worst_ps=max(part.worst_ps, other.worst_ps),
    )
