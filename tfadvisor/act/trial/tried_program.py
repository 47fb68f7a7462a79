"""The user's program in a trial: which files are its own, and one run of it under a
candidate.
"""

from __future__ import annotations

import os
import tempfile
import tokenize
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from math import ceil
from pathlib import Path

import msgspec
from msgspec.structs import replace

from tfadvisor.act.trial.candidates import Candidate
from tfadvisor.act.trial.moved_loops import loop_after
from tfadvisor.act.trial.one_run import StopRequest, TrialRun, last_line, run_once
from tfadvisor.act.trial.orders import KERAS, ProcessAnswer, TrialOrder
from tfadvisor.act.trial.steps import StepPlan, refined, shortened
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
    answers: tuple[ProcessAnswer, ...] = ()
    made: int | None = None
    """Where its program ended before all were timed: steps that it timed, or all that
    it made where that was none. None for any other."""
    steps: int = 0
    """That were timed, in the process that timed fewest."""
    between: float = 0.0
    """Share of the time that passed between the loop's turns, as at ends of epochs, in
    no step.
    """


class TriedProgram:
    """A command, and where its own files are."""

    def __init__(
        self,
        command: Sequence[str],
        stop: StopRequest,
    ) -> None:
        """command: as the user types it."""
        self.command = tuple(command)
        self.stop = stop
        self.roots = tuple(dict.fromkeys(_roots(command)))

    def watch(
        self,
        patience: float,
        seconds: float,
        env: Mapping[str, str] | None = None,
        parts: Sequence[str] = (),
        texts: Mapping[str, str] | None = None,
        fewest: int = 8,
        step_ms: float | None = None,
    ) -> TrialRun:
        """One run, in which all loops are watched.

        env: what is set for it. parts: whose hooks count. texts: files that are read
        otherwise. fewest: rounds after which a loop may be the one. step_ms: of a
        report. Raises UsageError, Interrupted.
        """
        with _overlay(texts or {}) as patched:
            order = TrialOrder(
                self.roots,
                patched,
                None,
                fewest=fewest,
                seconds=seconds,
                step_ms=step_ms or 0.0,
                parts=tuple(parts),
                stays=not texts,
            )
            return run_once(
                self.command,
                env or {},
                order,
                patience,
                None,
                self.stop,
            )

    def time(
        self,
        candidate: Candidate,
        plan: StepPlan,
        patience: float,
        processes: int,
        fewest: int | None = None,
        *,
        counting: bool = False,
    ) -> Timed:
        """One run with a candidate. fewest: steps below which it gave no step time.
        counting: what its steps do, too. Raises UsageError, Interrupted.
        """
        loop = loop_in(candidate, plan)
        if loop is None:
            gone = "the loop whose rounds are the steps is not there any more"
            return Timed(None, gone, 0.0)

        with _overlay(candidate.texts) as patched:
            order = TrialOrder(
                self.roots,
                patched,
                (loop,),
                plan.warm,
                plan.count,
                whole_turns=plan.whole_turns,
                counting=counting,
                parts=candidate.parts,
                acting=bool(candidate.parts),
                stays=not (candidate.parts or candidate.env or candidate.texts),
            )
            run = run_once(
                self.command, candidate.env, order, patience, processes, self.stop
            )
        return timed_of(
            run,
            plan,
            ceil(plan.count / 2) if fewest is None else fewest,
        )

    def alternate(
        self,
        plan: StepPlan,
        steps: int,
        arms: Sequence[Sequence[str]],
        parts: Sequence[str],
        patience: float,
        look: Callable[[Path], None],
    ) -> TrialRun:
        """One run in which arms take turns. steps: of each block. arms: the parts that
        each takes out. parts: all that are hooked. look: as for `run_once`. Raises
        UsageError, Interrupted.
        """
        order = TrialOrder(
            self.roots,
            {},
            ((plan.loop.file, plan.loop.line),),
            plan.warm,
            steps,
            looks=0,
            parts=tuple(parts),
            acting=True,
            arms=tuple(map(tuple, arms)),
        )
        return run_once(
            self.command,
            {},
            order,
            patience,
            1,
            self.stop,
            look,
        )


def timed_of(
    run: TrialRun,
    plan: StepPlan,
    fewest: int,
) -> Timed:
    """What a run gave. fewest: steps below which a process gave no step time."""
    samples = [answer.sample for answer in run.answers if answer.sample is not None]
    samples = [sample for sample in samples if sample.steps >= fewest]
    if not samples:
        steps = 0 if run.code or run.late else run.steps
        why = why_no_sample(run, plan)
        return Timed(
            None,
            why,
            run.seconds,
            run.answers,
            steps,
        )

    made = min(sample.steps for sample in samples)
    return Timed(
        step_ms=max(sample.step_ms for sample in samples),
        why="",
        seconds=run.seconds,
        answers=run.answers,
        made=made if made < plan.count else None,
        steps=made,
        between=max(sample.between_share for sample in samples),
    )


def loop_in(
    candidate: Candidate,
    plan: StepPlan,
) -> tuple[str, int] | None:
    """Where the steps' loop stands in a candidate's text."""
    file, line = plan.loop.file, plan.loop.line
    changed = candidate.texts.get(file)
    if file == KERAS or changed is None:
        return file, line

    moved = loop_after(
        source_of(Path(file)),
        line,
        changed,
    )
    return None if moved is None else (file, moved)


def why_no_sample(run: TrialRun, plan: StepPlan) -> str:
    """In words, for a run that gave no step time."""
    asked = plan.warm + plan.count
    too_few = f"it made {run.steps} steps, and {asked} were asked for"
    if plan.whole_turns:
        too_few = f"it made {run.steps} steps, and its loop no second turn"
    return why_ended(run) or too_few


def why_ended(run: TrialRun) -> str:
    """Where the program failed, or took too long; "" for any other run."""
    if run.late:
        return f"it took more than {run.seconds:.0f} s"
    if run.code:
        return f"it ended with exit code {run.code}{last_line(run.tail)}"
    return ""


def source_of(file: Path) -> str:
    """A Python file's text; lines end as they do. Raises UsageError."""
    try:
        encoding = _encoding_of(file)
        text = file.read_bytes().decode(encoding)
        text.encode(encoding)  # as what is tried will be kept
    except (OSError, SyntaxError, LookupError, ValueError) as error:
        # Codecs raise UnicodeError, a ValueError.
        why = getattr(error, "strerror", None) or error
        raise UsageError(f"{file} cannot be read: {why}.") from error
    return text


def _encoding_of(file: Path) -> str:
    with file.open("rb") as raw:
        encoding, _ = tokenize.detect_encoding(raw.readline)
    return encoding


@contextmanager
def _overlay(texts: Mapping[str, str]) -> Iterator[dict[str, str]]:
    """By real path, the file that is read in its place. texts: by real path."""
    with temporary_folder("tfadvisor-patched-") as folder:
        patched = {}
        for real, text in texts.items():
            patched[real] = _kept(folder, real, text)
        yield patched


def _kept(
    folder: str,
    real: str,
    text: str,
) -> str:
    """A patched file's text, in the file's own encoding."""
    encoding = _encoding_of(Path(real))
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


# The program as it is, run until it is known how many steps to time, and how far its
# values differ from run to run.

_RUNS = 2
_TRIES = 5


def settle_in(
    time: Callable[[StepPlan, int], Timed],
    plan: StepPlan,
    seconds: float,
) -> tuple[StepPlan, Timed]:
    """(the plan for all arms, the last run). seconds: how long the timed steps should
    last.

    time: one run by a plan, with the fewest steps that will do; called until two runs
    gave a step time and the last one was as planned, or until it is clear that none
    will.
    """
    timed = Timed(None, "", 0.0)
    good = 0
    for _ in range(_TRIES):
        before = plan
        timed = time(plan, 1)
        if timed.step_ms is not None:
            good += 1
            plan = refined(
                plan,
                timed.step_ms,
                seconds,
                timed.made,
            )
            if plan.whole_turns:
                plan = replace(plan, count=timed.steps)
        elif timed.made:
            plan = shortened(plan, timed.made)

        enough = timed.step_ms is None or good >= _RUNS
        if plan == before and enough:
            break
    return plan, timed
