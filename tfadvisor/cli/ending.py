"""How a signal ends the command: what it was writing is removed, one line is said, and
the exit code is the signal's.

It imports nothing that takes a millisecond, so that signals are heeded almost from the
first line that is ours.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal
    from collections.abc import Callable
    from types import FrameType
    from typing import Any, NoReturn
else:
    # built in: `signal` makes enumerations of it first, for some milliseconds
    import _signal as signal

EXIT_INTERRUPTED, EXIT_TERMINATED = 130, 143
_WORDS = {
    EXIT_INTERRUPTED: "interrupted",
    EXIT_TERMINATED: "terminated",
    129: "its terminal was closed",
    131: "quit",
}
_NUMBERS = tuple(
    getattr(signal, name)
    for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT")
    if hasattr(signal, name)
)
EXIT_LATE = 3
_AGAIN_S = 0.5
"""After this long the exception is raised again: code between us and it may have
swallowed the first one.
"""


class Ended(BaseException):
    """The process was asked to end. What it was writing is removed on the way out."""


class _State:
    code: int | None = None
    """What the first signal asks for."""
    guarded = False
    """Whether Ended is caught."""
    late = ""
    """What is said where the alarm comes before any signal."""


def heed_signals() -> None:
    """From now on signals end the process: at once, or by Ended in the main thread
    inside `in_order`. One that is ignored, as SIGHUP is under nohup, stays so.
    """
    for number in _NUMBERS:
        if (
            number in (signal.SIGINT, signal.SIGTERM)
            or signal.getsignal(number) is not signal.SIG_IGN
        ):
            signal.signal(number, _end)
    if hasattr(signal, "SIGALRM"):
        signal.signal(signal.SIGALRM, _again)
    sys.unraisablehook = _unraisable


def in_order(work: Callable[[], int]) -> int:
    """What `work` returns. Inside, a signal raises Ended, which goes no further than
    this.
    """
    code = 0
    try:
        _State.guarded = True
        try:
            code = work()
        finally:
            _State.guarded = False
    except Ended:
        _State.guarded = False
    return code


def alarm(seconds: float, words: str) -> None:
    """After so long this process ends with code 3 and these words; 0: it does not. Only
    where signals are heeded.
    """
    if (
        hasattr(signal, "setitimer")
        and signal.getsignal(signal.SIGALRM) is _again
        and _State.code is None
    ):
        _State.late = words
        signal.setitimer(signal.ITIMER_REAL, seconds)


def asked_to_end() -> bool:
    """Whether a signal came."""
    return _State.code is not None


def leave(code: int) -> NoReturn:
    """Ends the process without the interpreter's clean-up; what is buffered was written
    before. A signal's code wins.
    """
    for number in (*_NUMBERS, getattr(signal, "SIGALRM", signal.SIGTERM)):
        signal.signal(number, signal.SIG_IGN)
    if _State.code is not None:
        files = sys.modules.get(
            "tfadvisor.files"
        )  # not imported now: what it needs may be half imported itself
        if files is not None and hasattr(files, "remove_unfinished"):
            files.remove_unfinished()
        code = _State.code
        try:  # noqa: SIM105
            os.write(2, f"tfadvisor: {_WORDS.get(code, _State.late)}\n".encode())
        except OSError:
            pass  # nobody listens
    os._exit(code)


def _end(number: int, frame: FrameType | None) -> None:
    if _State.code is None:
        _State.code = 128 + number
    _again(number, frame)


def _again(_number: int, _frame: FrameType | None) -> None:
    if _State.code is None:
        _State.code = EXIT_LATE
    if not _State.guarded:
        leave(0)
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_REAL, _AGAIN_S)
    raise Ended


def _unraisable(unraisable: Any) -> None:
    """Says nothing where Ended cannot go on: it is raised again."""
    if not isinstance(unraisable.exc_value, Ended):
        sys.__unraisablehook__(unraisable)
