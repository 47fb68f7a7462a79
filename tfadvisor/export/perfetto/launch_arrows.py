"""Which device events are drawn as launched by which host call."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tfadvisor.arrays import distinct, is_in
from tfadvisor.timeline.intervals import Int64Array
from tfadvisor.xplane.columns import HostTrace


def launch_arrows(trace: HostTrace, numbers: Callable[[int], int]) -> Int64Array | None:
    """A number for each event: what a call and the device events that it launched share, 0 without one. None without any.

    By CUDA's and HIP's correlation id. Ids that several host calls carry are left out, for they do not tell which it was.
    numbers: gives the first of so many unused numbers.
    """
    event, value = trace.stat("correlation_id").integers()
    event, value = event[value > 0], value[value > 0]
    if not len(event):
        return None
    device = np.array([plane.name.startswith("/device:") for plane in trace.planes], np.bool_)
    on_device = device[trace.lines.plane[trace.line_of_event()[event]]]
    calls = np.sort(value[~on_device])
    once = np.ones(len(calls), np.bool_)
    once[1:] &= calls[1:] != calls[:-1]
    once[:-1] &= calls[1:] != calls[:-1]
    shared = distinct(value[on_device & is_in(value, calls[once])])
    if not len(shared):
        return None
    linked = is_in(value, shared)
    out = np.zeros(len(trace.events), np.int64)
    out[event[linked]] = np.searchsorted(shared, value[linked]) + numbers(len(shared))
    return out
