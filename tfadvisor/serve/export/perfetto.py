"""A run as a Perfetto trace: every line of the trace as a track, and above them what
was concluded.
"""

from __future__ import annotations

from collections import Counter

import msgspec
import numpy as np

from tfadvisor.analysis import Options, conclude
from tfadvisor.arrays import BoolArray, Int64Array, distinct, trues
from tfadvisor.report import Report
from tfadvisor.serve.export.perfetto_conclusions import Conclusions, brackets, lanes
from tfadvisor.serve.export.perfetto_packets import (
    NumberedNames,
    TrackNumbers,
    Write,
    named_track,
    process_track,
    put_slices,
    thread_track,
)
from tfadvisor.timeline import SELECTION, HostTimeline
from tfadvisor.timeline.run import Progress, Watch
from tfadvisor.trace import Run
from tfadvisor.trace.columns import NUM_OCCURRENCES, HostTrace

_PS_PER_NS = 1_000


class _Sink:
    """Writes a run's packets as its hosts come, each with every event at hand."""

    def __init__(
        self,
        write: Write,
        *,
        several: bool,
    ) -> None:
        """write: takes the file's bytes in order. several: whether hosts must be placed
        beside each other.
        """
        self._write = write
        self._several = several
        self._numbers = TrackNumbers()
        self._conclusions = Conclusions(
            write,
            NumberedNames(write, 1),
            self._numbers,
        )
        self._hosts = 0

    def add_host(self, trace: HostTrace, timeline: HostTimeline) -> None:
        """Steps and classes first, then planes and lines in the file's order."""
        self._hosts += 1
        shift = timeline.capture.session_start_ns if self._several else 0
        first_ps = int(trace.events.start_ps.min())
        shift -= min(first_ps // _PS_PER_NS, 0)
        self._conclusions.add_host(timeline, shift)

        tracks = _HostTracks(
            self._write,
            NumberedNames(self._write, self._hosts + 1),
            self._numbers,
            trace,
            timeline.host,
            shift,
        )
        tracks.put()

    def finish(self, report: Report) -> None:
        """The findings, marked in the steps of every host."""
        self._conclusions.put_findings(report)


class _HostTracks(msgspec.Struct, frozen=True):
    """The events of one host's file."""

    _write: Write
    _names: NumberedNames
    _numbers: TrackNumbers
    _trace: HostTrace
    _host: str
    _shift: int
    """ns, added to all times."""

    def put(self) -> None:
        """All lines that hold an event with a place in time."""
        trace = self._trace
        placed = trues(trace.events)
        placed[trace.stat(NUM_OCCURRENCES).event] = False
        self._give_names(placed)

        pids: dict[int, int] = {}
        called = self._line_names()
        planes = trace.lines.plane.tolist()
        first = trace.lines.first.tolist()
        for line, plane in enumerate(planes):
            inside = placed[first[line] : first[line + 1]]
            events = np.flatnonzero(inside)
            if not len(events):
                continue
            if plane not in pids:
                pids[plane] = self._put_process(plane)
            self._put_line(
                events + first[line],
                pids[plane],
                called[line],
            )

    def _give_names(self, placed: BoolArray) -> None:
        names = self._trace.names
        used = distinct(self._trace.events.row[placed])
        numbered = []
        for row in used.tolist():
            name = names.display_name[row] or names.name[row]
            numbered.append((row + 1, name))
        self._names.give(numbered)

    def _put_process(self, plane: int) -> int:
        """The number of the process that stands for a plane."""
        pid = self._numbers.process()
        name = f"{self._host} {self._trace.planes[plane].name}"
        self._write(process_track(self._numbers.track(), pid, name))
        return pid

    def _line_names(self) -> list[str]:
        """With the line's id where a plane has several of that name."""
        lines = self._trace.lines
        plain = []
        for name, display in zip(lines.name, lines.display_name, strict=True):
            plain.append(display or name or "line")

        places = list(zip(lines.plane.tolist(), plain, strict=True))
        count = Counter(places)
        names = []
        for place, number in zip(places, lines.id.tolist(), strict=True):
            _, name = place
            alone = count[place] == 1 and name != "line"
            names.append(name if alone else f"{name} ({number})")
        return names

    def _put_line(
        self,
        events: Int64Array,
        pid: int,
        name: str,
    ) -> None:
        all_events = self._trace.events
        start = all_events.start_ps[events]
        end = start + np.maximum(all_events.duration_ps[events], 0)
        thread = 0
        for lane in lanes(start, end):
            track = self._numbers.track()
            if not thread:
                thread = track
                self._write(thread_track(track, pid, self._numbers.process(), name))
            else:
                self._write(named_track(track, thread, f"{name}, overlapping"))
            self._put_lane(
                track,
                events[lane],
                start[lane],
                end[lane],
            )

    def _put_lane(
        self,
        track: int,
        events: Int64Array,
        start: Int64Array,
        end: Int64Array,
    ) -> None:
        found = brackets(start, end)
        row = self._trace.events.row[events[found.event]]
        put_slices(
            self._write,
            self._names.sequence,
            track,
            time_ns=found.time_ps // _PS_PER_NS + self._shift,
            opens=found.opens,
            name=row.astype(np.int64) + 1,
        )


def export_run(
    run: Run,
    options: Options,
    write: Write,
    progress: Progress | None = None,
) -> Report:
    """Writes the packets of the run, and returns its report. Raises TraceError as
    analyze_run.
    """
    sink = _Sink(write, several=len(run.files) > 1)
    watch = Watch(SELECTION, sink.add_host)
    report, _ = conclude(run, options, progress, watch=watch)
    sink.finish(report)
    return report
