"""The user's program in a trial: which files are its own, and one run of it under a candidate."""

from __future__ import annotations

import os
import tempfile
import tokenize
from collections.abc import Callable, Iterable, Mapping, Sequence
from math import ceil
from pathlib import Path

import msgspec

from tfadvisor.act.trial.candidates import Candidate, loop_after
from tfadvisor.act.trial.one_run import Asked, Run, run_once
from tfadvisor.act.trial.steps import KERAS, Answer, Order, StepPlan, refined, shortened
from tfadvisor.errors import UsageError
from tfadvisor.files import temporary_folder


class Timed(msgspec.Struct, frozen=True):
    """What one run of an arm gave."""

    step_ms: float | None
    """None where it gave none."""
    why: str
    """In that case: what went wrong."""
    seconds: float
    """The whole run, by the wall clock."""
    answers: tuple[Answer, ...] = ()
    made: int | None = None
    """Where its program ended before all were timed: steps that it timed, or all that it made where that was none. None for
    any other."""


class Program:
    """A command, and where its own files are."""

    def __init__(self, command: Sequence[str], asked: Asked) -> None:
        """command: as the user types it."""
        self.command = tuple(command)
        self.asked = asked
        self.roots = tuple(dict.fromkeys(_roots(command)))

    def watch(self, patience: float, seconds: float, env: Mapping[str, str] | None = None) -> Run:
        """One run, in which all loops are watched. env: what is set for it. Raises UsageError, Interrupted."""
        return run_once(
            self.command, env or {}, Order(self.roots, {}, None, seconds=seconds), patience, None, self.asked
        )

    def time(
        self, candidate: Candidate, plan: StepPlan, patience: float, processes: int, fewest: int | None = None
    ) -> Timed:
        """One run with a candidate. fewest: steps below which it gave no step time. Raises UsageError, Interrupted."""
        fewest = ceil(plan.count / 2) if fewest is None else fewest
        loop = loop_in(candidate, plan)
        if loop is None:
            return Timed(None, "the loop whose rounds are the steps is not there any more", 0.0)
        with temporary_folder("tfadvisor-patched-") as folder:
            patched = {real: _kept(folder, real, text) for real, text in candidate.texts.items()}
            order = Order(self.roots, patched, (loop,), plan.warm, plan.count)
            run = run_once(self.command, candidate.env, order, patience, processes, self.asked)
        samples = [one.sample for one in run.answers if one.sample is not None and one.sample.steps >= fewest]
        if not samples:
            steps = 0 if run.code or run.late else max((one.steps for one in run.answers), default=0)
            return Timed(None, why_no_sample(run, plan), run.seconds, run.answers, steps)
        made = min(one.steps for one in samples)

        return Timed(
            max(1000 * one.seconds / one.steps for one in samples),
            "",
            run.seconds,
            run.answers,
            made if made < plan.count else None,
        )


def loop_in(candidate: Candidate, plan: StepPlan) -> tuple[str, int] | None:
    """Where the steps' loop is in a candidate's text."""
    changed = candidate.texts.get(plan.loop.file)
    if plan.loop.file == KERAS or changed is None:
        return plan.loop.file, plan.loop.line
    line = loop_after(source_of(Path(plan.loop.file)), plan.loop.line, changed)
    return None if line is None else (plan.loop.file, line)


def why_no_sample(run: Run, plan: StepPlan) -> str:
    """In words, for a run that gave no step time."""
    if run.late:
        return f"it took more than {run.seconds:.0f} s"
    if run.code:
        return f"it ended with exit code {run.code}{last_line(run.tail)}"
    made = max((one.steps for one in run.answers), default=0)
    return f"it made {made} steps, and {plan.warm + plan.count} were asked for"


def last_line(tail: str) -> str:
    """`: what it said last`, "" for nothing."""
    lines = [one.strip() for one in tail.splitlines() if one.strip()]
    return f": {lines[-1][:200]}" if lines else ""


def source_of(file: Path) -> str:
    """A Python file's text; lines end as they do. Raises UsageError."""
    try:
        with file.open("rb") as raw:
            encoding, _ = tokenize.detect_encoding(raw.readline)
        return file.read_bytes().decode(encoding)
    except (OSError, SyntaxError, UnicodeDecodeError) as error:
        raise UsageError(f"{file} cannot be read: {getattr(error, 'strerror', None) or error}.") from error


def _kept(folder: str, real: str, text: str) -> str:
    """A patched file's text, in the file's own encoding."""
    with Path(real).open("rb") as raw:
        encoding, _ = tokenize.detect_encoding(raw.readline)
    handle, name = tempfile.mkstemp(".py", dir=folder)
    with os.fdopen(handle, "wb") as file:
        file.write(text.encode(encoding))
    return name


def _roots(command: Sequence[str]) -> Iterable[str]:
    """The folder where the command runs, and those of the scripts that it names."""
    yield os.path.realpath(Path.cwd())
    for word in command:
        if word.endswith(".py") and Path(word).is_file():
            yield os.path.realpath(Path(word).absolute().parent)


# The program as it is, run until it is known how many steps to time, and how far its values differ from run to run.

_RUNS = 2
_TRIES = 5


def settle_in(time: Callable[[StepPlan, int], Timed], plan: StepPlan, seconds: float) -> tuple[StepPlan, Timed]:
    """(the plan for all arms, the last run). seconds: how long the timed steps should last.

    time: one run by a plan, with the fewest steps that will do; called until two runs gave a step time and the last one was as
    planned, or until it is clear that none will.
    """
    timed = Timed(None, "", 0.0)
    good = 0
    for _ in range(_TRIES):
        before = plan
        timed = time(plan, 1)
        if timed.step_ms is not None:
            good += 1
            plan = refined(plan, timed.step_ms, seconds, timed.made)
        elif timed.made:
            plan = shortened(plan, timed.made)
        if timed.step_ms is None and plan == before:
            break
        if good >= _RUNS and plan == before:
            break
    return plan, timed
