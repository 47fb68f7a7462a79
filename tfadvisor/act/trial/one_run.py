"""Starts the program, waits until its processes have answered, and ends it with all that it started."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType

import msgspec

from tfadvisor import guardian
from tfadvisor.act.record.injected.tfadvisor_hook.letters import read_letter
from tfadvisor.act.record.program import HOOK
from tfadvisor.act.trial import injected
from tfadvisor.act.trial.injected.tfadvisor_trial_hook import FOLDER
from tfadvisor.act.trial.steps import Answer, Order
from tfadvisor.errors import UsageError
from tfadvisor.files import temporary_folder

_OURS = Path(injected.__file__).parent
_POLL_SECONDS = 0.02
_OTHERS_SECONDS = 3.0
"""How long the other processes of a program may take once the first has answered."""
_UNKNOWN_OTHERS_SECONDS = 1.0
"""The same where it is not known whether there are others."""
_TAIL_BYTES = 4000


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


class Interrupted(Exception):
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
    command: Sequence[str], env: Mapping[str, str], order: Order, patience: float, processes: int | None, asked: Asked
) -> Run:
    """env: what is set besides what is set already. patience: seconds. processes: how many answers there will be, None where
    that is not known yet.

    Raises UsageError when the program cannot be started, Interrupted.
    """
    with temporary_folder("tfadvisor-try-") as folder, (Path(folder) / "output").open("wb") as output:
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
            raise UsageError(f"{command[0]} cannot be started: {error.strerror}.") from error
        with guardian.watched("end", process.pid, folder, 0):
            try:
                late = _wait(process, Path(folder), began + patience, processes, asked)
                code = _exit_code(process, Path(folder))
            finally:  # all that it started too: it stands between two rounds of its loop, where nothing is half written
                guardian.end_all(process.pid, folder)
                process.kill()
                process.wait()
        answers = tuple(msgspec.convert(one, Answer) for one in _letters(Path(folder)))
        return Run(answers, _as_a_shell(code), time.monotonic() - began, _tail(Path(output.name)), late and not answers)


def _environment(more: Mapping[str, str], folder: str) -> dict[str, str]:
    env = {**os.environ, **more}
    searched = [str(_OURS), str(HOOK), *([env["PYTHONPATH"]] if env.get("PYTHONPATH") else [])]
    return {**env, "PYTHONPATH": os.pathsep.join(searched), FOLDER: folder, "TFADVISOR_TRY": "1"}


def _wait(process: subprocess.Popen[bytes], folder: Path, until: float, processes: int | None, asked: Asked) -> bool:
    """Whether it took too long."""
    first: float | None = None
    patience = _UNKNOWN_OTHERS_SECONDS if processes is None else _OTHERS_SECONDS
    while True:
        now = time.monotonic()
        told = len(list(folder.glob("answer-*.json")))
        if told and first is None:
            first = now
        enough = processes is not None and told >= processes
        if enough or (first is not None and now - first > patience) or process.poll() is not None:
            return False
        if asked.end:
            raise Interrupted
        if now > until:
            return True
        time.sleep(_POLL_SECONDS)


def _exit_code(process: subprocess.Popen[bytes], folder: Path) -> int | None:
    """None where it has not ended by itself; a process that reported the end of its program is waited for."""
    if any(one["ended"] for one in _letters(folder)):
        with suppress(subprocess.TimeoutExpired):
            process.wait(_OTHERS_SECONDS)
    return process.poll()


def _letters(folder: Path) -> Iterator[dict[str, object]]:
    for file in sorted(folder.glob("answer-*.json")):
        letter = read_letter(str(file))
        if letter is not None:
            yield letter


def _as_a_shell(code: int | None) -> int | None:
    return 128 - code if code is not None and code < 0 else code


def _tail(file: Path) -> str:
    with file.open("rb") as raw:
        raw.seek(max(0, file.stat().st_size - _TAIL_BYTES))
        return raw.read().decode("utf-8", "replace").strip()
