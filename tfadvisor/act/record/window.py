"""One window of recording: asked for, waited for until the program has settled, kept as
a run folder.
"""

from __future__ import annotations

import os
import re
import socket
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from tfadvisor.act.record.gpus import GpuWatch
from tfadvisor.act.record.injected.tfadvisor_hook.letters import (
    read_letter,
    write_letter,
)
from tfadvisor.analysis import Options, analyze_run
from tfadvisor.errors import TraceError
from tfadvisor.report.model import Report
from tfadvisor.timeline.model import Steps
from tfadvisor.trace.columns import Selection
from tfadvisor.trace.counters import ENDING
from tfadvisor.trace.decode import decode_file
from tfadvisor.trace.runs import choose_run
from tfadvisor.trace.samples import SAMPLES_ENDING

_POLL_SECONDS = 0.05
_LAST_WORDS_SECONDS = 5.0
_ROUNDS_SECONDS = 3.0
SAMPLED_SECONDS = 10.0
"""Without the profiler, before the window and after it."""


class Window(msgspec.Struct, frozen=True):
    """What was recorded at once. folder: one trace a process. pace: None where no step
    was found.
    """

    folder: Path
    python_tracer: bool
    opened: float
    """When the last process began to record, seconds since the epoch."""
    closed: float
    """When the first one ceased."""
    report: Report
    pace: Pace | None
    events: int = 0
    """In its traces."""
    stopping: float = 0.0
    """Seconds that the profiler took to stop, in the process where it took longest."""
    cut: bool = False
    """Whether it was closed early, because memory grew."""
    loop: Loop | None = None
    """What went round while it was open, where that was counted."""
    followed: int | None = None
    """How often Python called our own tracer, in the process that did most; None where
    the framework has one.
    """

    @property
    def bytes_a_second(self) -> float:
        """How much trace the program makes."""
        return sum(file.stat().st_size for file in self.folder.iterdir()) / self.seconds

    @property
    def seconds(self) -> float:
        """How long all of them recorded."""
        return self.closed - self.opened


class Loop(msgspec.Struct, frozen=True):
    """A loop of a process's main thread, as Python went through it."""

    file: str
    line: int
    """In the loop, or where the program calls the library that loops."""
    function: str
    within: str
    """The library's function that loops, "" where the program does itself."""
    prepares: bool
    """It adapts a layer to the data, as Keras does before training."""
    median_ms: float
    """Of a round, no less than it takes unwatched."""
    lines: tuple[int, int] = (0, 0)
    """The first and the last that came again and again."""

    def is_of(self, other: Loop) -> bool:
        """Whether both are turns of the same loop."""
        same = (self.file, self.function, self.within) == (
            other.file,
            other.function,
            other.within,
        )
        return (
            same and self.lines[0] <= other.lines[1] and other.lines[0] <= self.lines[1]
        )

    @property
    def place(self) -> str:
        """For people."""
        called = f", in {self.within}()" if self.within else ""
        return f"{Path(self.file).name}:{self.line}{called}"


class Refused(msgspec.Struct, frozen=True):
    """There is no trace, or nothing in it. why: what the first process said that did
    not record, None where all did.
    """

    why: str | None


def record_window(
    board: Board,
    processes: Sequence[Process],
    seconds: float,
    options: Options,
    *,
    python_tracer: bool,
    has_ended: Callable[[], bool],
    rounds: bool = False,
    writing: float = 45.0,
) -> Window | Refused:
    """Records and reads. has_ended: whether the program is over, so that no more
    answers come. rounds: those of the loop are counted meanwhile. writing: s, how long
    the profiler may take to stop."""
    with GpuWatch() as gpus:
        number = str(
            board.order(processes, seconds, python_tracer=python_tracer, rounds=rounds)
        )
        answered = _answers(
            board, {one.name for one in processes}, number, seconds, has_ended, writing
        )
    answers = {one.name: one.windows[number] for one in answered}
    errors = [answer["error"] for answer in answers.values() if "error" in answer]
    recorded = [one for one in answered if "file" in answers[one.name]]
    if not recorded:
        names = {one.name for one in processes}
        left = all(one.left for one in board.processes() if one.name in names)
        late = (
            f"the profiler had not written its trace {writing:.0f} s after its "
            f"{seconds:.2g} s were over"
        )
        return Refused(
            errors[0]
            if errors
            else "the program ended before its trace was written"
            if left or has_ended()
            else late
        )
    folder = board.folder / f"window-{number}"
    folder.mkdir()
    given = [answers[one.name] for one in recorded]
    opened, closed = (
        max(one["opened"] for one in given),
        min(one["closed"] for one in given),
    )
    here = {one.name for one in recorded if one.host == socket.gethostname()}
    for process, host in names_of(recorded).items():
        trace = board.folder / answers[process]["file"]
        trace.replace(folder / f"{host}.xplane.pb")
        _keep_counters(
            trace, folder / f"{host}{ENDING}", gpus.found if process in here else []
        )
        samples = trace.with_name(
            trace.name.removesuffix(".xplane.pb") + SAMPLES_ENDING
        )
        if samples.exists():
            samples.replace(folder / f"{host}{SAMPLES_ENDING}")
    followed = [one["followed"] for one in given if "followed" in one]
    most = max(given, key=lambda one: one["compiling"])
    compiling = Compiling(
        min(most["compiling"] / max(closed - opened, 1e-9), 1.0), most["compiled"]
    )
    window = read_window(
        folder,
        options,
        python_tracer=python_tracer,
        opened=opened,
        closed=closed,
        compiling=compiling,
    )
    if isinstance(window, Refused):
        return window
    loops = [loop_of(one) for one in given]
    return replace(
        window,
        followed=max(followed, default=None),
        events=sum(
            len(decode_file(file, Selection()).events)
            for file in folder.glob("*.xplane.pb")
        ),
        stopping=max(one["stopped"] - one["closed"] for one in given),
        cut=any(one.get("cut") for one in given),
        loop=next((one for one in loops if one is not None), None),
    )


def loop_of(answer: dict[str, Any]) -> Loop | None:
    """In a process's answer; None where none was counted."""
    return msgspec.convert(answer["loop"], Loop) if answer.get("loop") else None


def count_rounds(
    board: Board,
    processes: Sequence[Process],
    seconds: float,
    over: Callable[[], bool],
    window: Path | None = None,
) -> Loop | None:
    """The loop of the first process that is in one, while nothing is recorded. seconds:
    at most. over: whether the program is. window: a folder whose samples go on until
    they cover SAMPLED_SECONDS."""
    sampled = 0.0 if window is None else SAMPLED_SECONDS
    number = str(
        board.order(processes, seconds, only_rounds=True, sampled_seconds=sampled)
    )
    asked = {one.name for one in processes}
    answered = _answers(
        board, asked, number, seconds + sampled, over, writing=_ROUNDS_SECONDS
    )
    for name, host in names_of(processes).items():
        target = (window or Path()) / f"{host}{SAMPLES_ENDING}"
        if (
            samples := board.folder / f"rounds-{number}-{name}{SAMPLES_ENDING}"
        ).exists() and target.exists():
            go_on(target, samples)
    told = [one.windows[number].get("inside") for one in answered]
    board.inside = f"{Path(told[0][0]).name}:{told[0][1]}" if told and told[0] else ""
    return next(
        (
            found
            for one in answered
            if (found := loop_of(one.windows[number])) is not None
        ),
        None,
    )


def go_on(samples: Path, longer: Path) -> None:
    """A window's samples went on after it, by when another may have been recorded: what
    is of the window alone stays.
    """
    before, after = read_letter(str(samples)), read_letter(str(longer))
    if before is not None and after is not None:
        write_letter(
            str(samples),
            {**after, **{name: before[name] for name in ("opened_ns", "rounds_ns")}},
        )


def _keep_counters(trace: Path, target: Path, gpus: list[dict[str, Any]]) -> None:
    """What a process counted while it was recorded, beside its trace; nothing where it
    could not.
    """
    counted = read_letter(
        str(trace.with_name(trace.name.removesuffix(".xplane.pb") + ENDING))
    )
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
    return Window(
        folder, python_tracer, opened, closed, report, pace_of(report, compiling)
    )


def names_of(processes: Sequence[Process]) -> dict[str, str]:
    """What each process's trace is called: its host, numbered by process where several
    share it.
    """
    sharing = Counter(one.host for one in processes)
    numbers: Counter[str] = Counter()
    names = {}
    for process in sorted(processes, key=lambda one: (one.host, one.pid)):
        names[process.name] = (
            f"{process.host}-{numbers[process.host]}"
            if sharing[process.host] > 1
            else process.host
        )
        numbers[process.host] += 1
    return names


def _answers(
    board: Board,
    asked: set[str],
    number: str,
    seconds: float,
    has_ended: Callable[[], bool],
    writing: float,
) -> list[Process]:
    """Those of the asked that answered in time."""
    patience = time.monotonic() + seconds + writing
    ended = False
    while True:
        told = [one for one in board.processes() if one.name in asked]
        if (
            all(number in one.windows or one.left or one.error for one in told)
            or time.monotonic() > patience
        ):
            return [one for one in told if number in one.windows]
        if has_ended() and not ended:
            ended, patience = True, time.monotonic() + _LAST_WORDS_SECONDS
        time.sleep(_POLL_SECONDS)


# When a program has stopped compiling, so that what follows may be its steps.

_EAGER_AFTER_SECONDS = 10.0
PATIENCE_SECONDS = 10.0
_RESTLESS = 4
"""With so many compilations in that time, or a longer one, they look like those of the
steps.
"""
_TOLD = 6
"""Of these, what a window should hold."""


class Ready(msgspec.Struct, frozen=True):
    """Processes that may be training.

    seconds: 0 where they have settled; else they compile again and again, and that long
    a window holds several of these.
    """

    processes: Sequence[Process]
    seconds: float = 0.0

    @property
    def restless(self) -> bool:
        """Whether nothing but compiling was seen."""
        return self.seconds > 0


def may_train(processes: Sequence[Process], now: float) -> list[Process]:
    """Those that have compiled, or have had TensorFlow for long, which can do without.
    now: as their times.
    """

    def had_for_long(process: Process) -> bool:
        tensorflow = process.frameworks.get("tensorflow")
        return (
            tensorflow is not None
            and not process.forked
            and now - tensorflow.ready >= _EAGER_AFTER_SECONDS
        )

    return [
        one
        for one in processes
        if not (one.left or one.error) and (one.compiled or had_for_long(one))
    ]


def settled(
    processes: Sequence[Process], quiet_seconds: float, now: float
) -> list[Process]:
    """The processes that may be training, once none of them has compiled for so long;
    none before. now: as their times.
    """
    training = may_train(processes, now)
    compiled = [
        process.last_compiled
        for process in training
        if process.last_compiled is not None
    ]
    return training if now - max(compiled, default=0.0) >= quiet_seconds else []


class Patience:
    """Waits for processes to settle, and not for ever for those whose every step
    compiles.
    """

    def __init__(self, quiet_seconds: float, seconds: float = PATIENCE_SECONDS) -> None:
        """quiet_seconds: as of settled. seconds: how long it waits at least for what
        compiles all the time.
        """
        self._quiet = quiet_seconds
        self._seconds = seconds
        self._since: float | None = None
        self._before: dict[str, int] = {}

    def ready(self, processes: Sequence[Process], now: float) -> Ready | None:
        """None as long as it waits. To be asked again and again, with later times."""
        if found := settled(processes, self._quiet, now):
            return Ready(found)
        training = may_train(processes, now)
        if not training:
            return None
        if self._since is None:
            self._since = now
        more = max(
            one.compiled - self._before.setdefault(one.name, one.compiled)
            for one in training
        )
        waited = now - self._since
        return (
            Ready(training, waited * _TOLD / more)
            if waited >= self._seconds and more >= _RESTLESS
            else None
        )


# The folder through which `tfadvisor run` and the processes that it records speak.


class Framework(msgspec.Struct, frozen=True):
    """What a process has imported."""

    version: str
    ready: float
    """When its import was over, seconds since the epoch."""


class Process(msgspec.Struct, frozen=True):
    """What a process last reported about itself."""

    name: str
    pid: int
    """Its number on its host."""
    host: str
    forked: bool
    """It began as a copy of one that had a framework already."""
    frameworks: dict[str, Framework]
    compiled: int
    """How often it has traced or compiled."""
    last_compiled: float | None
    """Seconds since the epoch."""
    windows: dict[str, dict[str, Any]]
    """By the order's number: the file, or the error, and times in seconds since the
    epoch.
    """
    left: bool
    """It has ended, and reported that."""
    error: str | None = None


class Board:
    """Orders of the parent, answers of the processes."""

    def __init__(self, folder: Path) -> None:
        """folder: exists, and belongs to this run alone."""
        self.folder = folder
        self.number = 0
        self.step = ""
        """What the report shall take for the step, "" for what it finds."""
        self.inside = ""
        """The line of a call in which the first process was all the time that its
        rounds were last counted.
        """
        self._seen: dict[Path, tuple[int, Process]] = {}
        write_letter(
            str(folder / "parent.json"),
            {"pid": os.getpid(), "host": socket.gethostname()},
        )

    def processes(self) -> list[Process]:
        """Every process that has imported a framework, in the order of their names."""
        for file in sorted(self.folder.glob("process-*.json")):
            changed = file.stat().st_mtime_ns
            if (
                self._seen.get(file, (0, None))[0] != changed
                and (letter := read_letter(str(file))) is not None
            ):
                self._seen[file] = changed, msgspec.convert(letter, Process)
        return [process for _, process in self._seen.values()]

    def order(self, processes: Sequence[Process], seconds: float, **more: Any) -> int:
        """Asks processes to record, all for as long, or only how long a round of their
        loop takes. Returns the order's number.
        """
        self.number += 1
        names = [process.name for process in processes]
        self._order(
            number=self.number, processes=names, seconds=seconds, step=self.step, **more
        )
        return self.number

    def order_end(self, *, stop: bool) -> None:
        """Nothing more is recorded. stop: the processes end too."""
        self._order(end="stop" if stop else "continue")

    def _order(self, **order: Any) -> None:
        write_letter(str(self.folder / "order.json"), order)


# What a recorded window says about the program's steps.

_COMPILES = 0.05
_MOST = 0.5
_FEWEST = 3
_ALIKE = 1.5
"""Steps of one loop whose lengths differ by no more than this factor."""


class Compiling(msgspec.Struct, frozen=True):
    """What the process that compiled most reported about a window."""

    share: float = 0.0
    """Of the window, 0 to 1."""
    count: int = 0
    """How many ended, without those inside of others."""


class Pace(msgspec.Struct, frozen=True):
    """The steps of a window."""

    count: int
    median_ms: float
    """Of a step."""
    compiles: bool
    """Whether the program still compiles in its steps."""
    told: bool = True
    """Whether the process reported that: else it may be tracing a single program, in
    which something repeats.
    """
    about: str = ""
    """How the steps were detected."""

    @property
    def steady(self) -> bool:
        """Whether there is a rhythm of steps that do not compile."""
        return self.repeats and not self.compiles

    @property
    def repeats(self) -> bool:
        """Whether there is a rhythm, though each step may compile."""
        return self.count >= _FEWEST and self.told

    def resembles(self, other: Pace) -> bool:
        """Whether they can be steps of one loop."""
        longer, shorter = (
            max(self.median_ms, other.median_ms),
            min(self.median_ms, other.median_ms),
        )
        return (
            _unnumbered(self.about) == _unnumbered(other.about)
            and longer <= _ALIKE * shorter
        )


def _unnumbered(about: str) -> str:
    """A program that is compiled anew may have a number, and a sequence one dispatch
    more; how they were placed may differ.
    """
    return re.sub(r"\d+", "", about.partition(Steps.WHERE_THE_DEVICE_RAN)[0])


def pace_of(report: Report, compiling: Compiling | None = None) -> Pace | None:
    """None where no step was found, or where the window lies in so few compilations
    that what repeats is theirs.

    compiling: None where nobody tells.
    """
    times = report.steps.time_ms
    if times is None or report.steps.source == "whole-trace" or not report.steps.each:
        return None
    told = compiling or Compiling()
    few = compiling is not None and told.count < _FEWEST
    if told.share > _MOST and few:
        return None
    share = sum(step.breakdown.get("compile", 0.0) for step in report.steps.each) / len(
        report.steps.each
    )
    compiles = max(share, told.share) > _COMPILES
    return Pace(
        report.steps.count,
        times.median,
        compiles,
        not (compiles and few),
        report.steps.about,
    )
