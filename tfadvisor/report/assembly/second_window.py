"""A recording's second, short window, with calls of Python functions where these cost
the main one too much.
"""

from __future__ import annotations

from pathlib import Path

import msgspec
from msgspec.structs import replace

from tfadvisor.advice.findings import CaptureNote, Finding
from tfadvisor.errors import TraceError
from tfadvisor.report.model import ClassTime, Report
from tfadvisor.report.wording import advice
from tfadvisor.trace.remote_path import RemotePath
from tfadvisor.trace.runs import CALLS_ENDING, LINES_ENDING, Run, host_of

NOTE = "recording.json"
"""Beside each run that tfadvisor recorded."""


class SecondWindow(msgspec.Struct, frozen=True):
    """run: its files. tells_findings: whether more than lines may be taken from it; not
    where a host has none.
    """

    run: Run
    tells_findings: bool


def second_window(run: Run) -> SecondWindow | None:
    """What lies beside a run's traces; None where nothing does. A web server is not
    asked for what it may not have.
    """
    first = run.files[0]
    if isinstance(first, RemotePath) and first.is_on_the_web:
        return None
    if not _is_file(first.with_name(NOTE)):
        return None
    for ending, whole in ((CALLS_ENDING, True), (LINES_ENDING, False)):
        beside = (file.with_name(f"{host_of(file)}{ending}") for file in run.files)
        if files := tuple(filter(_is_file, beside)):
            return SecondWindow(
                Run(run.name, run.path, files), whole and len(files) == len(run.files)
            )
    return None


def _is_file(file: Path) -> bool:
    try:
        return file.is_file()
    except OSError:
        return False


def joined(report: Report, second: Report, *, tells_findings: bool) -> Report:
    """The report of the main window with what only the second one tells: places, and,
    where they begin with another finding, findings and what they rest on. Lengths of
    steps and metrics stay those of the main one.
    """
    if (
        tells_findings
        and _first(report) != _first(second)
        and not _is_about_a_part(report, second)
    ):
        return _judged_by(report, second)
    places = {one.rule_id: one.locations for one in second.findings}

    def placed(finding: Finding) -> Finding:
        return (
            finding
            if finding.locations
            else replace(finding, locations=places.get(finding.rule_id, ()))
        )

    findings = tuple(map(placed, report.findings))
    if findings == report.findings:
        return report
    text = (
        "Lines of the program are from a second, short window with calls of Python "
        "functions."
    )
    return replace(report, findings=findings, capture=(*report.capture, _note(text)))


_PART = 0.5
"""Calls of Python make a step longer, never so much shorter."""


def _is_about_a_part(report: Report, second: Report) -> bool:
    """Whether its step is only a part of the main window's: it was too short for whole
    ones.
    """
    main, other = report.steps.time_ms, second.steps.time_ms
    return main is not None and other is not None and other.median < _PART * main.median


def _first(report: Report) -> str | None:
    """The rule of the first finding about the program."""
    return next((one.rule_id for one in advice(report)), None)


def _judged_by(report: Report, second: Report) -> Report:
    times = second.steps.time_ms
    length = f", whose step takes {times.median:.3g} ms with them" if times else ""
    text = (
        "Shares of step time and findings are from a second, short window with calls "
        "of Python functions"
        f"{length}: without them loading looks like other Python. Times and metrics "
        "are from the main window."
    )
    scale = (
        report.steps.time_ms.median / times.median
        if times and times.median and report.steps.time_ms
        else 1.0
    )
    return replace(
        report,
        run=replace(report.run, python_calls=second.run.python_calls),
        breakdown=second.breakdown,
        attribution=tuple(_scaled(one, scale) for one in second.attribution),
        attribution_absent=second.attribution_absent,
        verdict=second.verdict,
        findings=second.findings,
        not_applicable=second.not_applicable,
        plan=second.plan,
        capture=(*report.capture, _note(text)),
    )


def _scaled(one: ClassTime, scale: float) -> ClassTime:
    """The same shares, of a step that is so many times as long."""
    parts = (
        replace(
            part,
            ms=part.ms * scale,
            parts=tuple(replace(call, ms=call.ms * scale) for call in part.parts),
        )
        for part in one.parts
    )
    return replace(one, ms=one.ms * scale, parts=tuple(parts))


def unread_note(error: TraceError) -> CaptureNote:
    """What a report says whose second window cannot be read."""
    return _note(
        "A second window lies beside the trace, with calls of Python functions, but "
        f"{error}"
    )


def _note(text: str) -> CaptureNote:
    return CaptureNote("second-window", text, "", "")
