"""Which call on the host launched each event of a device: both bear the same correlation id."""

from __future__ import annotations

import numpy as np

from tfadvisor.timeline.devices.stats_of_events import numbers_of
from tfadvisor.timeline.host.threads import Threads
from tfadvisor.timeline.intervals import Int64Array
from tfadvisor.timeline.names import stats
from tfadvisor.xplane.columns import HostTrace


class LaunchLinks:
    """Host calls by correlation id. Ids may repeat between devices, so a call that names its device wins."""

    def __init__(self, trace: HostTrace, threads: Threads) -> None:
        """Sorts the calls of all host threads that bear an id."""
        self._trace = trace
        position, value = threads.integers(trace.stat(stats.CORRELATION_ID))
        device_at, device = threads.integers(trace.stat(stats.DEVICE_ID))
        by_position = np.full(len(threads), -1, np.int64) if len(device_at) else None
        if by_position is not None:
            by_position[device_at] = device
        keep = value > 0
        self._position, self._id = position[keep], value[keep]
        self._device = by_position[self._position] if by_position is not None else np.full(len(self._id), -1, np.int64)
        order = np.argsort(self._id, kind="stable")
        self._position, self._id, self._device = self._position[order], self._id[order], self._device[order]
        self._start, self._end, self._row = threads.start, threads.end, threads.row

    def of(self, events: Int64Array, device: int) -> tuple[Int64Array, Int64Array, Int64Array]:
        """(start, end, name row) of the call that launched each event, -1 where none is found."""
        wanted, known = numbers_of(self._trace.stat(stats.CORRELATION_ID), events)
        if not len(self._id) or not known.any():
            nothing = np.full(len(events), -1, np.int64)
            return nothing, nothing.copy(), nothing.copy()
        lo = np.searchsorted(self._id, wanted, side="left")
        hi = np.searchsorted(self._id, wanted, side="right")
        found = known & (hi > lo)
        position = self._position[np.minimum(lo, len(self._id) - 1)]
        several = found & (hi - lo > 1)
        mine = self._device == device
        if several.any() and mine.any():
            ids, positions = self._id[mine], self._position[mine]
            at = np.minimum(np.searchsorted(ids, wanted), len(ids) - 1)
            position = np.where(several & (ids[at] == wanted), positions[at], position)
        return (
            np.where(found, self._start[position], -1),
            np.where(found, self._end[position], -1),
            np.where(found, self._row[position], -1),
        )
