"""The whole chain on one screen: files, summaries of hosts, metrics, rules, report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from functools import cached_property, partial
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import replace

from tfadvisor.advice.findings import CaptureNote, Finding, Verdict
from tfadvisor.advice.judging.judge_rules import run_rules
from tfadvisor.advice.loading.catalogue import Catalogue, load_catalogue
from tfadvisor.advice.savings import calibration, foresee, plan_of
from tfadvisor.errors import TraceError
from tfadvisor.files import replace_file
from tfadvisor.metrics.registry import Settings, measure
from tfadvisor.report.assembly.report import assemble
from tfadvisor.report.assembly.second_window import (
    SecondWindow,
    joined,
    second_window,
    unread_note,
)
from tfadvisor.report.model import MetricValue, Report
from tfadvisor.timeline.run.one_host import Progress, Watch
from tfadvisor.timeline.run.read_hosts import run_hosts
from tfadvisor.timeline.run.run_summary import RunSummary, UnreadHost, merge
from tfadvisor.trace.counters import read_counters
from tfadvisor.trace.runs import (
    Held,
    Readable,
    Run,
    held,
    host_of,
    run_in,
    without_duplicates,
)

if TYPE_CHECKING:
    from tfadvisor.report.forms.page_data import PageData


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
        from tfadvisor.report.forms.html import as_html

        replace_file(Path(path), as_html([self.page()]))

    def __repr__(self) -> str:
        """One line: the run, its verdict, its steps."""
        from tfadvisor.report.forms.notebook import as_line

        return as_line(self.report)

    def _repr_html_(self) -> str:
        """For a notebook's cell."""
        from tfadvisor.report.forms.notebook import as_fragment

        return as_fragment(self.report)


def analyze_run(run: Run, options: Options, progress: Progress | None = None) -> Report:
    """The report of a run's files. Raises TraceError when none of them holds anything
    to analyse.
    """
    return conclude(run, options, progress)[0]


def draw_run(run: Run, options: Options, progress: Progress | None = None) -> PageData:
    """The report with what its page draws beyond it: ops, collectives, devices, two
    steps. Raises as analyze_run.
    """
    from tfadvisor.report.assembly.page import gather_page  # only a page needs it

    return gather_page(*conclude(run, options, progress, detail=True))


def conclude(
    run: Run,
    options: Options,
    progress: Progress | None = None,
    *,
    detail: bool = False,
    watch: Watch | None = None,
    catalogue: Catalogue | None = None,
) -> tuple[Report, RunSummary]:
    """The report, and the run's summary that it rests on; no more than one host's
    events are in memory at a time.

    detail: with what a page draws. watch: sees each host's events. catalogue: the
    options' rules, where they are read already. Raises as analyze_run.
    """
    catalogue = catalogue or load_catalogue(
        tuple(options.rules), tuple(options.disabled), preview=options.preview
    )
    report, summary = _of_one_window(
        run, options, catalogue, progress, detail=detail, watch=watch
    )
    if (
        watch is None
        and options.steps is None
        and (second := second_window(run)) is not None
    ):
        report = _with_second(report, second, options, catalogue)
    report = (
        replace(report, capture=(*report.capture, _joined(run)))
        if run.folders
        else report
    )
    return _without_ignored(report, options.ignored), summary


def _without_ignored(report: Report, ignored: Mapping[str, str]) -> Report:
    """The report without the findings that a configuration ignores; a note says which
    and why.
    """
    told = {
        one.rule_id: next(
            (
                why
                for pattern, why in ignored.items()
                if fnmatchcase(one.rule_id, pattern)
            ),
            None,
        )
        for one in report.findings
    }
    notes = [
        CaptureNote(rule, f"{rule}: {why}", "", "")
        for rule, why in told.items()
        if why is not None
    ]
    if not notes:
        return report
    kept = tuple(one for one in report.findings if told[one.rule_id] is None)
    return replace(
        report,
        findings=kept,
        plan=plan_of(kept) or msgspec.UNSET,
        capture=(*report.capture, *notes),
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
        "joined-runs", text, "Give one of these folders to read its hosts alone.", ""
    )


def _with_second(
    report: Report, second: SecondWindow, options: Options, catalogue: Catalogue
) -> Report:
    """A second window that cannot be read costs only what it would have added."""
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
) -> tuple[Report, RunSummary]:
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
    summary = merge(
        run.name,
        str(run.path),
        hosts,
        [file.name for file in duplicates],
        unread,
        counters,
    )
    metrics = measure(summary, Settings(options.parameters, options.bandwidth_gb_s))
    outcomes = run_rules(
        catalogue.rules, metrics, partial(foresee, known=calibration())
    )
    return assemble(summary, metrics, outcomes, catalogue), summary


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
