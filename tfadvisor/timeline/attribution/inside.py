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
    activities_of: Callable[[npt.NDArray[np.int32]], Iterable[str]],
    words_of: Callable[[int], str],
    does: Callable[[int], Doing],
) -> Iterator[Inside]:
    """Of one class and thread. spent, count: ps and events of each place.
    activities_of: of chains. words_of, does: of a name's row.
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
    columns = zip(
        activities_of(chain[largest]),
        chains.doing[chain[largest]].tolist(),
        total[largest].tolist(),
        counts[largest].tolist(),
        *_by_step(largest, group, chains.step[mine], ps, groups),
        strict=True,
    )
    for activity, row, time, events, steps, worst_ps, bearing in columns:
        yield Inside(
            kind=kind,
            activity=activity,
            doing=does(row) if row >= 0 else Doing.UNKNOWN,
            by=words_of(row) if row >= 0 else "",
            ps=time,
            count=events,
            steps=steps,
            worst_ps=worst_ps,
            bearing=bearing,
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
    order = np.lexsort(columns[::-1])
    ordered = np.stack(columns)[:, order]
    changes = (ordered[:, 1:] != ordered[:, :-1]).any(axis=0)
    rank = np.empty(len(order), np.int64)
    rank[order] = np.append(0, np.cumsum(changes))
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


_MOSTLY = 0.9


def _by_step(
    largest: Int64Array,
    group: Int64Array,
    step: npt.NDArray[np.int32],
    ps: Int64Array,
    groups: int,
) -> tuple[list[int], list[int], list[int]]:
    """(the steps that have any, ps in the one that has most, the fewest steps that
    have nine tenths) of each of the largest groups. What lies before the first step
    counts as of it, but as a step of its own for its length.
    """
    line = np.full(groups, -1)
    line[largest] = np.arange(len(largest))
    line = line[group]
    width = int(step.max()) + 2
    mine = line >= 0
    place, part = np.unique(line[mine] * width + step[mine] + 1, return_inverse=True)
    ps = _summed(part, ps[mine], len(place))
    order = np.lexsort((-ps, place // width))
    line, column = np.divmod(place[order], width)
    ps = ps[order]
    first = np.searchsorted(line, np.arange(len(largest)))
    whole = np.add.reduceat(ps, first)
    before = np.cumsum(ps) - ps
    before -= before[first][line]
    bearing = before < _MOSTLY * whole[line]
    shape = len(largest), width
    return (
        _as_bits(line, column, shape),
        ps[first].tolist(),
        _as_bits(line[bearing], column[bearing], shape),
    )


def _as_bits(line: Int64Array, column: Int64Array, shape: tuple[int, int]) -> list[int]:
    """Of each line its columns from the second on as bits; the first counts as the
    second.
    """
    there = np.zeros(shape, np.bool_)
    there[line, column] = True
    steps = np.packbits(there[:, 1:], axis=1, bitorder="little")
    return [
        int.from_bytes(row.tobytes(), "little") | before
        for row, before in zip(steps, there[:, 0].tolist(), strict=True)
    ]


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
