"""What lies inside the time of each activity of the host: what is done there, how
often, and in which steps.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

import msgspec
import numpy as np
from msgspec.structs import replace

from tfadvisor.arrays import Int32Array, Int64Array, distinct, true_at, zeros
from tfadvisor.timeline.attribution.thread_time import Chains
from tfadvisor.timeline.names.doings import Doing
from tfadvisor.vocabulary import TimeClass

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


class Given(msgspec.Struct, frozen=True):
    """What a class takes of one thread."""

    kind: TimeClass
    chains: Chains
    spent: Int64Array
    """ps of each place."""
    count: Int32Array
    """How many of its events have any."""


def inside(
    given: Sequence[Given],
    activities_of: Callable[[Given, Int32Array], Iterable[str]],
    words_of: Callable[[int], str],
    does: Callable[[int], Doing],
) -> Iterator[Inside]:
    """Of each class and thread in turn, in one pass over the places of all.
    activities_of: of chains. words_of, does: of a name's row.
    """
    given = [part for part in given if part.spent.any()]
    if not given:
        return
    places, sizes = _places(given)
    groups = sum(sizes)
    owner = np.repeat(np.arange(len(given)), sizes)
    total = _summed(places.group, places.ps, groups)
    counts = _summed(places.group, places.events, groups)
    order = np.lexsort((-total, owner))
    place_in_owner = np.arange(groups) - np.searchsorted(owner, owner)
    largest = order[(total[order] > 0) & (place_in_owner < _MOST)]
    example = _examples(places.group, places.step, groups)[largest]
    bounds = np.searchsorted(owner[largest], np.arange(len(given) + 1)).tolist()
    activities: list[str] = []
    for part, lo, hi in zip(given, bounds, bounds[1:], strict=False):
        activities += activities_of(part, places.chain[example[lo:hi]])
    columns = zip(
        owner[largest].tolist(),
        activities,
        places.doing[example].tolist(),
        total[largest].tolist(),
        counts[largest].tolist(),
        *_by_step(largest, places.group, places.step, places.ps, groups),
        strict=True,
    )
    for part_index, activity, row, time, events, steps, worst_ps, bearing in columns:
        yield Inside(
            kind=given[part_index].kind,
            activity=activity,
            doing=does(row) if row >= 0 else Doing.UNKNOWN,
            by=words_of(row) if row >= 0 else "",
            ps=time,
            count=events,
            steps=steps,
            worst_ps=worst_ps,
            bearing=bearing,
        )


class _Places(NamedTuple):
    """The places that take any time, of all classes and threads behind each other."""

    group: Int64Array
    """The same for those of one class and thread whose chains have the same names."""
    chain: Int32Array
    step: Int32Array
    doing: Int32Array
    ps: Int64Array
    events: Int64Array
    """Those that are themselves what is done."""


def _places(given: Sequence[Given]) -> tuple[_Places, list[int]]:
    """(the places, how many groups each class and thread has)."""
    chains_of = {id(part.chains): part.chains for part in given}
    groups_of = {known: _groups(chains) for known, chains in chains_of.items()}
    found = []
    sizes: list[int] = []
    for part in given:
        chains, groups = part.chains, groups_of[id(part.chains)]
        mine = true_at(part.spent > 0)
        chain = chains.chain[mine]
        doing = chains.doing[chain]
        itself = chains.leaf[chain] == doing
        columns = (
            groups[chain] + sum(sizes),
            chain,
            chains.step[mine],
            doing,
            part.spent[mine],
            np.where(itself, part.count[mine], 0).astype(np.int64),
        )
        found.append(columns)
        sizes.append(int(groups.max()) + 1)
    return _Places(*map(np.concatenate, zip(*found, strict=True))), sizes


def _groups(chains: Chains) -> Int64Array:
    """A number for each chain: the same for those with the same names."""
    return _rank(
        chains.telling,
        chains.user,
        chains.called,
        chains.dispatched,
        chains.stage,
        chains.doing,
    )


def _examples(group: Int64Array, step: Int32Array, groups: int) -> Int64Array:
    """Of each group the last place in the first step that has one."""
    place = np.arange(len(group))
    first = np.full(groups, len(group))
    np.minimum.at(first, group, place)
    there = step == step[first[group]]
    last = np.zeros(groups, np.int64)
    np.maximum.at(last, group[there], place[there])
    return last


def _rank(*columns: Int32Array) -> Int64Array:
    """A number for each row: the same for rows that are alike in every column."""
    order = np.lexsort(columns[::-1])
    ordered = np.array(columns)[:, order]
    changes = (ordered[:, 1:] != ordered[:, :-1]).any(axis=0)
    rank = zeros(order)
    rank[order[1:]] = changes.cumsum()
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
    step: Int32Array,
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
    cell = line[mine] * width + step[mine] + 1
    place = distinct(cell)
    ps = _summed(place.searchsorted(cell), ps[mine], len(place))
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
    lines, width = shape
    found: list[int] = []
    for first in range(0, lines, _MOST):
        last = min(first + _MOST, lines)
        mine = slice(*np.searchsorted(line, [first, last]).tolist())
        there = np.zeros((last - first, width), np.bool_)
        there[line[mine] - first, column[mine]] = True
        steps = np.packbits(there[:, 1:], axis=1, bitorder="little")
        packed, size = steps.tobytes(), steps.shape[1]
        found += [
            int.from_bytes(packed[row * size : (row + 1) * size], "little") | before
            for row, before in enumerate(there[:, 0].tolist())
        ]
    return found


def together(found: Iterable[Inside]) -> tuple[Inside, ...]:
    """Those of the same activity and event as one, the largest first."""
    known: dict[tuple[TimeClass, str, Doing, str], Inside] = {}
    for part in found:
        key = (part.kind, part.activity, part.doing, part.by)
        before = known.get(key)
        known[key] = part if before is None else _joined(before, part)
    return tuple(sorted(known.values(), key=lambda total: -total.ps))


def _joined(part: Inside, other: Inside) -> Inside:
    return replace(
        part,
        ps=part.ps + other.ps,
        count=part.count + other.count,
        steps=part.steps | other.steps,
        bearing=part.bearing | other.bearing,
        worst_ps=max(part.worst_ps, other.worst_ps),
    )
