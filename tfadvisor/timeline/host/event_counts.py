"""How many events a host has written down: what recording costs it goes by that."""

from __future__ import annotations

import msgspec
import numpy as np

from tfadvisor.timeline.names.classes import is_host_plane
from tfadvisor.timeline.names.frames import is_frame
from tfadvisor.trace.columns import HostTrace


class EventCounts(msgspec.Struct, frozen=True):
    """Of one host's trace."""

    every: int
    """Events of devices too."""
    python_calls: int
    """Calls of Python functions on all threads of the host, which take turns."""
    others: int
    """Other events on the thread of the host that has most of them."""


def count_events(trace: HostTrace) -> EventCounts:
    """Of all lines and planes."""
    names, planes = trace.names.name, trace.planes
    names_a_call = np.array(list(map(is_frame, names)), np.bool_)
    is_of_host = np.array([is_host_plane(plane.name) for plane in planes], np.bool_)

    line = trace.line_of_event()
    on_host = is_of_host[trace.lines.plane][line]
    is_call = names_a_call[trace.events.row]
    others_by_line = np.bincount(line[on_host & ~is_call])

    return EventCounts(
        every=len(trace.events),
        python_calls=int(np.count_nonzero(on_host & is_call)),
        others=int(others_by_line.max(initial=0)),
    )
