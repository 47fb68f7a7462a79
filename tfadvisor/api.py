"""The whole chain on one screen: files, timelines, metrics, rules, report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

import tfadvisor.metrics  # noqa: F401  (registers every metric)
from tfadvisor.assembly.report import assemble
from tfadvisor.assembly.second_window import SecondWindow, joined, second_window, unread_note
from tfadvisor.cluster.engine import Engine
from tfadvisor.engine.judging.judge_rules import run_rules
from tfadvisor.engine.loading.catalogue import Catalogue, load_catalogue
from tfadvisor.engine.savings.calibration import calibration
from tfadvisor.engine.savings.foresee import foresee
from tfadvisor.errors import NothingToCompare, TraceError
from tfadvisor.files import read_small_text
from tfadvisor.limit_change import LimitChange, changes_of
from tfadvisor.machine.file import read_counters
from tfadvisor.metrics.registry import Settings, measure
from tfadvisor.report.model import DRAWS, Report
from tfadvisor.sources.remote_path import place_of
from tfadvisor.timeline.run.read_hosts import Progress, Watch, run_hosts
from tfadvisor.timeline.run.run_timeline import RunTimeline, UnreadHost, merge
from tfadvisor.xplane.in_memory import Readable, held, run_in
from tfadvisor.xplane.runs import Run, host_of, without_duplicates

if TYPE_CHECKING:
    from tfadvisor.comparison.result import Comparison
    from tfadvisor.gate.baseline.snapshot import Snapshot
    from tfadvisor.report.page.model import PageData


class Options(msgspec.Struct, frozen=True):
    """What `analyze` can be told."""

    run: str | None = None
    """Which session, the newest by default."""
    host: str | None = None
    """Which host of it, all by default."""
    rules: Sequence[Path] = ()
    """Folders with more rules."""
    disabled: Sequence[str] = ()
    """Ids of rules to leave out."""
    parameters: int | None = None
    """Of the model, where the trace does not tell."""
    bandwidth_gb_s: float | None = None
    """Between devices, GB/s, which no trace holds."""
    steps: tuple[int, int] | None = None
    """First and last (exclusive) step to look at."""
    processes: int = 1
    """How many hosts may be read at once, each in a process of its own."""
    engine: Engine | None = None
    """Who reads the hosts, as a cluster; None for this machine."""
    limits: Sequence[LimitChange] = ()
    """Numbers by which rules fire, where they are not to be as shipped."""
    preview: bool = False
    """Whether the rules that are not proven yet speak too."""


def analyze_run(run: Run, options: Options, progress: Progress | None = None) -> Report:
    """The report of a run's files. Raises TraceError when none of them holds anything to analyse."""
    return conclude(run, options, progress)[0]


def draw_run(run: Run, options: Options, progress: Progress | None = None) -> PageData:
    """The report with what its page draws beyond it: ops, collectives, devices, two steps. Raises as analyze_run."""
    from tfadvisor.assembly.page import gather_page  # noqa: PLC0415  (only a page needs it)

    return gather_page(*conclude(run, options, progress, detail=True))


def conclude(
    run: Run,
    options: Options,
    progress: Progress | None = None,
    *,
    detail: bool = False,
    watch: Watch | None = None,
    catalogue: Catalogue | None = None,
) -> tuple[Report, RunTimeline]:
    """The report, and the timeline that it rests on; no more than one host's events are in memory at a time.

    detail: with what a page draws. watch: sees each host's events. catalogue: the options' rules, where they are read
    already. Raises as analyze_run.
    """
    catalogue = catalogue or load_catalogue(options.rules, options.disabled, options.limits, preview=options.preview)
    report, timeline = _of_one_window(run, options, catalogue, progress, detail=detail, watch=watch)
    if watch is None and options.steps is None and (second := second_window(run)) is not None:
        report = _with_second(report, second, options, catalogue)
    return report, timeline


def _with_second(report: Report, second: SecondWindow, options: Options, catalogue: Catalogue) -> Report:
    """A second window that cannot be read costs only what it would have told."""
    try:
        other, _ = _of_one_window(second.run, options, catalogue)
    except TraceError as error:
        return replace(report, capture=(*report.capture, unread_note(error)))
    return joined(report, other, tells_findings=second.tells_findings)


def _of_one_window(
    run: Run,
    options: Options,
    catalogue: Catalogue,
    progress: Progress | None = None,
    *,
    detail: bool = False,
    watch: Watch | None = None,
) -> tuple[Report, RunTimeline]:
    files, duplicates = without_duplicates(run.files)
    failed: list[tuple[Path, TraceError]] = []
    hosts = tuple(
        run_hosts(
            files,
            options.steps,
            options.processes,
            progress,
            detail=detail,
            watch=watch,
            skip=lambda file, error: failed.append((file, error)),
            engine=options.engine,
        )
    )
    if not hosts:
        raise failed[0][1]
    unread = [UnreadHost(host_of(file), error.cause) for file, error in failed]
    lost = {file for file, _ in failed}
    counters = [read_counters(file, host_of(file)) for file in files if file not in lost]
    timeline = merge(run.name, str(run.path), hosts, [file.name for file in duplicates], unread, counters)
    metrics = measure(timeline, Settings(options.parameters, options.bandwidth_gb_s))
    outcomes = foresee(run_rules(catalogue.rules, metrics), catalogue.rules, metrics, calibration())
    return assemble(timeline, metrics, outcomes, catalogue), timeline


def remembering(report: Report, run: Run, options: Options) -> Report:
    """The report, which now can draw its page for as long as the run's files stay where they are. Raises nothing itself."""
    vars(report)[DRAWS] = lambda: replace(draw_run(run, options), report=report)
    return report


def analyze(
    path: Readable,
    *,
    run: str | None = None,
    host: str | None = None,
    rules: Sequence[Path] = (),
    disabled: Sequence[str] = (),
    parameters: int | None = None,
    bandwidth_gb_s: float | None = None,
    steps: tuple[int, int] | None = None,
    processes: int = 1,
    limits: Mapping[str, Mapping[str, float | str]] | None = None,
    preview: bool = False,
) -> Report:
    """Analyses a logdir (its newest run), a run folder, a trace file, or the content of one: bytes, or a file open for
    reading. Returns the report.

    processes: above 1, large runs of several hosts are read in parallel; the calling script then needs the usual
    `if __name__ == "__main__":`. limits: rule -> limit -> number or share ("5%"), as `[rules]` of a tfadvisor.toml has
    them, which is not read here. preview: with the rules that are not proven yet. Raises TraceError when there is nothing
    to read, UsageError for options that do not fit the trace.
    """
    source = held(path)
    options = Options(
        run,
        host,
        rules,
        disabled,
        parameters,
        bandwidth_gb_s,
        steps,
        processes,
        limits=changes_of(limits),
        preview=preview,
    )
    with run_in(source, run, host) as chosen:
        report = analyze_run(chosen, options)
    if isinstance(source, Path):
        return remembering(report, chosen, options)

    def draw() -> PageData:
        with run_in(source, run, host) as again:
            return draw_run(again, options)

    vars(report)[DRAWS] = draw
    return report


def compare(base: Readable | Report | Snapshot, new: Readable | Report | Snapshot) -> Comparison:
    """Where the change of the step time comes from.

    Each side is what `analyze` takes, a report, or a snapshot of a baseline. Raises
    TraceError when a side cannot be read or holds no step.
    """
    from tfadvisor.comparison.compare_sides import compare_sides  # noqa: PLC0415  (no report needs these)
    from tfadvisor.gate.baseline.comparability import may_differ, must_be_alike  # noqa: PLC0415

    one, other = as_snapshot(base), as_snapshot(new)
    differences = (*must_be_alike(one.key, other.key), *may_differ(one, other))
    same = one.fingerprint == other.fingerprint
    return compare_sides(one.side, other.side, differences=differences, same=same)


def as_snapshot(side: Readable | Report | Snapshot) -> Snapshot:
    """The numbers of one side, as a baseline keeps them.

    Raises TraceError when a file cannot be read, NothingToCompare (a TraceError) for a report without a counted step.
    """
    from tfadvisor.gate.baseline.snapshot import Snapshot, snapshot_of  # noqa: PLC0415

    if isinstance(side, Snapshot):
        return side
    if not isinstance(side, Report):
        if isinstance(side, str | Path) and (path := place_of(side)).suffix == ".json" and path.is_file():
            return _stored(path)
        side = analyze(side)
    try:
        return snapshot_of(side)
    except TraceError as error:
        raise NothingToCompare(error.place, error.cause, error.remedy) from error


def _stored(path: Path) -> Snapshot:
    from tfadvisor.gate.baseline.checked_json import SnapshotError  # noqa: PLC0415
    from tfadvisor.gate.baseline.snapshot_json import LARGEST, from_text  # noqa: PLC0415

    try:
        return from_text(read_small_text(path, LARGEST))
    except (OSError, UnicodeDecodeError, SnapshotError) as error:
        raise TraceError(
            str(path), f"is not a snapshot that can be read: {error}.", "Give a trace, or a snapshot."
        ) from error
