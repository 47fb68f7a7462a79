"""The whole chain on one screen: files, timelines, metrics, rules, report."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import tfadvisor.metrics  # noqa: F401  (registers every metric)
from tfadvisor.assemble import assemble
from tfadvisor.engine.catalogue import load_catalogue
from tfadvisor.engine.run_rules import run_rules
from tfadvisor.errors import TraceError
from tfadvisor.metrics.registry import Settings, measure
from tfadvisor.record import record
from tfadvisor.report_model import Report
from tfadvisor.timeline.build import SELECTION, build_host
from tfadvisor.timeline.host_summary import HostSummary, summarize
from tfadvisor.timeline.run_timeline import merge
from tfadvisor.xplane.decode import decode_file
from tfadvisor.xplane.runs import Run, choose_run, without_duplicates

Progress = Callable[[str, int, int], None]
"""Called with (host file, events done, events in all) while large files are decoded."""


@record
class Options:
    """What `analyze` can be told.

    run, host: which session and which host of it. rules: folders with more rules. disabled: rule ids to leave out.
    parameters, bandwidth_gb_s: what no trace holds. steps: first and last (exclusive) step to look at.
    """

    run: str | None = None
    host: str | None = None
    rules: Sequence[Path] = ()
    disabled: Sequence[str] = ()
    parameters: int | None = None
    bandwidth_gb_s: float | None = None
    steps: tuple[int, int] | None = None


def analyze_run(run: Run, options: Options, progress: Progress | None = None) -> Report:
    """The report of a run's files. Raises TraceError when none of them holds anything to analyse."""
    catalogue = load_catalogue(options.rules, options.disabled)
    files, duplicates = without_duplicates(run.files)
    hosts = tuple(_host(file, options, progress) for file in files)
    timeline = merge(run.name, str(run.path), hosts, [file.name for file in duplicates])
    metrics = measure(timeline, Settings(options.parameters, options.bandwidth_gb_s))
    return assemble(timeline, metrics, run_rules(catalogue.rules, metrics), catalogue.broken)


def _host(file: Path, options: Options, progress: Progress | None) -> HostSummary:
    def on_progress(done: int, total: int) -> None:
        if progress is not None:
            progress(file.name, done, total)

    trace = decode_file(file, SELECTION, on_progress)
    if not len(trace.events):
        raise TraceError(
            str(file),
            "is a trace without a single event.",
            "The profiler was stopped before anything ran, or could not attach: record at least three steps.",
        )
    return summarize(build_host(trace, options.steps))


def analyze(
    path: str | Path,
    *,
    run: str | None = None,
    host: str | None = None,
    rules: Sequence[Path] = (),
    disabled: Sequence[str] = (),
    parameters: int | None = None,
    bandwidth_gb_s: float | None = None,
    steps: tuple[int, int] | None = None,
) -> Report:
    """Analyses a logdir (its newest run), a run folder or a trace file, and returns the report.

    Raises TraceError when there is nothing to read, UsageError for options that do not fit the trace.
    """
    chosen, _ = choose_run([Path(path)], run, host)
    return analyze_run(chosen, Options(run, host, rules, disabled, parameters, bandwidth_gb_s, steps))
