"""Why a program was not recorded, in words."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from tfadvisor.act.record.board import Process
from tfadvisor.act.record.started_program import StartedProgram
from tfadvisor.errors import TraceError
from tfadvisor.report.watched import WatchedWords

_SIGNALS = 128
"""Exit codes above are those of signals."""
_HARMED = (
    "Run it without tfadvisor: if it does not end so then, being recorded ended it, "
    "which is a bug to report."
)


class Nothing(msgspec.Struct, frozen=True):
    """There is no recording. why: the last thing that stood in its way, None where
    nothing did.
    """

    processes: list[Process]
    why: str | None
    gave_up: bool = False
    """The program's loop goes on, and no steps were found in it for too long."""
    inside: str = ""
    """As of a recording."""
    failed: bool = False
    """The profiler did, so that the program may not be what it would be without."""
    went: WatchedWords | None = None
    """Where its time went; None for unknown."""

    @property
    def most(self) -> str:
        """What took most of the time; "" for nothing, or unknown."""
        return self.went.most if self.went else ""

    @property
    def lines(self) -> tuple[str, ...]:
        """A report on the time."""
        return self.went.lines if self.went else ()

    @property
    def refusal(self) -> str:
        """What stood in its way, or what the first process with an error said; "" for
        nothing.
        """
        errors = [process.error for process in self.processes if process.error]
        return self.why or next(iter(errors), "")


class _Ended(msgspec.Struct, frozen=True):
    """A program that was not recorded."""

    found: Nothing
    code: int
    """How it ended; 0 as well while it runs."""
    head: str
    """That it ended, and when."""
    seconds: float
    overdue: bool
    """Its time was over first."""


def why_nothing(
    command: Sequence[str],
    found: Nothing,
    program: StartedProgram,
    seconds: float,
) -> BaseException:
    """What is printed for a program that ended without a recording."""
    if program.interrupted:
        return KeyboardInterrupt()

    code = program.ended()
    head = f"{_end_words(code)} after {seconds:.1f} s"
    ended = _Ended(
        found,
        code or 0,
        head,
        seconds,
        program.overdue,
    )
    reasons = [words for applies, words in _REASONS if applies(ended)]
    cause, remedy = reasons[0](ended)
    return TraceError(" ".join(command), cause, remedy)


def never_stepped(found: Nothing, program: StartedProgram) -> bool:
    """Whether nothing else stood in the way of a recording than that no steps came."""
    is_whole = not (program.interrupted or program.overdue or program.ended())
    return is_whole and bool(found.processes) and not found.refusal


_AT_ONCE_SECONDS = 2.0
"""A program that fails so soon was mistyped, or misses what it imports."""


def _end_words(code: int | None) -> str:
    if code is None:
        return "runs on"
    return f"ended with exit code {code}" if code else "ended"


def _overdue(ended: _Ended) -> tuple[str, str]:
    return (
        f"had no steps that could be recorded within {ended.seconds:.0f} s, and was "
        "ended.",
        "Let it come to its steps sooner, or give it longer.",
    )


def _no_framework(ended: _Ended) -> tuple[str, str]:
    if ended.code and ended.seconds < _AT_ONCE_SECONDS:
        return (
            f"{ended.head}, and was not seen to import TensorFlow or JAX.",
            "What it says itself stands above.",
        )
    return (
        f"{ended.head}, and no process of it had imported TensorFlow or JAX.",
        "Python started with -I, -E or -S keeps the recorder out, and so does a "
        "container; a script that sets PYTHONPATH anew must keep what it held: "
        "PYTHONPATH=.:$PYTHONPATH.",
    )


def _refused(ended: _Ended) -> tuple[str, str]:
    remedy = "The program was not disturbed."
    if ended.code > _SIGNALS or ended.found.failed:
        remedy = _HARMED
    return f"{ended.head}, and could not be recorded: {ended.found.refusal}.", remedy


def _failed(ended: _Ended) -> tuple[str, str]:
    return (
        f"{ended.head}, before its steps could be recorded.",
        "What it says itself stands above.",
    )


def _never_stepped(ended: _Ended) -> tuple[str, str]:
    compiled = sum(process.compiled for process in ended.found.processes)
    known = filter(None, (f"{compiled:,} compilations", ended.found.most))
    return (
        f"{ended.head} and never came to steps that repeat ({'; '.join(known)}).",
        "Let it run for longer, say when with --after SECONDS, or record the block "
        "with tfadvisor.profile().",
    )


_Applies = Callable[[_Ended], bool]
_Words = Callable[[_Ended], tuple[str, str]]
_REASONS: Sequence[tuple[_Applies, _Words]] = (
    (lambda ended: ended.overdue, _overdue),
    (lambda ended: not ended.found.processes, _no_framework),
    (lambda ended: bool(ended.found.refusal), _refused),
    (lambda ended: bool(ended.code), _failed),
    (lambda _ended: True, _never_stepped),
)
"""Of these the first that applies, with its cause and remedy."""


def gave_up(
    command: Sequence[str],
    found: Nothing,
    seconds: float,
) -> TraceError:
    """A program that goes on, in which no steps were found."""
    name = " ".join(command)
    if found.failed:
        return TraceError(name, f"could not be recorded: {found.refusal}.", _HARMED)
    compiles = found.went is not None and found.went.compiles
    if found.inside and not compiles:
        return TraceError(
            name,
            f"nothing that repeats was found in {seconds:.0f} s: it is in one call, "
            f"{found.inside}, and goes on unrecorded.",
            "Let that call do fewer steps, and call it in a loop: a compiled loop "
            "has no steps that a trace can tell.",
        )

    why = f" ({found.why})" if found.why else ""
    most = f": {found.most}" if found.most else ""
    cause = (
        f"no steps that repeat were found in {seconds:.0f} s{why}{most}; it goes on "
        "unrecorded."
    )
    if compiles:
        return TraceError(
            name,
            cause,
            "Its steps can be recorded once it has compiled: --after SECONDS.",
        )
    return TraceError(
        name,
        cause,
        "Say when its loop runs with --after SECONDS, or ask for fewer steps with "
        "--steps 2. Without a recording "
        "`tfadvisor try --ablate` measures what its parts cost.",
    )
