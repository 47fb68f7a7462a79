"""The hosts of a run one after the other, every event at hand, and the report at the end."""

from __future__ import annotations

from typing import Protocol

from tfadvisor.api import Options, judged
from tfadvisor.engine.loading.catalogue import load_catalogue
from tfadvisor.report.model import Report
from tfadvisor.timeline.build import build_host
from tfadvisor.timeline.devices.registry import on_own_clocks
from tfadvisor.timeline.host_timeline import HostTimeline
from tfadvisor.timeline.run.read_hosts import Progress, decode_host
from tfadvisor.timeline.summary.host import summarize
from tfadvisor.xplane.columns import HostTrace, Selection
from tfadvisor.xplane.runs import Run, without_duplicates


class Sink(Protocol):
    """What an export is written to."""

    def add_host(self, trace: HostTrace, timeline: HostTimeline) -> None:
        """Takes one host. trace: with TPU events on the chip's clock, as the timeline has them."""

    def finish(self, report: Report) -> None:
        """Takes what was concluded, after the last host."""


def export_run(
    run: Run, options: Options, selection: Selection, sink: Sink, progress: Progress | None = None
) -> Report:
    """Hands the run to the sink; no more than one host is in memory. Raises TraceError as analyze_run."""
    catalogue = load_catalogue(options.rules, options.disabled)
    files, duplicates = without_duplicates(run.files)
    summaries = []
    for file in files:
        trace = on_own_clocks(decode_host(file, selection))
        timeline = build_host(trace, options.steps)
        if progress is not None:
            progress(file, 1, 2)
        sink.add_host(trace, timeline)
        summaries.append(summarize(timeline))
        if progress is not None:
            progress(file, 2, 2)
    report, _ = judged(run, options, catalogue, summaries, [file.name for file in duplicates])
    sink.finish(report)
    return report
