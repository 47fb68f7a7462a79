"""What metrics read of a run: the summaries of its hosts, and where their
devices met.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from tfadvisor.timeline.run.meetings import Meetings, find_meetings
from tfadvisor.timeline.summary.host_summary import HostSummary
from tfadvisor.trace.counters import HostCounters
from tfadvisor.trace.noted_ops import NotedOps

_NOTHING = NotedOps()


class UnreadHost(msgspec.Struct, frozen=True):
    """A host whose trace file could not be read. why: what is wrong with the file, a
    sentence's second part.
    """

    host: str
    why: str


class RunSummary(msgspec.Struct, frozen=True, weakref=True):
    """All hosts of one run. name and path as the user knows them.

    meetings: the collectives that all devices took part in. duplicates: files that were
    left out because another host's file holds the very same bytes. unread: the hosts
    that are missing from all this.
    """

    name: str
    path: str
    hosts: tuple[HostSummary, ...]
    meetings: Meetings
    duplicates: tuple[str, ...] = ()
    unread: tuple[UnreadHost, ...] = ()
    counters: tuple[HostCounters, ...] = ()
    """What lies beside the traces of its hosts."""
    op_lines: NotedOps = _NOTHING
    """The same: lines of the program that made TensorFlow's ops."""

    @property
    def framework_version(self) -> str:
        """As the trace names it, else as the recorded machine had it installed; ""
        where neither tells.
        """
        told = self.hosts[0].capture
        installed = (
            counter.counted.settings.versions
            for counter in self.counters
            if counter.counted is not None
        )
        return told.framework_version or next(installed, {}).get(told.framework, "")


def merge(
    name: str,
    path: str,
    hosts: Sequence[HostSummary],
    duplicates: Sequence[str] = (),
    unread: Sequence[UnreadHost] = (),
    counters: Sequence[HostCounters] = (),
    op_lines: NotedOps = _NOTHING,
) -> RunSummary:
    """The run of these hosts."""
    return RunSummary(
        name,
        path,
        tuple(hosts),
        find_meetings(hosts),
        tuple(duplicates),
        tuple(unread),
        tuple(counters),
        op_lines,
    )
