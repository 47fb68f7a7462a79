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
from tfadvisor.trace.columns import HostTrace, Kind, Selection
from tfadvisor.trace.decode import decode_file
from tfadvisor.trace.runs import Readable, Run, held, run_in
from tfadvisor.units import counted

if TYPE_CHECKING:
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

        return pd.concat(
            [self._host_events(index, stats) for index in range(len(self.hosts))],
            ignore_index=True,
        )

    def __repr__(self) -> str:
        """One line: the run, and how much it holds."""
        hosts = counted(f"{len(self.hosts):,}", "host", "hosts")
        events = counted(
            f"{sum(len(host.events) for host in self.hosts):,}",
            "event",
            "events",
        )
        return f"<tfadvisor.Trace of {one_line(self.run.name)}: {hosts}, {events}>"

    def _host_events(self, index: int, stats: Sequence[str]) -> pd.DataFrame:
        import pandas as pd

        host = self.hosts[index]
        line = host.line_of_event()
        names = np.array(host.names.name, dtype=object)
        plane_names = np.array([plane.name for plane in host.planes], dtype=object)
        frame = pd.DataFrame(
            {
                "host": index,
                "plane": plane_names[host.lines.plane[line]],
                "line": line,
                "line_name": np.array(host.lines.name, dtype=object)[line],
                "name": names[host.events.row],
                "start_ps": host.events.start_ps,
                "duration_ps": host.events.duration_ps,
            }
        )
        for stat in stats:
            column = host.stat(stat)
            values = np.full(len(host.events), None, dtype=object)
            event, number = column.numbers()
            integer = is_in(column.kind, (Kind.INT, Kind.UINT))
            values[event] = number
            values[column.event[integer]] = column.value[integer]
            text_event, code = column.codes()
            if len(code):
                values[text_event] = np.array(column.texts, dtype=object)[code]
            frame[stat] = pd.Series(values, dtype=object)
        return frame


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
        return Trace(
            chosen,
            tuple(decode_file(file, selection) for file in chosen.files),
        )
