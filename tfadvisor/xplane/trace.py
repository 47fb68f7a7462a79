"""A run's trace for notebooks: the decoded columns of its hosts, as pandas frames on request."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from tfadvisor.arrays import is_in
from tfadvisor.errors import UsageError
from tfadvisor.sources.remote_path import place_of
from tfadvisor.xplane.columns import HostTrace, Kind, Selection
from tfadvisor.xplane.decode import decode_file
from tfadvisor.xplane.runs import Run, choose_run

if TYPE_CHECKING:
    import pandas as pd


class Trace(msgspec.Struct, frozen=True):
    """All hosts of one run, decoded. Frames use the host's index in `hosts` as the column `host`."""

    run: Run
    hosts: tuple[HostTrace, ...]

    def events(self, stats: Sequence[str] = ()) -> pd.DataFrame:
        """One row an event: host, plane, line, line_name, name, start_ps, duration_ps, and a column for each stat asked
        for (missing where an event does not carry it).

        Times are int64 picoseconds since the profiler session began. Stats must be among those the trace was opened
        with. Raises UsageError where pandas cannot be loaded.
        """
        _need_pandas()
        import pandas as pd  # noqa: PLC0415

        return pd.concat([self._host_events(index, stats) for index in range(len(self.hosts))], ignore_index=True)

    def lines(self) -> pd.DataFrame:
        """One row a line: host, plane, id, name, display_name, timestamp_ns, duration_ps, events (their number).

        Raises UsageError where pandas cannot be loaded.
        """
        _need_pandas()
        import pandas as pd  # noqa: PLC0415

        frames = []
        for index, host in enumerate(self.hosts):
            lines = host.lines
            frames.append(
                pd.DataFrame(
                    {
                        "host": index,
                        "plane": [host.planes[plane].name for plane in lines.plane.tolist()],
                        "id": lines.id,
                        "name": lines.name,
                        "display_name": lines.display_name,
                        "timestamp_ns": lines.timestamp_ns,
                        "duration_ps": lines.duration_ps,
                        "events": np.diff(lines.first),
                    }
                )
            )
        return pd.concat(frames, ignore_index=True)

    def _host_events(self, index: int, stats: Sequence[str]) -> pd.DataFrame:
        _need_pandas()
        import pandas as pd  # noqa: PLC0415

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
    path: str | Path, *, run: str | None = None, host: str | None = None, stats: Sequence[str] = ()
) -> Trace:
    """Opens a logdir, a run folder or a trace file. stats: names of the event stats to decode with it.

    Raises TraceError when there is nothing to read, UsageError for a run or host that is not there.
    """
    chosen, _ = choose_run([place_of(path)], run, host)
    selection = Selection(dict.fromkeys(stats))
    return Trace(chosen, tuple(decode_file(file, selection) for file in chosen.files))


def _need_pandas() -> None:
    """Raises UsageError with the line that installs pandas where it cannot be loaded. It is loaded when a frame is asked
    for, which takes half a second, and is no dependency: a new one brings a NumPy that older TensorFlow cannot work with.
    """
    try:
        import pandas  # noqa: F401, PLC0415
    except ImportError as error:
        raise UsageError(
            f"Frames need pandas, which cannot be loaded ({error}): pip install 'tfadvisor[pandas]'"
        ) from error
