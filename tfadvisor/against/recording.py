"""One side recorded once: the program is started in its work tree, recorded, and ended."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path
from typing import TypeVar

import msgspec

from tfadvisor.against.commits import Commits
from tfadvisor.against.work_trees import environment_of
from tfadvisor.analysis import Options
from tfadvisor.errors import TraceError, UsageError
from tfadvisor.record.conduct import Recorded, Wanted
from tfadvisor.record.keep import keep
from tfadvisor.record.program import Place
from tfadvisor.record.run_program import recorded_program
from tfadvisor.report.model import Report

T = TypeVar("T")
_FIRST_STEPS, _FEWEST_STEPS, _MOST_STEPS = 20, 10, 50
_WINDOW_MS = 3000.0
_SHORTEST_SECONDS = 0.6
_LAST_LINES, _LAST_BYTES = 10, 20_000


class Program(msgspec.Struct, frozen=True):
    """What is recorded on both sides."""

    command: Sequence[str]
    commits: Commits
    options: Options


class Side(msgspec.Struct, frozen=True):
    """One of the two."""

    name: str
    """As `HEAD 1a2b3c4`."""
    tree: Path
    logs: Path
    """A folder for traces and what the program prints, outside of the work tree."""


class Unrecorded(TraceError):
    """A side that gave no recording. lines: the last that the program printed."""

    def __init__(self, side: Side, error: TraceError, lines: Sequence[str]) -> None:
        """error: what the recorder said."""
        super().__init__(f"{side.name}: {error.place}", error.cause, error.remedy)
        self.lines = lines


class Shown(msgspec.Struct, frozen=True):
    """The first recording of a side, with calls of Python where they cost little: for findings and pages."""

    report: Report
    folder: Path
    """Of the run, with its trace."""


def record_first(program: Program, side: Side, seconds: float) -> tuple[Report, Shown]:
    """(the report that is judged, without calls of Python functions; what is shown). Raises TraceError, UsageError."""

    def kept(recorded: Recorded) -> tuple[Report, Shown]:
        judged = (recorded.before or recorded.chosen).report
        found = keep(recorded, side.logs / "logdir", datetime.now())
        return judged, Shown(found.report, found.folder)

    return _recorded(program, side, Wanted(None, _FIRST_STEPS), seconds, kept)


def record_again(program: Program, side: Side, step_ms: float, seconds: float) -> Report:
    """The same without anything to show: some seconds of steps of that length."""
    steps = int(min(max(_WINDOW_MS / step_ms, _FEWEST_STEPS), _MOST_STEPS))
    look = max(_SHORTEST_SECONDS, (steps + 2) * step_ms / 1000)
    wanted = Wanted(None, steps, python_tracer=False, first_look_seconds=look)
    return _recorded(program, side, wanted, seconds, lambda recorded: recorded.chosen.report)


def _recorded(program: Program, side: Side, wanted: Wanted, seconds: float, use: Callable[[Recorded], T]) -> T:
    """Whatever use makes of the recording, while its traces are there."""
    log = side.logs / "output.log"
    side.logs.mkdir(parents=True, exist_ok=True)
    environment = environment_of(program.commits, side.tree, os.environ)
    folder = side.tree / program.commits.inside
    if not folder.is_dir():
        raise UsageError(f"{side.name} has no folder {program.commits.inside}. Call tfadvisor where both have one.")
    with log.open("wb") as output:
        place = Place(folder, environment, output, seconds)
        try:
            with recorded_program(program.command, wanted, program.options, place) as (running, recorded):
                found = use(recorded)
                running.stop()
                if running.program.interrupted:
                    raise KeyboardInterrupt
                return found
        except TraceError as error:
            raise Unrecorded(side, error, _last_lines(log)) from error


def _last_lines(log: Path) -> list[str]:
    with log.open("rb") as file:
        file.seek(max(log.stat().st_size - _LAST_BYTES, 0))
        return file.read().decode("utf-8", "replace").splitlines()[-_LAST_LINES:]
