"""The program that `tfadvisor run` starts: its environment, its process, and whatever
it starts itself.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import FrameType
from typing import IO

import msgspec

from tfadvisor.act.record import injected
from tfadvisor.act.record.injected.tfadvisor_hook import FOLDER
from tfadvisor.errors import UsageError

GRACE_SECONDS = 15.0
"""How long a program that is asked to end has for it."""


class Launch(msgspec.Struct, frozen=True):
    """Where and how a program runs. What is None is this process's own."""

    folder: Path | None = None
    environment: Mapping[str, str] | None = None
    log: IO[bytes] | None = None
    """What the program prints; it reads nothing then."""
    seconds: float | None = None
    """How long it may run before it is ended."""


HERE = Launch()


class StartedProgram:
    """A running program. It reads and writes what this process reads and writes;
    interrupts are passed on to it.
    """

    def __init__(
        self,
        command: Sequence[str],
        environment: Mapping[str, str],
        launch: Launch = HERE,
    ) -> None:
        """Starts it. Raises UsageError when there is no such program."""
        self.command = command
        self.interrupted = False
        self.overdue = False
        self._alone = launch.log is not None
        self._before = signal.signal(signal.SIGINT, self._pass_on)
        try:
            self._process = subprocess.Popen(
                searching_first(command, HOOK),
                env=dict(environment),
                cwd=launch.folder,
                stdin=subprocess.DEVNULL if self._alone else None,
                stdout=launch.log,
                stderr=launch.log,
                start_new_session=self._alone,
            )
        except OSError as error:
            signal.signal(signal.SIGINT, self._before)
            raise UsageError(
                f"{command[0]} cannot be started: {error.strerror}."
            ) from error

        self.pid = self._process.pid
        self._timer = self._started_timer(launch.seconds)

    def _started_timer(self, seconds: float | None) -> threading.Timer | None:
        if seconds is None:
            return None
        timer = threading.Timer(seconds, self._end_late)
        timer.daemon = True
        timer.start()
        return timer

    def ended(self) -> int | None:
        """Its exit code, None while it runs; as a shell counts, 128 and the signal's
        number when one has ended it.
        """
        code = self._process.poll()
        return 128 - code if code is not None and code < 0 else code

    def wait(self, seconds: float | None = None) -> int | None:
        """As ended, after so long at most."""
        try:
            self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            return None
        return self.ended()

    def stop(self) -> None:
        """Asks it to end, and after a while makes it."""
        if self.ended() is None:
            self._process.terminate()
            if self.wait(GRACE_SECONDS) is None:
                self._process.kill()
                self._process.wait()

    def forget(self) -> None:
        """Interrupts are this process's own again."""
        if self._timer is not None:
            self._timer.cancel()
        signal.signal(signal.SIGINT, self._before)

    def _end_late(self) -> None:
        self.overdue = True
        self._process.terminate()

    def _pass_on(
        self,
        number: int,
        _frame: FrameType | None,
    ) -> None:
        self.interrupted = True
        reached = not self._alone and _is_in_foreground()
        if not reached and self.ended() is None:
            self._process.send_signal(number)


def _is_in_foreground() -> bool:
    """Whether Ctrl-C reaches the program without our help, as it does where both are in
    a terminal's foreground.
    """
    try:
        return os.tcgetpgrp(sys.stdin.fileno()) == os.getpgrp()
    except (OSError, ValueError, AttributeError):
        return False


# The environment in which a program, and whatever it starts, loads the hook.


HOOK = Path(injected.__file__).parent
"""Holds the `sitecustomize` that starts this hook, and that of `tfadvisor try` where it
is on the path too.
"""


def with_hook(
    environment: Mapping[str, str],
    folder: Path,
) -> dict[str, str]:
    """The same, with the hook first on PYTHONPATH. folder: where orders and answers
    lie.
    """
    searched = environment.get("PYTHONPATH")
    path = f"{HOOK}{os.pathsep}{searched}" if searched else str(HOOK)
    return {**environment, "PYTHONPATH": path, FOLDER: str(folder)}


def searching_first(command: Sequence[str], *folders: Path) -> list[str]:
    """The same, with these folders first on the PYTHONPATH that its own `env` sets, as
    in `env PYTHONPATH=. python train.py`.
    """
    words = list(command)
    if Path(words[0]).name != "env":
        return words
    for index, word in enumerate(words[1:], 1):
        if "=" not in word and not word.startswith("-"):
            break
        name, _, searched = word.partition("=")
        if name == "PYTHONPATH":
            path = os.pathsep.join((*map(str, folders), searched))
            words[index] = f"{name}={path}"
    return words
