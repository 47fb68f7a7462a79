"""One side of a comparison of two commits: its program is started in its work tree,
recorded, and ended.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import TypeVar

import msgspec
from msgspec.structs import replace

from tfadvisor.act.against.work_trees import Commits, environment_of
from tfadvisor.act.record.choosing import RecordedRun, RecordRequest
from tfadvisor.act.record.keeping import keep
from tfadvisor.act.record.running import recorded_program
from tfadvisor.act.record.started_program import Launch
from tfadvisor.analysis import Options
from tfadvisor.comparison.baseline.snapshot import (
    DEFAULT_MODEL,
    Snapshot,
    snapshot_of,
)
from tfadvisor.errors import NothingToCompare, TraceError, UsageError
from tfadvisor.files import end_of
from tfadvisor.report import Report

_Used = TypeVar("_Used")
_FIRST_STEPS, _FEWEST_STEPS, _MOST_STEPS = 20, 10, 50
_WINDOW_MS = 3000.0
_SHORTEST_SECONDS = 0.6
_LAST_LINES, _LAST_BYTES = 10, 20_000


class Against(msgspec.Struct, frozen=True):
    """What is asked."""

    folder: Path
    """Where the command was called: in a git checkout."""
    ref: str
    command: Sequence[str]
    links: Sequence[str]
    """What git does not track and both sides need, relative to the folder."""
    seconds: float
    """The budget."""
    options: Options
    model: str | None
    labels: Mapping[str, str]


class SideUnrecorded(TraceError):
    """A side that gave no recording. lines: the last that the program printed."""

    def __init__(
        self,
        side: str,
        error: TraceError,
        lines: Sequence[str],
    ) -> None:
        """side: its name. error: what the recorder said."""
        super().__init__(
            f"{side}: {error.place}",
            error.cause,
            error.remedy,
        )
        self.lines = lines


class CommitSide:
    """One of the two. Its first recording has calls of Python where they cost little:
    its findings are shown.
    """

    def __init__(
        self,
        name: str,
        tree: Path,
        logs: Path,
        asked: Against,
        commits: Commits,
    ) -> None:
        """name: as `HEAD 1a2b3c4`. logs: a folder for traces and what the program
        prints, outside of the work tree.
        """
        self.name = name
        self._tree, self._logs = tree, logs
        self._asked, self._commits = asked, commits
        self._shown: Report | None = None
        self._step_ms = 0.0

    def shown(self) -> Report:
        """Of the first recording."""
        assert self._shown is not None
        return self._shown

    def record(self, seconds: float) -> Report:
        """The report that is judged, without calls of Python functions. Raises
        TraceError, UsageError.
        """
        if self._shown is None:
            first = RecordRequest(None, _FIRST_STEPS)
            report, self._shown = self._recorded(
                first,
                seconds,
                self._kept,
            )
            self._step_ms = max(step_ms_of(report), 0.01)
            return report

        fitting = int(_WINDOW_MS / self._step_ms)
        steps = min(max(fitting, _FEWEST_STEPS), _MOST_STEPS)
        look = max(_SHORTEST_SECONDS, (steps + 2) * self._step_ms / 1000)
        wanted = RecordRequest(
            None,
            steps,
            python_tracer=False,
            first_look_seconds=look,
            shortest_seconds=look,
        )
        return self._recorded(
            wanted,
            seconds,
            lambda recorded: recorded.chosen.report,
        )

    def snapshot(self, judged: Report) -> Snapshot:
        """With the findings of what is shown of the side: whether calls of Python are
        in it decides what is found.
        """
        model, labels = self._asked.model or DEFAULT_MODEL, self._asked.labels
        try:
            found = snapshot_of(judged, model, labels)
            shown = snapshot_of(self.shown(), model, labels)
        except TraceError as error:
            raise NothingToCompare(
                self.name,
                error.cause,
                error.remedy,
            ) from error

        side = replace(
            found.side,
            name=self.name,
            findings=shown.side.findings,
        )
        return replace(found, side=side)

    def _kept(self, recorded: RecordedRun) -> tuple[Report, Report]:
        """(what is judged, what is shown)."""
        judged = (recorded.before or recorded.chosen).report
        options = self._asked.options
        kept = keep(
            recorded,
            self._logs / "logdir",
            datetime.now(),
            options,
        )
        return judged, kept.report

    def _recorded(
        self,
        wanted: RecordRequest,
        seconds: float,
        use: Callable[[RecordedRun], _Used],
    ) -> _Used:
        """Whatever use makes of the recording, while its traces are there."""
        folder = self._tree / self._commits.inside
        if not folder.is_dir():
            raise UsageError(
                f"{self.name} has no folder {self._commits.inside}. Call tfadvisor "
                "where both have one."
            )

        self._logs.mkdir(parents=True, exist_ok=True)
        log = self._logs / "output.log"
        environment = environment_of(
            self._commits,
            self._tree,
            os.environ,
        )
        command, options = self._asked.command, self._asked.options
        with log.open("wb") as output:
            launch = Launch(
                folder,
                environment,
                output,
                seconds,
            )
            try:
                with recorded_program(command, wanted, options, launch) as found:
                    running, recorded = found
                    used = use(recorded)
                    running.stop()
                    if running.program.interrupted:
                        raise KeyboardInterrupt
                    return used
            except TraceError as error:
                lines = end_of(log, _LAST_BYTES).splitlines()[-_LAST_LINES:]
                raise SideUnrecorded(self.name, error, lines) from error


def step_ms_of(report: Report) -> float:
    """In the median; 0 without a step."""
    times = report.steps.time_ms
    return times.median if times is not None else 0.0
