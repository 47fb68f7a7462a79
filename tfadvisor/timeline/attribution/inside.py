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
from tfadvisor.timeline.sweeps import alike
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


def inside(
    kind: TimeClass,
    chains: Chains,
    spent: Int64Array,
    activity_of: Callable[[int], str],
    words_of: Callable[[int], str],
) -> Iterator[Inside]:
    """Of one class and thread. spent: ps of each event and gap. activity_of: of an
    event. words_of: of a name's row.
    """
    alike_events = _alike(chains, spent)
    if not len(alike_events.event):
        return
    event, ps = alike_events.event, alike_events.ps
    chain = _rank(
        chains.telling[event],
        chains.user[event],
        chains.called[event],
        chains.dispatched[event],
        chains.stage[event],
        chains.doing[event],
    )
    groups = int(chain.max()) + 1
    total = _summed(chain, ps, groups)
    counts = _summed(chain, alike_events.count, groups)
    first = np.full(groups, len(event))
    np.minimum.at(first, chain, np.arange(len(event)))
    by_step = _by_step(chain, chains.step[event], ps, groups)
    for group in np.argsort(-total, kind="stable")[:_MOST].tolist():
        example = int(event[first[group]])
        row = int(chains.doing[example])
        steps, worst = by_step(group)
        yield Inside(
            kind=kind,
            activity=activity_of(example),
            doing=Doing(int(chains.does[example])),
            by=words_of(row) if row >= 0 else "",
            ps=int(total[group]),
            count=int(counts[group]),
            steps=steps,
            worst_ps=worst,
        )


class _AlikeEvents(msgspec.Struct, frozen=True):
    """Events of one step with the same chain of names, together."""

    event: Int64Array
    """One of them."""
    ps: Int64Array
    """Of all of them."""
    count: Int64Array
    """How many themselves tell what is done; 0 where something around them does."""


def _alike(chains: Chains, spent: Int64Array) -> _AlikeEvents:
    """Those that take any of the time; one pass, so that what follows is about few."""
    mine = true_at(spent > 0)
    is_doing = (chains.leaf[mine] == chains.doing[mine]).astype(np.int32)
    columns = (
        chains.telling,
        chains.user,
        chains.called,
        chains.dispatched,
        chains.stage,
        chains.doing,
        chains.step,
    )
    chosen = (*(np.ascontiguousarray(column[mine]) for column in columns), is_doing)
    nothing, every = np.zeros(len(mine), np.int64), np.ones(len(mine), np.uint8)
    length = np.ascontiguousarray(spent[mine])
    last, count, total, _ = alike(chosen, nothing, length, every, 0)
    return _AlikeEvents(mine[last], total, count * is_doing[last])


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
    group: Int64Array,
    step: npt.NDArray[np.int32],
    ps: Int64Array,
    groups: int,
) -> Callable[[int], tuple[int, int]]:
    """Of a group (its steps as bits, the most that one of them has)."""
    pair = group * (int(step.max()) + 2) + step + 1
    found, where = np.unique(pair, return_inverse=True)
    time = _summed(where, ps, len(found))
    owner, at = np.divmod(found, int(step.max()) + 2)
    first = owner.searchsorted(np.arange(groups + 1))

    def of(one: int) -> tuple[int, int]:
        lo, hi = int(first[one]), int(first[one + 1])
        bits = 0
        for index in at[lo:hi].tolist():
            bits |= 1 << max(index - 1, 0)
        return bits, int(time[lo:hi].max())

    return of


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
        worst_ps=max(part.worst_ps, other.worst_ps),
    )
