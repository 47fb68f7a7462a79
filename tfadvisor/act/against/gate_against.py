"""The whole of `tfadvisor gate --against` on one screen: commits, work trees, turns, verdict."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime, timezone
from pathlib import Path
from typing import Protocol, TypeVar

import msgspec
from msgspec.structs import replace

from tfadvisor.act.against.git import Commits, WorkTrees, commits_of, environment_of, work_trees
from tfadvisor.act.record.conduct import Recorded, Wanted, recorded_program
from tfadvisor.act.record.keeping import keep
from tfadvisor.act.record.program import Place
from tfadvisor.analysis import Options, draw_run
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
from tfadvisor.report.forms.page_data import PageData
from tfadvisor.report.model import Report
from tfadvisor.trace.runs import choose_run
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


class Judged(msgspec.Struct, frozen=True):
    """The verdict, and the first recording of each side, whose traces are there for as long as the work trees are."""

    verdict: GateResult
    base: Shown
    head: Shown

    def drawings(self, options: Options) -> list[Callable[[], PageData]]:
        """What draws the head and the base, while their traces are there."""

        def drawing(shown: Shown) -> Callable[[], PageData]:
            return lambda: replace(draw_run(choose_run([shown.folder])[0], options), report=shown.report)

        return [drawing(self.head), drawing(self.base)]


@contextmanager
def judged_against(asked: Against, config_for: Callable[[Report], Config], tell: Told) -> Iterator[Judged]:
    """Raises UsageError, TraceError. config_for: the configuration of a run. tell: takes lines for who waits."""
    commits = commits_of(asked.folder, asked.ref)
    _tell_about(commits, tell)
    with work_trees(commits, [_from_top(link, commits) for link in asked.links]) as trees:
        recording = _Recording(asked, commits, trees, tell)
        first: list[Sides] = []

        def judge(turns: list[Turn], share: float) -> GateResult:
            if not first:
                shown = recording.shown["base"].report, recording.shown["head"].report
                first.append(Sides((commits.base_name, commits.head_name), shown, asked.model, asked.labels))
            return first[0].verdict(turns, config_for(recording.shown["head"].report), share)

        verdict = in_turns(recording.turn, judge, asked.seconds, tell=tell)
        yield Judged(verdict, recording.shown["base"], recording.shown["head"])


class _Recording:
    """Records turns; the first recording of each side is kept to be shown."""

    def __init__(self, asked: Against, commits: Commits, trees: WorkTrees, tell: Told) -> None:
        self._program = Program(asked.command, commits, asked.options)
        self._sides = {
            "base": Side(commits.base_name, trees.base, trees.folder / "base-runs"),
            "head": Side(commits.head_name, trees.head, trees.folder / "head-runs"),
        }
        self._step_ms: dict[str, float] = {}
        self._tell = tell
        self.shown: dict[str, Shown] = {}

    def turn(self, number: int, seconds: float) -> Turn:
        """As turns.Recorder."""
        order = ("base", "head") if number % 2 == 0 else ("head", "base")
        found = {name: self._side(name, seconds) for name in order}
        times = [_step_ms(found[name]) for name in ("base", "head")]
        self._tell(f"turn {number + 1}: {' against '.join(duration(one) for one in reversed(times))} a step")
        return Turn(found["base"], found["head"])

    def _side(self, name: str, seconds: float) -> Report:
        side = self._sides[name]
        if name in self.shown:
            return record_again(self._program, side, self._step_ms[name], seconds)
        report, self.shown[name] = record_first(self._program, side, seconds)
        self._step_ms[name] = max(_step_ms(report), 0.01)
        return report


def _from_top(link: str, commits: Commits) -> str:
    """A path as it is written, relative to the top of the checkout."""
    found = os.path.normpath(Path(commits.inside) / link)
    if Path(found).is_absolute() or Path(found).parts[:1] in ((), (os.pardir,)):
        raise UsageError(f"--link {link}: give a file or folder below {commits.root}; others need no link.")
    return found


def _step_ms(report: Report) -> float:
    return report.steps.time_ms.median if report.steps.time_ms is not None else 0.0


def _tell_about(commits: Commits, tell: Told) -> None:
    if commits.changed:
        number = len(commits.changed)
        what = commits.changed[0] if number == 1 else f"{commits.changed[0]} and {number - 1} more"
        tell(f"HEAD is judged with its uncommitted changes ({what}).")
    if commits.same:
        tell(f"{commits.ref} and HEAD hold the same files: any difference is chance.")


# Base and head in turns until the verdict is sure or the budget is spent.


LOOKS = (11, 16, 24, 36, 54, 81, 120)
"""Turns after which the verdict is looked at. Eleven is the first number at which ranks of pairs can be as rare as asked."""
_LEAST_SECONDS = 60.0
"""What a program has in any case to come to its steps, however little is left of the budget."""
_FAILURES = 3
"""Turns that may give no recording, once there is one."""


class Turn(msgspec.Struct, frozen=True):
    """Both sides, one after the other: what is judged of each."""

    base: Report
    head: Report


class Judging(Protocol):
    """The verdict of some turns."""

    def __call__(self, turns: list[Turn], share: float) -> GateResult:
        """share: of the rate of false alarms."""


class Recorder(Protocol):
    """Records a turn."""

    def __call__(self, number: int, seconds: float) -> Turn:
        """number: from 0; even ones begin with the base. seconds: how long each program may take."""


def in_turns(
    record: Recorder,
    judge: Judging,
    seconds: float,
    *,
    tell: Callable[[str], None],
    clock: Callable[[], float] = time.monotonic,
) -> GateResult:
    """The verdict. seconds: the budget. Raises what the first turn raises, or one too many of the others."""
    began = clock()
    turns: list[Turn] = []
    failures = looks = 0
    longest = 0.0
    while not turns or clock() - began + longest <= seconds:
        at = clock()
        try:
            turns.append(record(len(turns) + failures, max(seconds - (at - began), _LEAST_SECONDS)))
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
    """Whether more turns would change nothing: it fails, or each change is known within its limit."""
    if verdict.outcome in (Outcome.FAIL, Outcome.BROKEN):
        return True
    return all(check.value is None for check in verdict.of(Outcome.CANNOT_TELL))


# One side recorded once: the program is started in its work tree, recorded, and ended.


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


# What the gate says about turns: their snapshots as pairs, the findings of what is shown.


class Sides:
    """Names and first recordings of both sides, by which every verdict is given."""

    def __init__(
        self, names: tuple[str, str], shown: tuple[Report, Report], model: str | None, labels: Mapping[str, str]
    ) -> None:
        """base first. shown: what findings are taken from; it may have calls of Python that the judged ones have not."""
        self._names, self._shown = names, shown
        self._model, self._labels = model or DEFAULT_MODEL, labels

    def verdict(self, turns: list[Turn], config: Config, share: float) -> GateResult:
        """share: of the configuration's rate of false alarms. Raises NothingToCompare when a run holds no step."""
        base = [self._snapshot(turn.base, 0) for turn in turns]
        head = [self._snapshot(turn.head, 1) for turn in turns]
        unlike = must_be_alike(base[0].key, head[0].key)
        baseline = Baseline(() if unlike else tuple(base), unlike, (), may_differ(base[0], head[0]), in_turns=True)
        today = datetime.now(timezone.utc).date()
        asked = replace(config, false_alarm_rate=config.false_alarm_rate * share)
        found = judge(asked, [self._shown[1]], head, baseline, today)
        gated = replace(found.gated, against=self._names[0])
        return replace(found, false_alarm_rate=config.false_alarm_rate, gated=gated)

    def _snapshot(self, report: Report, side: int) -> Snapshot:
        """With the findings of what is shown of the side: whether calls of Python are in it decides what is found."""
        try:
            judged = snapshot_of(report, self._model, self._labels)
            shown = snapshot_of(self._shown[side], self._model, self._labels)
        except TraceError as error:
            raise NothingToCompare(self._names[side], error.cause, error.remedy) from error
        return replace(judged, side=replace(judged.side, name=self._names[side], findings=shown.side.findings))
