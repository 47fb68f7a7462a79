"""Starts the program, waits until its processes have answered, and ends it with all
that it started.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType

import msgspec

from tfadvisor import guardian
from tfadvisor.act.record.injected.tfadvisor_hook.letters import read_letter
from tfadvisor.act.record.started_program import HOOK, searching_first
from tfadvisor.act.trial import injected
from tfadvisor.act.trial.injected.tfadvisor_trial_hook import FOLDER
from tfadvisor.act.trial.orders import ProcessAnswer, TrialOrder
from tfadvisor.errors import UsageError
from tfadvisor.files import end_of, temporary_folder

_OURS = Path(injected.__file__).parent
_POLL_SECONDS = 0.02
_OTHERS_SECONDS = 3.0
"""How long the other processes of a program may take once the first has answered."""
_UNKNOWN_OTHERS_SECONDS = 1.0
"""The same where it is not known whether there are others."""
_TAIL_BYTES = 4000
_LONGEST_LINE = 200
_ERROR = re.compile(r"[\w.]{0,120}(?:Error|Exception|Interrupt)\b")


class TrialRun(msgspec.Struct, frozen=True):
    """One run of the program."""

    answers: tuple[ProcessAnswer, ...]
    code: int | None
    """Its exit code where it ended by itself, None where it was ended."""
    seconds: float
    """By the wall clock."""
    tail: str
    """The end of what it printed."""
    late: bool
    """It was ended without an answer, because it took too long."""

    @property
    def steps(self) -> int:
        """That it made, in the process that made most."""
        return max(
            (answer.steps for answer in self.answers),
            default=0,
        )


class Interrupted(KeyboardInterrupt):
    """The user has asked for the end."""


class StopRequest:
    """Whether the user has asked for the end."""

    def __init__(self) -> None:
        """Not yet."""
        self.came = False

    @contextmanager
    def heeded(self) -> Iterator[None]:
        """Inside, Ctrl-C ends the run that is under way and nothing else."""
        before = signal.signal(signal.SIGINT, self._comes)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, before)

    def _comes(
        self,
        _number: int,
        _frame: FrameType | None,
    ) -> None:
        self.came = True


def run_once(
    command: Sequence[str],
    env: Mapping[str, str],
    order: TrialOrder,
    patience: float,
    processes: int | None,
    stop: StopRequest,
    look: Callable[[Path], None] | None = None,
) -> TrialRun:
    """env: what is set besides what is set already. patience: seconds. processes: how
    many answers there will be, None where that is not known yet. look: called again and
    again with the folder of the run while it runs.

    Raises UsageError when the program cannot be started, Interrupted.
    """
    with temporary_folder("tfadvisor-try-") as name:
        folder = Path(name)
        order.write(name)
        guardian.start()
        began = time.monotonic()
        process = _started(
            command,
            _environment(env, name),
            folder / "output",
        )
        with (
            guardian.watched("put back", name, int(order.stays)),
            guardian.watched("end", process.pid, name, 0),
        ):
            try:
                late = _wait(
                    process,
                    folder,
                    began + patience,
                    processes,
                    stop,
                    look,
                )
                code = _exit_code(process, folder)
            finally:
                # All that it started too: it stands between two rounds of its loop,
                # where nothing is half written.
                guardian.end_all(process.pid, name)
                process.kill()
                process.wait()
                guardian.put_back(name, order.stays)

        answers = tuple(
            msgspec.convert(letter, ProcessAnswer) for letter in _letters(folder)
        )
        return TrialRun(
            answers=answers,
            code=code,
            seconds=time.monotonic() - began,
            tail=end_of(folder / "output", _TAIL_BYTES).strip(),
            late=late and not answers,
        )


def _started(
    command: Sequence[str],
    env: Mapping[str, str],
    output: Path,
) -> subprocess.Popen[bytes]:
    with output.open("wb") as out:
        try:
            return subprocess.Popen(
                searching_first(command, _OURS, HOOK),
                env=dict(env),
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        except OSError as error:
            raise UsageError(
                f"{command[0]} cannot be started: {error.strerror}."
            ) from error


def _environment(
    more: Mapping[str, str],
    folder: str,
) -> dict[str, str]:
    env = {**os.environ, **more}
    searched = [str(_OURS), str(HOOK)]
    if env.get("PYTHONPATH"):
        searched.append(env["PYTHONPATH"])
    env["PYTHONPATH"] = os.pathsep.join(searched)
    env[FOLDER] = folder
    env["TFADVISOR_TRY"] = "1"
    return env


def _wait(
    process: subprocess.Popen[bytes],
    folder: Path,
    until: float,
    processes: int | None,
    stop: StopRequest,
    look: Callable[[Path], None] | None,
) -> bool:
    """Whether it took too long."""
    patience = _UNKNOWN_OTHERS_SECONDS if processes is None else _OTHERS_SECONDS
    enough = float("inf") if processes is None else processes
    deadline = float("inf")
    while True:
        now = time.monotonic()
        answered = sum(map(_has_steps, _letters(folder)))
        if answered:
            deadline = min(deadline, now + patience)
        if answered >= enough or now > deadline or process.poll() is not None:
            return False
        if stop.came:
            raise Interrupted
        if look is not None:
            look(folder)
        if now > until:
            return True
        time.sleep(_POLL_SECONDS)


def _has_steps(letter: dict[str, object]) -> bool:
    """Whether it is about steps: a helper of the program, which makes none, may end
    before the program begins.
    """
    return bool(letter["loops"] or letter["sample"] or letter.get("turns"))


def _exit_code(
    process: subprocess.Popen[bytes],
    folder: Path,
) -> int | None:
    """As a shell has it, None where it has not ended by itself; a process that reported
    the end of its program is waited for.
    """
    if any(letter["ended"] for letter in _letters(folder)):
        with suppress(subprocess.TimeoutExpired):
            process.wait(_OTHERS_SECONDS)
    code = process.poll()
    return 128 - code if code is not None and code < 0 else code


def _letters(folder: Path) -> Iterator[dict[str, object]]:
    for file in sorted(folder.glob("answer-*.json")):
        letter = read_letter(str(file))
        if letter is not None:
            yield letter


def last_line(tail: str) -> str:
    """`: what it said last`, "" for nothing."""
    lines = []
    for line in tail.splitlines():
        if line.strip() and not line.startswith("tfadvisor: "):
            lines.append(line.strip())
    if not lines:
        return ""

    # JAX says more behind its error.
    errors = [message for message in lines if _ERROR.match(message)]
    last = (errors or lines)[-1]
    return f": {last[:_LONGEST_LINE]}"
