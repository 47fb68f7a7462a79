"""One window: processes are asked to record, their traces become one run folder, and the run its report."""

from __future__ import annotations

import socket
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from tfadvisor.analysis import Options, analyze_run
from tfadvisor.errors import TraceError
from tfadvisor.machine.file import ENDING
from tfadvisor.record.board import Board, Process
from tfadvisor.record.gpus import GpuWatch
from tfadvisor.record.injected.tfadvisor_hook.letters import read_letter, write_letter
from tfadvisor.record.pace import Compiling, Pace, pace_of
from tfadvisor.report.model import Report
from tfadvisor.xplane.runs import choose_run

_POLL_SECONDS = 0.05
_LAST_WORDS_SECONDS = 5.0
_WRITING_SECONDS = 180.0


class Window(msgspec.Struct, frozen=True):
    """What was recorded at once. folder: one trace a process. pace: None where no step was found."""

    folder: Path
    python_tracer: bool
    opened: float
    """When the last process began to record, seconds since the epoch."""
    closed: float
    """When the first one ceased."""
    report: Report
    pace: Pace | None
    followed: int | None = None
    """How often Python called our own tracer, in the process that did most; None where the framework has one."""

    @property
    def bytes_a_second(self) -> float:
        """How much trace the program makes."""
        return sum(file.stat().st_size for file in self.folder.iterdir()) / self.seconds

    @property
    def seconds(self) -> float:
        """How long all of them recorded."""
        return self.closed - self.opened


class Refused(msgspec.Struct, frozen=True):
    """There is no trace, or nothing in it. why: what the first process said that did not record, None where all did."""

    why: str | None


def record_window(
    board: Board,
    processes: Sequence[Process],
    seconds: float,
    options: Options,
    *,
    python_tracer: bool,
    has_ended: Callable[[], bool],
) -> Window | Refused:
    """Records and reads. has_ended: whether the program is over, so that no more answers come."""
    with GpuWatch() as gpus:
        number = str(board.order_window(processes, seconds, python_tracer=python_tracer))
        answered = _answers(board, {one.name for one in processes}, number, seconds, has_ended)
    answers = {one.name: one.windows[number] for one in answered}
    errors = [answer["error"] for answer in answers.values() if "error" in answer]
    recorded = [one for one in answered if "file" in answers[one.name]]
    if not recorded:
        return Refused(errors[0] if errors else "the program ended before its trace was written")
    folder = board.folder / f"window-{number}"
    folder.mkdir()
    given = [answers[one.name] for one in recorded]
    opened, closed = max(one["opened"] for one in given), min(one["closed"] for one in given)
    here = {one.name for one in recorded if one.host == socket.gethostname()}
    for process, host in names_of(recorded).items():
        trace = board.folder / answers[process]["file"]
        trace.replace(folder / f"{host}.xplane.pb")
        _keep_counters(trace, folder / f"{host}{ENDING}", gpus.told(opened, closed) if process in here else [])
    followed = [one["followed"] for one in given if "followed" in one]
    most = max(given, key=lambda one: one["compiling"])
    compiling = Compiling(min(most["compiling"] / max(closed - opened, 1e-9), 1.0), most["compiled"])
    window = read_window(
        folder, options, python_tracer=python_tracer, opened=opened, closed=closed, compiling=compiling
    )
    return replace(window, followed=max(followed)) if followed and isinstance(window, Window) else window


def _keep_counters(trace: Path, target: Path, gpus: list[dict[str, Any]]) -> None:
    """What a process counted while it was recorded, beside its trace; nothing where it could not."""
    counted = read_letter(str(trace.with_name(trace.name.removesuffix(".xplane.pb") + ENDING)))
    if counted is not None:
        write_letter(str(target), {**counted, "gpus": gpus})


def read_window(
    folder: Path,
    options: Options,
    *,
    python_tracer: bool,
    opened: float,
    closed: float,
    compiling: Compiling | None = None,
) -> Window | Refused:
    """Of traces that lie in a folder. opened, closed: seconds since the epoch."""
    try:
        report = analyze_run(choose_run([folder])[0], options)
    except TraceError:
        return Refused(None)
    return Window(folder, python_tracer, opened, closed, report, pace_of(report, compiling))


def names_of(processes: Sequence[Process]) -> dict[str, str]:
    """What each process's trace is called: its host, numbered by process where several share it."""
    sharing = Counter(one.host for one in processes)
    numbers: Counter[str] = Counter()
    names = {}
    for process in sorted(processes, key=lambda one: (one.host, one.pid)):
        names[process.name] = f"{process.host}-{numbers[process.host]}" if sharing[process.host] > 1 else process.host
        numbers[process.host] += 1
    return names


def _answers(
    board: Board, asked: set[str], number: str, seconds: float, has_ended: Callable[[], bool]
) -> list[Process]:
    """Those of the asked that answered in time."""
    patience = time.monotonic() + seconds + _WRITING_SECONDS
    ended = False
    while True:
        told = [one for one in board.processes() if one.name in asked]
        if all(number in one.windows or one.left or one.error for one in told) or time.monotonic() > patience:
            return [one for one in told if number in one.windows]
        if has_ended() and not ended:
            ended, patience = True, time.monotonic() + _LAST_WORDS_SECONDS
        time.sleep(_POLL_SECONDS)
