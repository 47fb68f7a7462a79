"""Which call of a jitted function dispatched which run of its program, where the trace ties neither to the other."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tfadvisor.arrays import constant, distinct, group_spans, ranks, true_at
from tfadvisor.timeline.devices.stats_of_events import value_at
from tfadvisor.timeline.host.dispatches import calls_of_module
from tfadvisor.timeline.host.threads import Threads
from tfadvisor.timeline.intervals import Int64Array
from tfadvisor.timeline.names import stats
from tfadvisor.xplane.columns import HostTrace

if TYPE_CHECKING:
    import numpy.typing as npt


def calls_of_runs(
    trace: HostTrace, threads: Threads, positions: Int64Array, module: npt.NDArray[np.int32], names: tuple[str, ...]
) -> npt.NDArray[np.int32]:
    """Position of the call that dispatched each thunk's run, -1 where unknown, of shape (positions,).

    Runs of one module start in the order of its calls, and no run starts before its call. positions: of the thunks.
    module: index of each thunk's module in names, -1 without one.
    """
    where, value = threads.integers(trace.stat(stats.RUN_ID))
    if not len(where):
        return constant(-1, len(positions))
    run, start, end = value_at(where, ranks(value), positions, -1), threads.start[positions], threads.end[positions]
    launch = np.full(len(positions), -1, np.int32)
    for one in distinct(module[(module >= 0) & (run >= 0)]).tolist():
        mine = true_at((module == one) & (run >= 0))
        inverse = ranks(run[mine])
        begins, ends = group_spans(inverse, start[mine], end[mine])
        order = np.argsort(begins, kind="stable")
        rank = np.empty(len(order), np.int64)
        rank[order] = np.arange(len(order))
        calls = calls_of_module(threads, names[one])
        early = runs_before_calls(threads.start[calls], begins[order], ends[order])
        if early is not None:
            call = rank[inverse] - early
            known = (call >= 0) & (call < len(calls))
            launch[mine[known]] = calls[call[known]]
    return launch


def runs_before_calls(calls: Int64Array, begins: Int64Array, ends: Int64Array) -> int | None:
    """How many of the first runs were called before the trace began. None where no order fits.

    calls: when the calls began. begins, ends: of the runs. Each in order, in ps.

    Where most calls begin after the run before theirs has ended, the host waits for each run, and the call right before a
    run is its own. A host that is ahead calls while earlier runs go on, and nothing ties a run to its call; then all surplus
    runs were called before the trace began, since a program waits for its last ones before it stops the trace.
    """
    if not len(calls) or not len(begins):
        return None
    soonest = max(0, int((np.searchsorted(begins, calls) - np.arange(len(calls)))[: len(begins)].max()))
    surplus = max(0, len(begins) - len(calls))
    if surplus <= soonest:
        return soonest if 2 * soonest <= len(begins) else None
    own = np.arange(soonest, soonest + len(calls))
    followed = own[(own > 0) & (own < len(begins))]
    waited = calls[followed - soonest] >= ends[followed - 1]
    return soonest if 2 * int(waited.sum()) > len(followed) else surplus
