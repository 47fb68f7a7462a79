"""How much an allocator has given out over the trace, and what lives when that is most.

An allocation that began before the trace has no event: its bytes are known from the sum alone.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np

from tfadvisor.arrays import distinct
from tfadvisor.timeline.host.threads import Threads
from tfadvisor.timeline.intervals import Int64Array
from tfadvisor.timeline.names import stats
from tfadvisor.timeline.names.copies_and_memory import is_allocation, is_host_allocator
from tfadvisor.xplane.columns import HostTrace

_POINTS = 1_000
_MOST_BLOCKS = 100


class Block(msgspec.Struct, frozen=True):
    """What one op holds at the peak. op, region, shape: "" where the event does not tell."""

    op: str
    region: str
    """output, temp, persist/dynamic, …"""
    shape: str
    bytes: int
    since_ps: int
    """Of its allocation."""


class MemoryCurve(msgspec.Struct, frozen=True):
    """One allocator. at_ps, bytes: what is given out from each instant on, the highest of each stretch."""

    allocator: str
    at_ps: Int64Array
    bytes: Int64Array
    peak_ps: int
    peak_bytes: int
    """The most in this trace."""
    highest_bytes: int
    """The most since the program began."""
    capacity_bytes: int
    live: tuple[Block, ...]
    """At the peak, the largest first."""
    unseen_bytes: int
    """At the peak, of blocks that were taken before the trace or are too many to be listed."""


def memory_curves(trace: HostTrace, threads: Threads) -> tuple[MemoryCurve, ...]:
    """By allocator of a device; empty without allocator events."""
    column = trace.stat(stats.ALLOCATOR_NAME)
    event, code = column.codes()
    position = threads.positions(event)
    found = []
    for index, name in enumerate(column.texts):
        mine = distinct(position[(code == index) & (position >= 0)])
        if len(mine) and not is_host_allocator(name):
            found.append(_curve(trace, threads, name, mine[np.argsort(threads.start[mine], kind="stable")]))
    return tuple(found)


def _curve(trace: HostTrace, threads: Threads, name: str, mine: Int64Array) -> MemoryCurve:
    given = _numbers(trace, threads, stats.BYTES_ALLOCATED, mine)
    rest = _numbers(trace, threads, stats.BYTES_AVAILABLE, mine) + _numbers(trace, threads, stats.BYTES_RESERVED, mine)
    at = threads.start[mine]
    peak = int(np.argmax(given))
    points = _highest_of_stretches(given)
    live = _live(trace, threads, mine[: peak + 1])
    return MemoryCurve(
        allocator=name,
        at_ps=at[points],
        bytes=given[points],
        peak_ps=int(at[peak]),
        peak_bytes=int(given[peak]),
        highest_bytes=max(int(_numbers(trace, threads, stats.PEAK_BYTES_IN_USE, mine).max()), int(given[peak])),
        capacity_bytes=int((given + rest).max()),
        live=tuple(live[:_MOST_BLOCKS]),
        unseen_bytes=max(int(given[peak]) - sum(one.bytes for one in live[:_MOST_BLOCKS]), 0),
    )


def _highest_of_stretches(values: Int64Array) -> Int64Array:
    """Indices: of each stretch of neighbours the highest, so that no peak is lost."""
    width = -(-len(values) // _POINTS)
    starts = np.arange(0, len(values), width)
    return np.array([one + int(np.argmax(values[one : one + width])) for one in starts.tolist()], np.int64)


def _live(trace: HostTrace, threads: Threads, until: Int64Array) -> list[Block]:
    """The blocks that were taken and not given back, the largest first. until: the events, in order of time."""
    address = _numbers(trace, threads, stats.BLOCK_ADDRESS, until).tolist()
    if not any(address):
        return []
    size = _numbers(trace, threads, stats.ALLOCATION_BYTES, until).tolist()
    takes = np.array([is_allocation(name) for name in threads.names], np.bool_)[threads.row[until]].tolist()
    held: dict[int, int] = {}
    for place, (one, taken) in enumerate(zip(address, takes, strict=True)):
        if taken:
            held[one] = place
        else:
            held.pop(one, None)
    chosen = sorted(held.values(), key=lambda place: -size[place])[:_MOST_BLOCKS]
    words = [
        _texts(trace, threads, stat, until[chosen]) for stat in (stats.TF_OP, stats.REGION_TYPE, stats.BLOCK_SHAPE)
    ]
    return [
        Block(op, region, shape, size[place], int(threads.start[until[place]]))
        for place, op, region, shape in zip(chosen, *words, strict=True)
    ]


def _numbers(trace: HostTrace, threads: Threads, stat: str, positions: Int64Array) -> Int64Array:
    where, value = threads.integers(trace.stat(stat))
    table = np.zeros(len(threads), np.int64)
    table[where] = value
    found: Int64Array = table[positions]
    return found


def _texts(trace: HostTrace, threads: Threads, stat: str, positions: Sequence[int] | Int64Array) -> list[str]:
    column = trace.stat(stat)
    event, code = column.codes()
    text = dict(zip(threads.positions(event).tolist(), code.tolist(), strict=True))
    return [column.texts[text[one]] if one in text else "" for one in np.asarray(positions).tolist()]
