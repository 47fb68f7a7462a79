"""A run handed over host by host, every event at hand, and the report at the end."""

from __future__ import annotations

from typing import Protocol

from tfadvisor.analysis import Options, conclude
from tfadvisor.report.model import Report
from tfadvisor.timeline.host_timeline import HostTimeline
from tfadvisor.timeline.run.one_host import Progress, Watch
from tfadvisor.xplane.columns import HostTrace, Selection
from tfadvisor.xplane.runs import Run


class Sink(Protocol):
    """What an export is written to."""

    def add_host(self, trace: HostTrace, timeline: HostTimeline) -> None:
        """Takes one host. trace: with TPU events on the chip's clock, as the timeline has them."""

    def finish(self, report: Report) -> None:
        """Takes what was concluded, after the last host."""


def export_run(
    run: Run, options: Options, selection: Selection, sink: Sink, progress: Progress | None = None
) -> Report:
    """Hands the run to the sink. Raises TraceError as analyze_run."""
    report, _ = conclude(run, options, progress, watch=Watch(selection, sink.add_host))
    sink.finish(report)
    return report
