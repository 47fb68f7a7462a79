"""The whole chain on one screen: files, summaries of hosts, metrics, rules, report."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import replace

from tfadvisor.advice.evidence import Evidence
from tfadvisor.advice.findings import CaptureNote, Finding, Tried, Verdict
from tfadvisor.advice.judging.judge_rules import Fired, run_rules
from tfadvisor.advice.loading.catalogue import Catalogue, load_catalogue
from tfadvisor.advice.measured import Measured
from tfadvisor.errors import SourceUnread, TraceError
from tfadvisor.files import replace_file
from tfadvisor.metrics import Metrics, Settings, measure
from tfadvisor.metrics.one_by_one import step_function
from tfadvisor.program_files import check_program
from tfadvisor.report import MetricValue, Report, StepsInfo
from tfadvisor.report.assembly.attribution import attribution
from tfadvisor.report.assembly.report import (
    assemble,
    compiling_of,
    step_ms_of,
    steps_info,
)
from tfadvisor.report.assembly.report_tables import run_ops
from tfadvisor.report.assembly.sampled import sampled, with_lines
from tfadvisor.timeline import SELECTION
from tfadvisor.timeline.host import EventCounts, count_events
from tfadvisor.timeline.run import (
    Detail,
    Progress,
    RunSummary,
    UnreadHost,
    Watch,
    merge,
    run_hosts,
)
from tfadvisor.trace import (
    Held,
    Readable,
    Run,
    held,
    host_of,
    run_in,
    without_duplicates,
)
from tfadvisor.trace.counters import read_counters
from tfadvisor.trace.noted_ops import noted_ops
from tfadvisor.trace.noted_sources import noted_beside
from tfadvisor.trace.remote_path import RemotePath
from tfadvisor.trace.samples import Samples, read_samples

if TYPE_CHECKING:
    from tfadvisor.causes import ProgramSource, RunAccount
    from tfadvisor.report import PageData
    from tfadvisor.timeline import HostTimeline
    from tfadvisor.timeline.host import BufferFill
    from tfadvisor.trace.columns import HostTrace


class Options(msgspec.Struct, frozen=True):
    """Options of `analyze`."""

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
    """How many hosts may be read at once, each in its own process."""
    preview: bool = False
    """Whether the rules that are not proven yet speak too."""
    ignored: Mapping[str, str] = {}
    """Patterns of ids of rules whose findings are known and left out, each with what is
    said about it.
    """
    ledger: Path | None = None
    """The file in which `tfadvisor try` keeps what it measured; None to look into
    none.
    """
    measured: Measured | None = None
    """What experiments with the program's parts came to; None where none were made."""
    source: Path | None = None
    """A folder with the program's files, or its script, which are read and never run;
    None for those that were noted beside the trace.
    """
    within: Path | None = None
    """A folder out of which no noted file is read; None for any place."""

    def program_source(self, files: Iterable[Path]) -> ProgramSource | None:
        """The program's files, where they are given or noted. files: of the run. Raises
        UsageError for a place that holds none.
        """
        if self.source is not None:
            check_program(self.source)
        noted = noted_beside(files)
        if self.within is not None:
            noted = tuple(file for file in noted if file.lies_in(self.within))
        if self.source is None and not noted:
            return None
        from tfadvisor.causes import ProgramSource  # few analyses read a program

        return ProgramSource(self.source, noted)


class Analysis(msgspec.Struct, frozen=True, dict=True):
    """A report, and the trace that it is about, from which it draws its page."""

    report: Report
    """What was found."""
    source: Run | Held
    """What was read, and is read again for the page."""
    options: Options
    """How it was read."""

    @property
    def verdict(self) -> Verdict:
        """What costs most, of the report."""
        return self.report.verdict

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What to change, of the report."""
        return self.report.findings

    @property
    def metrics(self) -> Mapping[str, MetricValue]:
        """The report's numbers by name."""
        return self.report.metrics

    def to_dict(self) -> dict[str, Any]:
        """The report as plain data for JSON, `schema_version` first. Numbers are
        finite.
        """
        return self.report.to_dict()

    def page(self) -> PageData:
        """What the page draws beyond the report: collectives, devices, two steps. Reads
        the trace again, once.

        Raises TraceError when it is no longer there.
        """
        return self._page

    @cached_property
    def _page(self) -> PageData:
        if isinstance(self.source, Run):
            page = draw_run(self.source, self.options)
        else:
            with run_in(self.source, self.options.run, self.options.host) as again:
                page = draw_run(again, self.options)

        return replace(page, report=self.report)

    def to_html(self, path: str | PathLike[str]) -> None:
        """Writes the report as one page that needs no network. Raises as `page`, and
        OSError.
        """
        from tfadvisor.report.forms import as_html

        replace_file(Path(path), as_html([self.page()]))

    def __repr__(self) -> str:
        """One line: the run, its verdict, its steps."""
        from tfadvisor.report.forms import as_line

        return as_line(self.report)

    def _repr_html_(self) -> str:
        """For a notebook's cell."""
        from tfadvisor.report.forms import as_fragment

        return as_fragment(self.report)


def analyze_run(run: Run, options: Options, progress: Progress | None = None) -> Report:
    """The report of a run's files. Raises TraceError when none of them holds anything
    to analyse.
    """
    return conclude(run, options, progress)[0]


def draw_run(
    run: Run,
    options: Options,
    progress: Progress | None = None,
    *,
    detail: Detail = Detail.EVERY_STEP,
) -> PageData:
    """The report with what its page draws beyond it: ops, collectives, devices, steps.
    Raises as analyze_run.
    """
    from tfadvisor.report.assembly.page import gather_page  # only a page needs it

    return gather_page(*conclude(run, options, progress, detail=detail))


class ReadRun(msgspec.Struct, frozen=True, dict=True):
    """A run whose files were read, once. Its steps are known; no rule has seen it yet,
    until its report is asked for.
    """

    run: Run
    options: Options
    """How it was read."""
    summary: RunSummary
    counts: tuple[EventCounts, ...]
    """How many events each host wrote down."""

    @property
    def framework(self) -> str:
        """As the report names it."""
        return self.summary.hosts[0].capture.framework

    @cached_property
    def steps(self) -> StepsInfo:
        """As the report has them, of all hosts."""
        return steps_info(self.summary, self.summary.hosts)

    @cached_property
    def report(self) -> Report:
        """By the options' rules, which run now."""
        catalogue = _catalogue_of(self.options)
        window = _judged(self.summary, self.run, self.options, catalogue)
        return _report(window, self.run, self.options, catalogue)


def read_run(run: Run, options: Options) -> ReadRun:
    """The files of a run that is one window. Raises TraceError when none of them holds
    anything to analyse.
    """
    counts: list[EventCounts] = []

    def see(trace: HostTrace, _timeline: HostTimeline) -> None:
        counts.append(count_events(trace))

    summary = _read(run, options, watch=Watch(SELECTION, see))
    return ReadRun(run, options, summary, tuple(counts))


def check_rules(options: Options) -> None:
    """Raises UsageError for rules that are not there, before anything is started."""
    load_catalogue(options.rules, options.disabled)


class Window(msgspec.Struct, frozen=True):
    """What a run's files show, and what each rule says of it by itself."""

    summary: RunSummary
    metrics: Metrics
    fired: Fired
    source: ProgramSource | None
    samples: Samples | None
    account: RunAccount | None
    no_account: str
    """Why there is none; "" with one."""


def conclude(
    run: Run,
    options: Options,
    progress: Progress | None = None,
    *,
    detail: Detail = Detail.REPORT,
    watch: Watch | None = None,
    catalogue: Catalogue | None = None,
) -> tuple[Report, RunSummary]:
    """The report, and the run's summary that it rests on; no more than one host's
    events are in memory at a time.

    detail: with what a page draws. watch: sees each host's events. catalogue: the
    options' rules, where they are read already. Raises as analyze_run.
    """
    catalogue = catalogue or _catalogue_of(options)
    main = _window(run, options, catalogue, progress, detail=detail, watch=watch)
    notes: tuple[CaptureNote, ...] = (_joined(run),) if run.folders else ()
    report = _report(main, run, options, catalogue)
    return replace(report, capture=(*report.capture, *notes)), main.summary


def _catalogue_of(options: Options) -> Catalogue:
    return load_catalogue(
        tuple(options.rules), tuple(options.disabled), preview=options.preview
    )


_MOST_NAMED = 8
"""Folders of one run, in a sentence."""


def _joined(run: Run) -> CaptureNote:
    """That the hosts' files come from several folders."""
    first, others = sorted(run.folders)[:_MOST_NAMED], len(run.folders) - _MOST_NAMED
    folders = ", ".join(first) + (f" and {others:,} more" if others > 0 else "")
    text = (
        f"Hosts are read together from {folders}: JAX names each host's folder by "
        "the second it starts."
    )
    return CaptureNote(
        "joined-runs", text, "`--run NAME` reads one of these folders alone.", ""
    )


def _window(
    run: Run,
    options: Options,
    catalogue: Catalogue,
    progress: Progress | None = None,
    *,
    detail: Detail = Detail.REPORT,
    watch: Watch | None = None,
) -> Window:
    summary = _read(run, options, progress, detail=detail, watch=watch)
    return _judged(summary, run, options, catalogue)


def _read(
    run: Run,
    options: Options,
    progress: Progress | None = None,
    *,
    detail: Detail = Detail.REPORT,
    watch: Watch | None = None,
) -> RunSummary:
    """Of a run's files, host by host."""
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
        )
    )
    if not hosts:
        raise failed[0][1]
    unread = [UnreadHost(host_of(file), error.cause) for file, error in failed]
    lost = {file for file, _ in failed}
    counters = [
        read_counters(file, host_of(file)) for file in files if file not in lost
    ]
    return merge(
        run.name,
        str(run.path),
        hosts,
        [file.name for file in duplicates],
        unread,
        counters,
        noted_ops(file for file in files if file not in lost),
    )


def _judged(
    summary: RunSummary, run: Run, options: Options, catalogue: Catalogue
) -> Window:
    source = options.program_source(run.files)
    samples = _samples_beside(run)
    try:
        account, no_account = _account(samples, summary, source)
    except SourceUnread:
        account, no_account = _account(samples, summary, None)
    settings = Settings(options.parameters, options.bandwidth_gb_s, source, account)
    metrics = measure(summary, settings)
    fired = run_rules(catalogue.rules, metrics)
    return Window(summary, metrics, fired, source, samples, account, no_account)


def _report(
    window: Window,
    run: Run,
    options: Options,
    catalogue: Catalogue,
) -> Report:
    """Of one window, with all that is known of the run beside it."""
    samples, account = window.samples, window.account
    recorded = () if samples is None else attribution(window.summary)[0]
    beside = sampled(recorded, samples, account)
    tried: Mapping[str, Tried] = {}
    unread: tuple[CaptureNote, ...] = ()
    try:
        tried = _tried_before(window.summary, options.ledger)
    except TraceError as error:
        unread = (CaptureNote("ledger", str(error), "", ""),)
    evidence = Evidence(
        ignored=options.ignored,
        tried=tried,
        corrections=beside.corrections,
        account=account,
        account_absent=window.no_account,
        framework=window.summary.hosts[0].capture.framework,
        source=window.source,
        measured=options.measured,
    )
    found = window.summary, window.metrics, window.fired, catalogue
    try:
        report = assemble(*found, evidence, window.source)
    except SourceUnread:
        report = assemble(*found, replace(evidence, source=None), None)
    notes = (*beside.notes, *unread, *_of_source(window.source))
    return replace(report, capture=(*notes, *report.capture))


def _of_source(source: ProgramSource | None) -> Iterator[CaptureNote]:
    """What is not known of the program."""
    for unread in source.unread if source is not None else ():
        yield CaptureNote("source", unread, "", "")


def _account(
    samples: Samples | None, summary: RunSummary, source: ProgramSource | None
) -> tuple[RunAccount | None, str]:
    """Of the whole program, or why there is none."""
    if samples is None:
        return None, (
            "a trace alone shows its own window: epochs, evaluation and saves around "
            "it are seen by `tfadvisor run`"
        )
    from tfadvisor.causes import NoAccount, account_of  # only beside samples

    try:
        step = None if source is None else step_function(summary)
        stepping = source.calls_of(step) if source and step else frozenset()
        on_host = None if source is None else source.runs_on_host
        account = account_of(
            samples,
            step_ms_of(summary),
            stepping,
            _fill(summary),
            on_host,
            compiling_of(summary),
            has_pipeline=any(host.evidence.pipeline for host in summary.hosts),
        )
        return with_lines(account, source), ""
    except NoAccount as error:
        return None, str(error)


def _fill(summary: RunSummary) -> BufferFill | None:
    """Of the first host with a tf.data pipeline."""
    pipelines = (host.evidence.pipeline for host in summary.hosts)
    pipeline = next(filter(None, pipelines), None)
    return None if pipeline is None else pipeline.buffer_fill()


def _samples_beside(run: Run) -> Samples | None:
    """What `tfadvisor run` saw of the unrecorded program; None where it was not run by
    it.
    """
    first = min(run.files)
    if isinstance(first, RemotePath):
        return None
    return read_samples(first, host_of(first))


def _tried_before(summary: RunSummary, ledger: Path | None) -> Mapping[str, Tried]:
    """What was measured of fixes on the same program, as the ledger has it. Raises
    TraceError for one that cannot be read.
    """
    if ledger is None or not ledger.exists():
        return {}
    from tfadvisor.comparison.ledger import read, sketch, tried_before  # few have one

    kinds = {device.kind.value for host in summary.hosts for device in host.devices}
    program = sketch(run_ops(summary), kinds, summary.hosts[0].capture.framework)
    return tried_before(program, read(ledger).entries)


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
    preview: bool = False,
) -> Analysis:
    """Analyses a logdir (its newest run), a run folder, a trace file, or the content of
    one: bytes, or a file open for reading. Returns its report, which can draw its page
    while the trace is where it was.

    processes: above 1, large runs of several hosts are read in parallel; the calling
    script then needs the usual `if __name__ == "__main__":`. preview: with the rules
    that are not proven yet. Raises TraceError when there is nothing to read, UsageError
    for options that do not fit the trace.
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
        preview=preview,
    )
    with run_in(source, run, host) as chosen:
        report = analyze_run(chosen, options)
    return Analysis(report, source if isinstance(source, Held) else chosen, options)
