"""py-spy, which reads Python's stacks out of the memory of another process: how it is
started, and what it has written.
"""

from __future__ import annotations

import re
import shutil
import sysconfig
from collections.abc import Iterator, Sequence
from itertools import takewhile
from pathlib import Path

import msgspec

from tfadvisor.tallies import listed
from tfadvisor.trace.samples import DEEPEST, Frame, SampledThread

_MOST_BYTES = 256 << 20
"""Of a file of py-spy's; 15 s of imports make 4 MB."""
_LONGEST = 500
_OURS = ("/act/record/injected/", "/act/trial/injected/")
"""In the names of files that tfadvisor puts on the program's path."""
_PROCESS = re.compile(r'process (\d+):"(.*)"')
_THREAD = re.compile(r"thread \((\w+)\)(?:: (.*))?")
_ERRORS = re.compile(r"Errors: (\d+)")


class Stay(msgspec.Struct, frozen=True):
    """A thread's stack stays the same, outermost frame first. In us."""

    since: int
    until: int
    stack: tuple[Frame, ...]


class WatchedThread(msgspec.Struct, frozen=True):
    """What was seen of a thread."""

    pid: int
    number: str
    """Of the system."""
    parents: tuple[int, ...]
    """Processes from which its own descends."""
    thread: SampledThread
    stays: tuple[Stay, ...]


class NoPySpy(Exception):
    """It is not installed."""


def py_spy_command(pid: int, out: Path, rate: int, seconds: int) -> list[str]:
    """Watches a process and all below it, without a pause of any. rate: in Hz. Raises
    NoPySpy.
    """
    beside_python = sysconfig.get_path("scripts")
    program = shutil.which("py-spy", path=beside_python) or shutil.which("py-spy")
    if program is None:
        raise NoPySpy
    settings = f"--rate {rate} --duration {seconds} --pid {pid} --format chrometrace"
    how = "--nonblocking --idle --threads --subprocesses --full-filenames"
    return [program, "record", *settings.split(), *how.split(), "--output", str(out)]


def errors_in(words: str) -> int:
    """How many samples it could not read, by what it says at its end."""
    found = _ERRORS.search(words)
    return int(found.group(1)) if found else 0


def why_not(words: str) -> str:
    """Why it saw nothing, by what it says; "" where the program was only not there yet,
    or not any more.
    """
    lower = words.lower()
    if "permission denied" in lower or "operation not permitted" in lower:
        return "the system lets no process read another's memory: ptrace is not allowed"
    if "requires root" in lower or "run as root" in lower:
        return "this system wants root for it"
    return ""


class _Place(msgspec.Struct):
    filename: str = ""
    line: int = 0


class _Event(msgspec.Struct):
    """Where a frame, a thread or a process begins or ends on a stack."""

    name: str
    ph: str
    pid: int
    tid: int
    ts: int
    args: _Place


def read_stays(file: Path) -> list[WatchedThread]:
    """What py-spy has written. Raises OSError, msgspec.DecodeError."""
    if file.stat().st_size > _MOST_BYTES:
        raise OSError(f"{file} is larger than {_MOST_BYTES:,} bytes")
    events = msgspec.json.decode(file.read_bytes(), type=list[_Event])
    by_thread = listed(((event.pid, event.tid), event) for event in events)
    found = (_watched(pid, mine) for (pid, _), mine in by_thread.items())
    return [watched for watched in found if watched is not None]


def _watched(pid: int, events: Sequence[_Event]) -> WatchedThread | None:
    """None for a thread of tfadvisor's own, and for what is no thread."""
    named = _Names(pid, [event.name for event in events if not event.args.filename])
    is_ours = any(_is_ours(event.args.filename) for event in events)
    if not named.number or (is_ours and not named.is_main):
        return None
    return WatchedThread(
        pid=pid,
        number=named.number,
        parents=tuple(named.commands),
        thread=SampledThread(named.thread, named.is_main, named.process),
        stays=tuple(_stays(events)),
    )


class _Names:
    """What py-spy shows above all frames of a thread."""

    def __init__(self, pid: int, names: Sequence[str]) -> None:
        processes = filter(None, map(_PROCESS.fullmatch, names))
        self.commands = {int(process[1]): process[2] for process in processes}
        """By process, from the outermost on."""
        command = self.commands.get(pid, "").partition(" ")[0]
        self.process = f"{pid} {Path(command).name}"[:_LONGEST]
        self.number, self.thread = "", ""
        for thread in filter(None, map(_THREAD.fullmatch, names)):
            # The first may be from before it had a name.
            self.number, self.thread = thread[1], (thread[2] or "")[:_LONGEST]
        self.is_main = self.number == str(pid)
        if self.is_main:
            self.thread = self.thread or "MainThread"


def _stays(events: Sequence[_Event]) -> Iterator[Stay]:
    """events: of one thread."""
    stack: list[Frame | None] = []
    since = 0
    for event in events:
        if event.ts != since and stack:
            yield Stay(since, event.ts, _shown(stack))
        since = event.ts
        if event.ph == "B":
            stack.append(_frame(event))
        elif stack:
            stack.pop()


def _is_ours(file: str) -> bool:
    return any(part in file for part in _OURS)


def _frame(event: _Event) -> Frame | None:
    """None for what is shown above all frames, and for Python's own imports: each
    module would make a stack of its own.
    """
    file = event.args.filename
    if not file or file.startswith("<frozen importlib"):
        return None
    function = event.name.rpartition(".")[2]
    return file[:_LONGEST], function[:_LONGEST], max(event.args.line, 0)


def _shown(stack: Sequence[Frame | None]) -> tuple[Frame, ...]:
    """Up to where tfadvisor itself begins."""
    there = (frame for frame in stack if frame is not None)
    frames = tuple(takewhile(lambda frame: not _is_ours(frame[0]), there))
    if len(frames) <= DEEPEST:
        return frames
    half = DEEPEST // 2
    return *frames[:half], *frames[-half:]
