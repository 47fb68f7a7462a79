"""What XLA's runtime for GPUs does on the host while a program runs there: loops that
it runs turn by turn, and CUDA graphs that it brings up to date.
"""

from __future__ import annotations

import msgspec
import numpy as np

from tfadvisor.arrays import Int64Array
from tfadvisor.timeline.host.dispatches import outermost_of_threads
from tfadvisor.timeline.host.threads import Threads
from tfadvisor.timeline.intervals import Intervals
from tfadvisor.timeline.names.drivers import (
    copies_to_host,
    is_loop,
    is_turn,
    updates_graph,
)
from tfadvisor.timeline.timeline_parts import Steps
from tfadvisor.timeline.windows import in_counted_steps


class XlaRuns(msgspec.Struct, frozen=True):
    """Over the counted steps."""

    turns: int
    """Of while loops, those of loops inside of others too."""
    turns_ps: int
    """From the beginning of a turn to its end on the host; an instant counts once."""
    reads: int
    """Copies to the host within turns: of the condition, by which the host knows
    whether another one follows.
    """
    loop: str
    """The outermost loop that takes most of that time: `while.3`; "" for none."""
    updates: int
    """How often the addresses in a graph are written anew."""
    updates_ps: int
    """What that takes on the host."""


def turns_of_loops(threads: Threads) -> Intervals:
    """When the host runs the turns of a compiled program's loops."""
    return _when(threads, threads.named(is_turn))


def updates_of_graphs(threads: Threads) -> Intervals:
    """When the host writes buffers' addresses into CUDA graphs."""
    return _when(threads, threads.named(updates_graph))


def xla_runs(threads: Threads, steps: Steps) -> XlaRuns:
    """Zeros where XLA wrote down nothing of it."""

    def counted(positions: Int64Array) -> Int64Array:
        return positions[in_counted_steps(threads.start[positions], steps)]

    turns = counted(threads.named(is_turn))
    updates = counted(threads.named(updates_graph))
    reads = counted(threads.named(copies_to_host))
    during = _when(threads, turns)
    return XlaRuns(
        turns=len(turns),
        turns_ps=during.length(),
        reads=int(during.contains(threads.start[reads]).sum()),
        loop=_largest(threads, counted(threads.named(is_loop))) if len(turns) else "",
        updates=len(updates),
        updates_ps=int(threads.lengths(updates).sum()),
    )


def _when(threads: Threads, positions: Int64Array) -> Intervals:
    return threads.when(positions)


def _largest(threads: Threads, loops: Int64Array) -> str:
    loops = outermost_of_threads(threads, loops)
    rows, of = np.unique(threads.row[loops], return_inverse=True)
    time = np.bincount(of, threads.lengths(loops))
    return threads.names[int(rows[int(time.argmax())])] if len(rows) else ""
