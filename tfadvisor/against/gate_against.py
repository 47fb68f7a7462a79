"""The whole of `tfadvisor gate --against` on one screen: commits, work trees, turns, verdict."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import msgspec
from msgspec.structs import replace

from tfadvisor.against.commits import Commits, commits_of
from tfadvisor.against.recording import Program, Shown, Side, record_again, record_first
from tfadvisor.against.turns import Turn, in_turns
from tfadvisor.against.verdict import Sides
from tfadvisor.against.work_trees import WorkTrees, work_trees
from tfadvisor.analysis import Options, draw_run
from tfadvisor.errors import UsageError
from tfadvisor.gate.config.resolved import Config
from tfadvisor.gate.judging.result import GateResult
from tfadvisor.report.model import Report
from tfadvisor.report.page.model import PageData
from tfadvisor.units import duration
from tfadvisor.xplane.runs import choose_run

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
