"""The whole of `tfadvisor gate --against` on one screen: commits, work trees, turns,
verdict.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import TypeVar

import msgspec
from msgspec.structs import replace

from tfadvisor.act.against.git import Commits, commits_of, environment_of, work_trees
from tfadvisor.act.record.conduct import Recorded, Wanted, recorded_program
from tfadvisor.act.record.keeping import keep
from tfadvisor.act.record.program import Place
from tfadvisor.analysis import Options
from tfadvisor.comparison.baseline.snapshot import (
    DEFAULT_MODEL,
    Baseline,
    Snapshot,
    may_differ,
    must_be_alike,
    snapshot_of,
)
from tfadvisor.comparison.gate.config import Config
from tfadvisor.comparison.gate.judge import judge
from tfadvisor.comparison.gate.result import GateResult, Outcome
from tfadvisor.errors import NothingToCompare, TraceError, UsageError
from tfadvisor.files import end_of
from tfadvisor.report.model import Report
from tfadvisor.units import duration

Told = Callable[[str], None]


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


def judged_against(asked: Against, config: Config, tell: Told) -> GateResult:
    """Raises UsageError, TraceError. tell: takes lines for who waits."""
    commits = commits_of(asked.folder, asked.ref)
    _tell_about(commits, tell)
    with work_trees(
        commits, [_from_top(link, commits) for link in asked.links]
    ) as trees:
        base = Side(
            commits.base_name, trees.base, trees.folder / "base-runs", asked, commits
        )
        head = Side(
            commits.head_name, trees.head, trees.folder / "head-runs", asked, commits
        )

        def turn(number: int, seconds: float) -> Turn:
            order = (base, head) if number % 2 == 0 else (head, base)
            found = {side: side.record(seconds) for side in order}
            times = [duration(_step_ms(found[side])) for side in (head, base)]
            tell(f"turn {number + 1}: {' against '.join(times)} a step")
            return Turn(found[base], found[head])

        def judged(turns: list[Turn], share: float) -> GateResult:
            return verdict_of(base, head, turns, config, share)

        return in_turns(turn, judged, asked.seconds, tell=tell)


def _from_top(link: str, commits: Commits) -> str:
    """A path as it is written, relative to the top of the checkout."""
    found = os.path.normpath(Path(commits.inside) / link)
    if Path(found).is_absolute() or Path(found).parts[:1] in ((), (os.pardir,)):
        raise UsageError(
            f"--link {link}: give a file or folder below {commits.root}; others need "
            "no link."
        )
    return found


def _step_ms(report: Report) -> float:
    return report.steps.time_ms.median if report.steps.time_ms is not None else 0.0


def _tell_about(commits: Commits, tell: Told) -> None:
    if commits.changed:
        number = len(commits.changed)
        what = (
            commits.changed[0]
            if number == 1
            else f"{commits.changed[0]} and {number - 1} more"
        )
        tell(f"HEAD is judged with its uncommitted changes ({what}).")
    if commits.same:
        tell(f"{commits.ref} and HEAD hold the same files: any difference is chance.")


# Base and head in turns until the verdict is sure or the budget is spent.


LOOKS = (11, 16, 24, 36, 54, 81, 120)
"""Turns after which the verdict is looked at. Eleven is the first number at which ranks
of pairs can be as rare as asked.
"""
_LEAST_SECONDS = 60.0
"""What a program has in any case to come to its steps, however little is left of the
budget.
"""
_FAILURES = 3
"""Turns that may give no recording, once there is one."""


class Turn(msgspec.Struct, frozen=True):
    """Both sides, one after the other: what is judged of each."""

    base: Report
    head: Report


Judging = Callable[[list[Turn], float], GateResult]
"""The verdict of some turns, with that share of the rate of false alarms."""
Recorder = Callable[[int, float], Turn]
"""Records a turn: its number, from 0, even ones begin with the base; how many seconds
each program may take.
"""


def in_turns(
    record: Recorder,
    judge: Judging,
    seconds: float,
    *,
    tell: Callable[[str], None],
    clock: Callable[[], float] = time.monotonic,
) -> GateResult:
    """The verdict. seconds: the budget. Raises what the first turn raises, or one too
    many of the others.
    """
    began = clock()
    turns: list[Turn] = []
    failures = looks = 0
    longest = 0.0
    while not turns or clock() - began + longest <= seconds:
        at = clock()
        try:
            turns.append(
                record(
                    len(turns) + failures, max(seconds - (at - began), _LEAST_SECONDS)
                )
            )
        except TraceError as error:
            failures += 1
            if not turns or failures > _FAILURES:
                raise
            tell(f"turn {len(turns) + failures} is left out: {error}")
            continue
        longest = max(longest, clock() - at)
        if len(turns) in LOOKS:
            looks += 1
            found = judge(turns, 0.5 ** (looks + 1))
            if decided(found):
                return found
    return judge(turns, 0.5)


def decided(verdict: GateResult) -> bool:
    """Whether more turns would change nothing: it fails, or each change is known within
    its limit.
    """
    if verdict.outcome in (Outcome.FAIL, Outcome.BROKEN):
        return True
    return all(check.value is None for check in verdict.of(Outcome.CANNOT_TELL))


# One side recorded once: the program is started in its work tree, recorded, and ended.


T = TypeVar("T")
_FIRST_STEPS, _FEWEST_STEPS, _MOST_STEPS = 20, 10, 50
_WINDOW_MS = 3000.0
_SHORTEST_SECONDS = 0.6
_LAST_LINES, _LAST_BYTES = 10, 20_000


class Unrecorded(TraceError):
    """A side that gave no recording. lines: the last that the program printed."""

    def __init__(self, side: str, error: TraceError, lines: Sequence[str]) -> None:
        """side: its name. error: what the recorder said."""
        super().__init__(f"{side}: {error.place}", error.cause, error.remedy)
        self.lines = lines


class Side:
    """One of the two. Its first recording has calls of Python where they cost little:
    its findings are shown.
    """

    def __init__(
        self, name: str, tree: Path, logs: Path, asked: Against, commits: Commits
    ) -> None:
        """name: as `HEAD 1a2b3c4`. logs: a folder for traces and what the program
        prints, outside of the work tree.
        """
        self.name = name
        self._tree, self._logs, self._asked, self._commits = tree, logs, asked, commits
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
            report, self._shown = self._recorded(
                Wanted(None, _FIRST_STEPS), seconds, self._kept
            )
            self._step_ms = max(_step_ms(report), 0.01)
            return report
        steps = int(min(max(_WINDOW_MS / self._step_ms, _FEWEST_STEPS), _MOST_STEPS))
        look = max(_SHORTEST_SECONDS, (steps + 2) * self._step_ms / 1000)
        wanted = Wanted(None, steps, python_tracer=False, first_look_seconds=look)
        return self._recorded(wanted, seconds, lambda recorded: recorded.chosen.report)

    def snapshot(self, judged: Report) -> Snapshot:
        """With the findings of what is shown of the side: whether calls of Python are
        in it decides what is found.
        """
        model, labels = self._asked.model or DEFAULT_MODEL, self._asked.labels
        try:
            found, shown = (
                snapshot_of(one, model, labels) for one in (judged, self.shown())
            )
        except TraceError as error:
            raise NothingToCompare(self.name, error.cause, error.remedy) from error
        return replace(
            found,
            side=replace(found.side, name=self.name, findings=shown.side.findings),
        )

    def _kept(self, recorded: Recorded) -> tuple[Report, Report]:
        judged = (recorded.before or recorded.chosen).report
        return judged, keep(
            recorded, self._logs / "logdir", datetime.now(), self._asked.options
        ).report

    def _recorded(
        self, wanted: Wanted, seconds: float, use: Callable[[Recorded], T]
    ) -> T:
        """Whatever use makes of the recording, while its traces are there."""
        log = self._logs / "output.log"
        self._logs.mkdir(parents=True, exist_ok=True)
        folder = self._tree / self._commits.inside
        if not folder.is_dir():
            raise UsageError(
                f"{self.name} has no folder {self._commits.inside}. Call tfadvisor "
                "where both have one."
            )
        with log.open("wb") as output:
            place = Place(
                folder,
                environment_of(self._commits, self._tree, os.environ),
                output,
                seconds,
            )
            try:
                with recorded_program(
                    self._asked.command, wanted, self._asked.options, place
                ) as (running, recorded):
                    found = use(recorded)
                    running.stop()
                    if running.program.interrupted:
                        raise KeyboardInterrupt
                    return found
            except TraceError as error:
                raise Unrecorded(
                    self.name,
                    error,
                    end_of(log, _LAST_BYTES).splitlines()[-_LAST_LINES:],
                ) from error


# What the gate says about turns: their snapshots as pairs, the findings of what is
# shown.


def verdict_of(
    base: Side, head: Side, turns: list[Turn], config: Config, share: float
) -> GateResult:
    """share: of the configuration's rate of false alarms. Raises NothingToCompare when
    a run holds no step.
    """
    before = [base.snapshot(turn.base) for turn in turns]
    after = [head.snapshot(turn.head) for turn in turns]
    unlike = must_be_alike(before[0].key, after[0].key)
    baseline = Baseline(
        () if unlike else tuple(before),
        unlike,
        (),
        may_differ(before[0], after[0]),
        in_turns=True,
    )
    asked = replace(config, false_alarm_rate=config.false_alarm_rate * share)
    found = judge(
        asked, [head.shown()], after, baseline, datetime.now(timezone.utc).date()
    )
    gated = replace(found.gated, against=base.name)
    return replace(found, false_alarm_rate=config.false_alarm_rate, gated=gated)
