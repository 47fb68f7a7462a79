"""The clock of samples beside that of a trace: a sampler's ticks are known to one of
its intervals, which is more than many steps take.
"""

from __future__ import annotations

import numpy as np
from msgspec.structs import replace

from tfadvisor.arrays import Int64Array
from tfadvisor.timeline.attribution.spent import Sampled
from tfadvisor.timeline.host.dispatches import dispatches
from tfadvisor.timeline.host.thread_layout import Thread
from tfadvisor.timeline.host.threads import Threads
from tfadvisor.units import PS_PER_MS

_FARTHEST, _BY = 10 * PS_PER_MS, PS_PER_MS // 4
"""An interval of the sampler, and in steps of what."""
_FEWEST_TICKS = 40
_SURE = 20.0
"""By how much the likelihood ratio has to grow, as a G-test has it, for another clock
to be believed, and by no less than the table's degrees of freedom, which is what chance
makes of it.
"""
_ALIKE = 3.0
"""Of shifts whose ratios differ by less the smallest is taken."""


def aligned(samples: Sampled, threads: Threads, thread: Thread) -> Sampled:
    """Moved by the time with which the program's lines tell best what the thread
    dispatches; as they are where no shift tells clearly more than none.
    """
    calls = dispatches(threads, thread)
    if not len(calls):
        return samples
    calls = calls[np.argsort(threads.start[calls], kind="stable")]
    first = threads.start[calls[0]] + _FARTHEST
    last = threads.end[calls].max() - _FARTHEST
    inside = (samples.at > first) & (samples.at < last) & (samples.place >= 0)
    if inside.sum() < _FEWEST_TICKS:
        return samples
    at, lines = samples.at[inside], _lines(samples)[samples.place[inside]]
    shifts = np.arange(-_FARTHEST, _FARTHEST + 1, _BY)
    tables = [_table(lines, _names(at + shift, threads, calls)) for shift in shifts]
    ratios = np.array([_ratio(table) for table in tables])
    near = np.flatnonzero(ratios >= ratios.max() - _ALIKE)
    best = near[np.argmin(np.abs(shifts[near]))]
    gained = ratios[best] - ratios[len(shifts) // 2]
    rows, columns = tables[best].shape
    if gained < max(_SURE, (rows - 1) * (columns - 1)):
        return samples
    return replace(samples, at=samples.at + shifts[best])


def _lines(samples: Sampled) -> Int64Array:
    """A number for the line of each place."""
    number: dict[tuple[str, int], int] = {}
    found = [number.setdefault(place[:2], len(number)) for place in samples.places]
    return np.array(found, np.int64)


def _names(at: Int64Array, threads: Threads, calls: Int64Array) -> Int64Array:
    """What is dispatched at these instants, as the row of its name; -1 for nothing.
    calls: in the order in which they begin.
    """
    before = np.searchsorted(threads.start[calls], at, side="right") - 1
    last = calls[np.maximum(before, 0)]
    runs = (before >= 0) & (at < threads.end[last])
    return np.where(runs, threads.row[last], -1)


def _table(lines: Int64Array, names: Int64Array) -> Int64Array:
    """How many ticks have each line and name. Shape (lines, names)."""
    _, line = np.unique(lines, return_inverse=True)
    _, name = np.unique(names, return_inverse=True)
    table = np.zeros((line.max() + 1, name.max() + 1), np.int64)
    np.add.at(table, (line, name), 1)
    return table


def _ratio(table: Int64Array) -> float:
    """The G statistic: 0 where neither tells the other."""
    chance = table.sum(1, keepdims=True) * table.sum(0, keepdims=True) / table.sum()
    seen = table > 0
    return float(2 * (table[seen] * np.log(table[seen] / chance[seen])).sum())
