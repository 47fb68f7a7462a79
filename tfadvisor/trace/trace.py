"""A run's trace for notebooks: the decoded columns of its hosts, as pandas frames on
request.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from tfadvisor.arrays import is_in
from tfadvisor.errors import UsageError
from tfadvisor.printable import one_line
from tfadvisor.trace.columns import HostTrace, Kind, Selection, StatColumn
from tfadvisor.trace.decode import decode_file
from tfadvisor.trace.runs import Readable, Run, held, run_in
from tfadvisor.units import counted

if TYPE_CHECKING:
    import numpy.typing as npt
    import pandas as pd


class Trace(msgspec.Struct, frozen=True):
    """All hosts of one run, decoded. Frames use the host's index in `hosts` as the
    column `host`.
    """

    run: Run
    """Which session, and its files."""
    hosts: tuple[HostTrace, ...]
    """Each host's columns, in the order of the run's files."""

    def events(self, stats: Sequence[str] = ()) -> pd.DataFrame:
        """One row an event: host, plane, line, line_name, name, start_ps, duration_ps,
        and a column for each stat asked for (missing where an event does not carry it).

        Times are int64 picoseconds since the profiler session began. Stats must be
        among those the trace was opened with. Raises UsageError where pandas cannot be
        loaded.
        """
        try:
            # no dependency: a new one brings a NumPy that older TensorFlow cannot work
            # with
            import pandas as pd
        except ImportError as error:
            raise UsageError(
                f"Frames need pandas, which cannot be loaded ({error}): pip install "
                "'tfadvisor[pandas]'"
            ) from error

        frames = [self._host_events(index, stats) for index in range(len(self.hosts))]
        return pd.concat(frames, ignore_index=True)

    def __repr__(self) -> str:
        """One line: the run, and how much it holds."""
        number = sum(len(host.events) for host in self.hosts)
        hosts = counted(f"{len(self.hosts):,}", "host", "hosts")
        events = counted(f"{number:,}", "event", "events")
        return f"<tfadvisor.Trace of {one_line(self.run.name)}: {hosts}, {events}>"

    def _host_events(self, index: int, stats: Sequence[str]) -> pd.DataFrame:
        import pandas as pd

        host = self.hosts[index]
        line = host.line_of_event()
        plane_names = np.array([plane.name for plane in host.planes], dtype=object)
        line_names = np.array(host.lines.name, dtype=object)
        names = np.array(host.names.name, dtype=object)
        frame = pd.DataFrame(
            {
                "host": index,
                "plane": plane_names[host.lines.plane[line]],
                "line": line,
                "line_name": line_names[line],
                "name": names[host.events.row],
                "start_ps": host.events.start_ps,
                "duration_ps": host.events.duration_ps,
            }
        )
        for stat in stats:
            values = _values_of(host.stat(stat), len(host.events))
            frame[stat] = pd.Series(values, dtype=object)
        return frame


def _values_of(column: StatColumn, events: int) -> npt.NDArray[np.object_]:
    """Of each event, None for those that do not carry the stat."""
    values = np.full(events, None, dtype=object)
    event, number = column.numbers()
    values[event] = number
    integer = is_in(column.kind, (Kind.INT, Kind.UINT))
    values[column.event[integer]] = column.value[integer]
    event, code = column.codes()
    if len(code):
        texts = np.array(column.texts, dtype=object)
        values[event] = texts[code]
    return values


def open_trace(
    path: Readable,
    *,
    run: str | None = None,
    host: str | None = None,
    stats: Sequence[str] = (),
) -> Trace:
    """Opens a logdir, a run folder, a trace file or its content. stats: names of the
    event stats to decode with it.

    Raises TraceError when there is nothing to read, UsageError for a run or host that
    is not there.
    """
    selection = Selection(dict.fromkeys(stats))
    with run_in(held(path), run, host) as chosen:
        hosts = [decode_file(file, selection) for file in chosen.files]
        return Trace(chosen, tuple(hosts))
