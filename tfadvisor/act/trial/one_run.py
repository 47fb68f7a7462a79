"""Starts the program, waits until its processes have answered, and ends it with all
that it started.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import tempfile
import time
import tokenize
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from math import ceil
from pathlib import Path
from types import FrameType

import msgspec

from tfadvisor import guardian
from tfadvisor.act.record.injected.tfadvisor_hook.letters import read_letter
from tfadvisor.act.record.started_program import HOOK
from tfadvisor.act.trial import injected
from tfadvisor.act.trial.candidates import Candidate, loop_after
from tfadvisor.act.trial.injected.tfadvisor_trial_hook import FOLDER
from tfadvisor.act.trial.steps import KERAS, Answer, Order, StepPlan, refined, shortened
from tfadvisor.errors import UsageError
from tfadvisor.files import end_of, temporary_folder

_OURS = Path(injected.__file__).parent
_POLL_SECONDS = 0.02
_OTHERS_SECONDS = 3.0
"""How long the other processes of a program may take once the first has answered."""
_UNKNOWN_OTHERS_SECONDS = 1.0
"""The same where it is not known whether there are others."""
_TAIL_BYTES = 4000
_ERROR = re.compile(r"[\w.]{0,120}(?:Error|Exception|Interrupt)\b")


class Run(msgspec.Struct, frozen=True):
    """One run of the program."""

    answers: tuple[Answer, ...]
    code: int | None
    """Its exit code where it ended by itself, None where it was ended."""
    seconds: float
    """By the wall clock."""
    tail: str
    """The end of what it printed."""
    late: bool
    """It was ended without an answer, because it took too long."""


class Interrupted(KeyboardInterrupt):
    """The user has asked for the end."""


class Asked:
    """Whether the user has asked for the end."""

    def __init__(self) -> None:
        """Not yet."""
        self.end = False

    @contextmanager
    def heeded(self) -> Iterator[None]:
        """Inside, Ctrl-C ends the run that is under way and nothing else."""
        before = signal.signal(signal.SIGINT, self._asked)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, before)

    def _asked(self, _number: int, _frame: FrameType | None) -> None:
        self.end = True


def run_once(
    command: Sequence[str],
    env: Mapping[str, str],
    order: Order,
    patience: float,
    processes: int | None,
    asked: Asked,
) -> Run:
    """env: what is set besides what is set already. patience: seconds. processes: how
    many answers there will be, None where that is not known yet.

    Raises UsageError when the program cannot be started, Interrupted.
    """
    with (
        temporary_folder("tfadvisor-try-") as folder,
        (Path(folder) / "output").open("wb") as output,
    ):
        order.write(folder)
        guardian.start()
        began = time.monotonic()
        try:
            process = subprocess.Popen(
                list(command),
                env=_environment(env, folder),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        except OSError as error:
            raise UsageError(
                f"{command[0]} cannot be started: {error.strerror}."
            ) from error
        with guardian.watched("end", process.pid, folder, 0):
            try:
                late = _wait(process, Path(folder), began + patience, processes, asked)
                code = _exit_code(process, Path(folder))
            finally:
                # all that it started too: it stands between two rounds of its loop,
                # where nothing is half written
                guardian.end_all(process.pid, folder)
                process.kill()
                process.wait()
        answers = tuple(msgspec.convert(one, Answer) for one in _letters(Path(folder)))
        tail = end_of(Path(output.name), _TAIL_BYTES).strip()
        return Run(answers, code, time.monotonic() - began, tail, late and not answers)


def _environment(more: Mapping[str, str], folder: str) -> dict[str, str]:
    env = {**os.environ, **more}
    searched = [
        str(_OURS),
        str(HOOK),
        *([env["PYTHONPATH"]] if env.get("PYTHONPATH") else []),
    ]
    return {
        **env,
        "PYTHONPATH": os.pathsep.join(searched),
        FOLDER: folder,
        "TFADVISOR_TRY": "1",
    }


def _wait(
    process: subprocess.Popen[bytes],
    folder: Path,
    until: float,
    processes: int | None,
    asked: Asked,
) -> bool:
    """Whether it took too long."""
    first: float | None = None
    patience = _UNKNOWN_OTHERS_SECONDS if processes is None else _OTHERS_SECONDS
    while True:
        now = time.monotonic()
        # a helper of the program, which has neither, may end before the program begins
        told = sum(bool(one["loops"] or one["sample"]) for one in _letters(folder))
        if told and first is None:
            first = now
        enough = processes is not None and told >= processes
        if (
            enough
            or (first is not None and now - first > patience)
            or process.poll() is not None
        ):
            return False
        if asked.end:
            raise Interrupted
        if now > until:
            return True
        time.sleep(_POLL_SECONDS)


def _exit_code(process: subprocess.Popen[bytes], folder: Path) -> int | None:
    """As a shell has it, None where it has not ended by itself; a process that reported
    the end of its program is waited for.
    """
    if any(one["ended"] for one in _letters(folder)):
        with suppress(subprocess.TimeoutExpired):
            process.wait(_OTHERS_SECONDS)
    code = process.poll()
    return 128 - code if code is not None and code < 0 else code


def _letters(folder: Path) -> Iterator[dict[str, object]]:
    for file in sorted(folder.glob("answer-*.json")):
        letter = read_letter(str(file))
        if letter is not None:
            yield letter


# The user's program in a trial: which files are its own, and one run of it under a
# candidate.


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
    """Where its program ended before all were timed: steps that it timed, or all that
    it made where that was none. None for any other."""
    between: float = 0.0
    """Share of the time that passed between the loop's turns, as at ends of epochs, in
    no step.
    """


class Program:
    """A command, and where its own files are."""

    def __init__(self, command: Sequence[str], asked: Asked) -> None:
        """command: as the user types it."""
        self.command = tuple(command)
        self.asked = asked
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
    ) -> Run:
        """One run, in which all loops are watched.

        env: what is set for it. parts: whose hooks count. texts: files that are read
        otherwise. fewest: rounds after which a loop may be the one. step_ms: of a
        report. Raises UsageError, Interrupted.
        """
        with temporary_folder("tfadvisor-patched-") as folder:
            patched = {
                real: _kept(folder, real, text) for real, text in (texts or {}).items()
            }
            order = Order(
                self.roots,
                patched,
                None,
                fewest=fewest,
                seconds=seconds,
                step_ms=step_ms or 0.0,
                parts=tuple(parts),
            )
            return run_once(self.command, env or {}, order, patience, None, self.asked)

    def time(
        self,
        candidate: Candidate,
        plan: StepPlan,
        patience: float,
        processes: int,
        fewest: int | None = None,
    ) -> Timed:
        """One run with a candidate. fewest: steps below which it gave no step time.
        Raises UsageError, Interrupted.
        """
        fewest = ceil(plan.count / 2) if fewest is None else fewest
        loop = loop_in(candidate, plan)
        if loop is None:
            return Timed(
                None, "the loop whose rounds are the steps is not there any more", 0.0
            )
        with temporary_folder("tfadvisor-patched-") as folder:
            patched = {
                real: _kept(folder, real, text)
                for real, text in candidate.texts.items()
            }
            order = Order(
                self.roots,
                patched,
                (loop,),
                plan.warm,
                plan.count,
                parts=candidate.parts,
                acting=bool(candidate.parts),
            )
            run = run_once(
                self.command, candidate.env, order, patience, processes, self.asked
            )
        samples = [
            one.sample
            for one in run.answers
            if one.sample is not None and one.sample.steps >= fewest
        ]
        if not samples:
            steps = (
                0
                if run.code or run.late
                else max((one.steps for one in run.answers), default=0)
            )
            return Timed(
                None, why_no_sample(run, plan), run.seconds, run.answers, steps
            )
        made = min(one.steps for one in samples)
        return Timed(
            max(1000 * one.seconds / one.steps for one in samples),
            "",
            run.seconds,
            run.answers,
            made if made < plan.count else None,
            max(one.between / max(one.between + one.seconds, 1e-9) for one in samples),
        )


def loop_in(candidate: Candidate, plan: StepPlan) -> tuple[str, int] | None:
    """Where the steps' loop stands in a candidate's text."""
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
    lines = [
        one.strip()
        for one in tail.splitlines()
        if one.strip() and not one.startswith("tfadvisor: ")
    ]
    named = [
        one for one in lines if _ERROR.match(one)
    ] or lines  # JAX says more behind its error
    return f": {named[-1][:200]}" if lines else ""


def source_of(file: Path) -> str:
    """A Python file's text; lines end as they do. Raises UsageError."""
    try:
        with file.open("rb") as raw:
            encoding, _ = tokenize.detect_encoding(raw.readline)
        text = file.read_bytes().decode(encoding)
        text.encode(encoding)  # as what is tried will be kept
    except (
        OSError,
        SyntaxError,
        LookupError,
        ValueError,
    ) as error:  # codecs raise UnicodeError, a ValueError
        raise UsageError(
            f"{file} cannot be read: {getattr(error, 'strerror', None) or error}."
        ) from error
    return text


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


# The program as it is, run until it is known how many steps to time, and how far its
# values differ from run to run.

_RUNS = 2
_TRIES = 5


def settle_in(
    time: Callable[[StepPlan, int], Timed], plan: StepPlan, seconds: float
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
            plan = refined(plan, timed.step_ms, seconds, timed.made)
        elif timed.made:
            plan = shortened(plan, timed.made)
        if plan == before and (timed.step_ms is None or good >= _RUNS):
            break
    return plan, timed
