"""Which call on the host launched each event of a device: both bear the same correlation id."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tfadvisor.arrays import constant
from tfadvisor.timeline.devices.stats_of_events import numbers_as_stored
from tfadvisor.timeline.host.threads import Threads
from tfadvisor.timeline.intervals import Int64Array
from tfadvisor.timeline.model import Callers
from tfadvisor.timeline.names import stats
from tfadvisor.timeline.sweeps import places
from tfadvisor.xplane.columns import HostTrace

if TYPE_CHECKING:
    import numpy.typing as npt


class LaunchLinks:
    """Host calls by correlation id. Ids may repeat between devices, so a call that names its device wins."""

    def __init__(self, trace: HostTrace, threads: Threads) -> None:
        """Sorts the calls of all host threads that bear an id."""
        self._trace = trace
        position, value = threads.integers_as_stored(trace.stat(stats.CORRELATION_ID))
        device_at, device = threads.integers(trace.stat(stats.DEVICE_ID))
        if len(value) and int(value.min()) <= 0:
            position, value = position[value > 0], value[value > 0]
        if (value[1:] < value[:-1]).any():
            order = np.argsort(value, kind="stable")
            position, value = position[order], value[order]
        self._position, self._id = position, value
        self._repeat = bool((value[1:] == value[:-1]).any())
        self._device = constant(-1, len(value), np.int64)
        if self._repeat and len(device_at):
            by_position = np.full(len(threads), -1, np.int64)
            by_position[device_at] = device
            self._device = by_position[position]
        self.callers = Callers(threads.start, threads.end, threads.row)

    def of(self, events: Int64Array, device: int) -> npt.NDArray[np.int32]:
        """Index into the callers of the call that launched each event, -1 where none is found."""
        wanted, known = numbers_as_stored(self._trace.stat(stats.CORRELATION_ID), events)
        if not len(self._id) or not known.any():
            return constant(-1, len(events))
        place = places(self._id, wanted)
        found = known & (place >= 0)
        position = self._position[place]
        mine = self._device == device
        if self._repeat and mine.any():
            several = (
                found & (self._id[np.minimum(place + 1, len(self._id) - 1)] == wanted) & (place + 1 < len(self._id))
            )
            ids, positions = self._id[mine], self._position[mine]
            at = places(ids, wanted)
            position = np.where(several & (at >= 0), positions[at], position)
        del wanted, place
        launch = position.astype(np.int32, copy=False)
        if not found.all():
            launch[~found] = -1
        return launch
