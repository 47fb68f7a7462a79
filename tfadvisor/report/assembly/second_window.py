"""A recording's second, short window, with calls of Python functions where these cost
the main one too much.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import msgspec
from msgspec.structs import replace

from tfadvisor.advice.findings import CaptureNote, Location
from tfadvisor.advice.judging.judge_rules import Fired
from tfadvisor.advice.ranking import locations_of
from tfadvisor.errors import TraceError
from tfadvisor.metrics.registry import Metrics
from tfadvisor.report.model import ClassTime, Report, StepTimes
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
        files = tuple(filter(_is_file, beside))
        if files:
            return SecondWindow(
                Run(run.name, run.path, files), whole and len(files) == len(run.files)
            )
    return None


def _is_file(file: Path) -> bool:
    try:
        return file.is_file()
    except OSError:
        return False


_PART = 0.5
"""Calls of Python make a step longer, never so much shorter."""
_MATTERS = 0.1
"""From this share of the main window's step in Python on, what that Python does
matters.
"""
_PYTHON = ("host", "input")


def is_judged(
    main: Mapping[str, float],
    main_times: StepTimes | None,
    second_times: StepTimes | None,
) -> bool:
    """Whether shares and findings come from the second window: only it tells loading
    from other Python. main: its breakdown.

    A second window of steps that are only a part of the main one's is too short for
    whole ones.
    """
    if sum(main[name] for name in _PYTHON) < _MATTERS:
        return False
    if main_times is None or second_times is None:
        return second_times is not None
    return second_times.median >= _PART * main_times.median


def places_in(
    fired: Fired,
    metrics: Metrics,
) -> dict[str, tuple[Location, ...]]:
    """Lines of the program by rule, as a window with calls of Python functions names
    them.
    """
    found = {one.rule.id: locations_of(one, metrics) for one in fired.judged}
    return {rule: places for rule, places in found.items() if places}


def with_lengths_of(main: Report, second: Report) -> Report:
    """The second window's shares and findings, for steps as long as those of the main
    one, which calls of Python functions do not make longer.
    """
    times = second.steps.time_ms
    own = main.steps.time_ms
    length = f", whose step takes {times.median:.3g} ms with them" if times else ""
    text = (
        "Shares of step time and findings are from a second, short window with calls "
        "of "
        f"Python functions{length}: without them loading looks like other Python. "
        "Lengths "
        "of steps are from the main window."
    )
    scale = own.median / times.median if times and times.median and own else 1.0
    lengths = {
        name: value for name, value in main.metrics.items() if name.startswith(_LENGTHS)
    }
    return replace(
        second,
        run=replace(main.run, python_calls=second.run.python_calls),
        steps=main.steps,
        metrics={**second.metrics, **lengths},
        attribution=tuple(_scaled(one, scale) for one in second.attribution),
        capture=(*second.capture, _note(text)),
    )


_LENGTHS = "step_time"
"""Metrics of how long steps take begin so."""


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
    return replace(
        one,
        ms=one.ms * scale,
        parts=tuple(parts),
    )


def lines_note() -> CaptureNote:
    """What a report says that has lines from a second window."""
    return _note(
        "Lines of the program are from a second, short window with calls of Python "
        "functions."
    )


def unread_note(error: TraceError) -> CaptureNote:
    """What a report says whose second window cannot be read."""
    return _note(
        "A second window lies beside the trace, with calls of Python functions, but "
        f"{error}"
    )


def _note(text: str) -> CaptureNote:
    return CaptureNote("second-window", text, "", "")
