"""One window of recording: ordered, its files collected in a run folder, and what they
show measured.
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from tfadvisor.act.record.answers import GivenOrder, answers_to, names_of
from tfadvisor.act.record.board import Board, Process
from tfadvisor.act.record.gpus import GpuWatch
from tfadvisor.act.record.injected.tfadvisor_hook.letters import (
    read_letter,
    write_letter,
)
from tfadvisor.act.record.pace import Compiling, Pace, pace_of
from tfadvisor.act.record.program_times import ProgramTimes
from tfadvisor.act.record.rounds import ProgramLoop, round_ms
from tfadvisor.act.record.watch import Watch, first_in_loop
from tfadvisor.analysis import Options, ReadRun, read_run
from tfadvisor.errors import TraceError
from tfadvisor.report import Report
from tfadvisor.trace import choose_run
from tfadvisor.trace.counters import ENDING
from tfadvisor.trace.noted_ops import OPS_ENDING
from tfadvisor.trace.noted_sources import SOURCES_ENDING
from tfadvisor.trace.samples import SAMPLES_ENDING, Samples

_TRACE_ENDING = ".xplane.pb"


class Collected(msgspec.Struct, frozen=True):
    """folder: the traces of all that recorded, and what lies beside them."""

    folder: Path
    answers: tuple[dict[str, Any], ...]
    """What these processes said, at least one."""
    pids: tuple[tuple[str, int | None], ...] = ()
    """What the trace of each of them is called; its number, None on another host."""


class RecordedWindow(msgspec.Struct, frozen=True):
    """What was recorded at once. folder: one trace a process. pace: None where no step
    was found.
    """

    folder: Path
    python_tracer: bool
    opened: float
    """When the last process began to record, seconds since the epoch."""
    closed: float
    """When the first one ceased."""
    read: ReadRun
    """Its traces."""
    pace: Pace | None
    stopping: float = 0.0
    """Seconds that the profiler took to stop, in the process where it took longest."""
    cut: bool = False
    """Whether it was closed early, because memory grew."""
    cut_in_vain: bool = False
    """Whether it was the program's own that did."""
    shortened: bool = False
    """Whether it was asked for longer than a profiler bears with this program."""
    collected: Collected | None = None
    """Its files; None where nobody can say more about them."""

    @property
    def report(self) -> Report:
        """By all rules, which run when it is asked for first."""
        return self.read.report

    @property
    def events(self) -> int:
        """In all traces."""
        return sum(count.every for count in self.read.counts)

    @property
    def python_calls(self) -> int:
        """In the trace of the process that made most."""
        return max(
            (count.python_calls for count in self.read.counts),
            default=0,
        )

    @property
    def other_events(self) -> int:
        """Of the frameworks, on the busiest thread of a host."""
        return max(
            (count.others for count in self.read.counts),
            default=0,
        )

    @property
    def steps(self) -> int:
        """How many it holds."""
        return self.pace.count if self.pace is not None else 0

    @property
    def bytes_a_second(self) -> float:
        """How much trace the program makes."""
        size = 0
        for file in self.folder.iterdir():
            size += file.stat().st_size
        return size / self.seconds

    @property
    def seconds(self) -> float:
        """How long all of them recorded."""
        return self.closed - self.opened


class NoWindow(msgspec.Struct, frozen=True):
    """There is no trace, or nothing in it. why: what the first process said that did
    not record, None where all did.
    """

    why: str | None
    is_last: bool = False
    """Whether none will follow, since the profiler failed."""


def record_window(
    board: Board,
    processes: Sequence[Process],
    seconds: float,
    options: Options,
    *,
    python_tracer: bool,
    has_ended: Callable[[], bool],
    first: bool = False,
    writing: float = 45.0,
    watch: Watch,
) -> RecordedWindow | NoWindow:
    """Records and reads. has_ended: whether the program is over, so that no more
    answers come. first: how much a profiler writes down of the program is tried before.
    writing: s, how long the profiler may take to stop. watch: of the program.
    """
    with GpuWatch() as gpus, ProgramTimes(watch.pid) as times:
        number = board.order(
            processes, seconds, python_tracer=python_tracer, first=first
        )
        asked = frozenset(peer.name for peer in processes)
        order = GivenOrder(str(number), asked, seconds)
        answered = answers_to(
            order,
            board,
            has_ended,
            writing,
        )

    recorded = [peer for peer in answered if "file" in peer.windows[order.number]]
    if recorded:
        collected = collect(
            board.folder,
            order.number,
            recorded,
            gpus.found,
            times,
        )
        write_samples(collected, watch, board.step)
        return measure(collected, options, python_tracer=python_tracer)

    for process in answered:
        answer = process.windows[order.number]
        if "error" in answer:
            return NoWindow(answer["error"], bool(answer.get("last")))
    if has_ended() or _have_left(board, order.asked):
        return NoWindow("the program ended before its trace was written")
    return NoWindow(
        f"the profiler had not written its trace {writing:.0f} s after its "
        f"{seconds:.2g} s were over"
    )


def _have_left(
    board: Board,
    names: frozenset[str],
) -> bool:
    asked = [process for process in board.processes() if process.name in names]
    return all(process.left for process in asked)


# The files of a window.


def collect(
    folder: Path,
    number: str,
    recorded: Sequence[Process],
    gpus: list[dict[str, Any]],
    times: ProgramTimes,
) -> Collected:
    """Moves what processes left in a folder into one of the window's own. number: of
    the order. gpus: what this machine's did meanwhile. times: of its cores.
    """
    window = folder / f"window-{number}"
    window.mkdir()

    hosts = names_of(recorded)
    answers = tuple(peer.windows[number] for peer in recorded)
    pids = []
    for process, answer in zip(recorded, answers, strict=True):
        is_here = process.host == socket.gethostname()
        pids.append((hosts[process.name], process.pid if is_here else None))
        _collect_one(
            folder / answer["file"],
            window / hosts[process.name],
            gpus if is_here else [],
            times if is_here else None,
        )
    return Collected(window, answers, tuple(pids))


def _collect_one(
    trace: Path,
    target: Path,
    gpus: list[dict[str, Any]],
    times: ProgramTimes | None,
) -> None:
    """A process's trace and files, and what it counted meanwhile, as far as it could.
    target: without an ending.
    """
    name = trace.name.removesuffix(_TRACE_ENDING)
    trace.replace(_beside(target, _TRACE_ENDING))

    counted = read_letter(str(trace.with_name(f"{name}{ENDING}")))
    if counted is not None:
        counted["gpus"] = gpus
        if times is not None:
            times.add_to(counted)
        write_letter(str(_beside(target, ENDING)), counted)

    for ending in (SOURCES_ENDING, OPS_ENDING):
        noted = trace.with_name(f"{name}{ending}")
        if noted.exists():
            noted.replace(_beside(target, ending))


def _beside(target: Path, ending: str) -> Path:
    return target.with_name(f"{target.name}{ending}")


def write_samples(
    collected: Collected,
    watch: Watch,
    step: str,
    loop: ProgramLoop | None = None,
) -> None:
    """Beside each trace, what was seen of its process up to now. step: what is wanted
    for one. loop: whose rounds are the steps.
    """
    seen = watch.seen()
    for (name, pid), answer in zip(collected.pids, collected.answers, strict=True):
        why = watch.why or ("" if pid is not None else "it ran on another machine")
        letter = seen.of_process(
            pid or 0,
            why=why,
            step=step,
            loop=loop.in_samples if loop is not None else None,
            each_round=loop.each if loop is not None else (),
            round_ms=loop.median_ms if loop is not None else 0.0,
            recorded_ns=answer.get("recorded_ns", []),
        )
        letter["first_step_ns"] = first_in_loop(letter) or answer["settled_ns"]
        write_letter(str(_beside(collected.folder / name, SAMPLES_ENDING)), letter)


def add_samples(folder: Path, watch: Watch) -> None:
    """To what lies beside the traces of a run, what was seen of the program since."""
    watch.stop()
    seen = watch.seen()
    for file in folder.glob(f"*{SAMPLES_ENDING}"):
        letter = read_letter(str(file))
        if letter is not None and letter["threads"]:
            pid = int(letter["threads"][0][2].partition(" ")[0])
            write_letter(str(file), _with_rounds({**letter, **seen.of_process(pid)}))


def _with_rounds(letter: dict[str, Any]) -> dict[str, Any]:
    """With how long a round takes by all samples, where it was not known before."""
    if not letter["loop"] or letter["round_ms"]:
        return letter
    samples = msgspec.convert(letter, Samples)
    return {**letter, "round_ms": round_ms(samples, tuple(letter["loop"]))}


# What they show.


def measure(
    collected: Collected,
    options: Options,
    *,
    python_tracer: bool,
) -> RecordedWindow | NoWindow:
    """Reads each trace, once."""
    answers = collected.answers
    opened = max(answer["opened"] for answer in answers)
    closed = min(answer["closed"] for answer in answers)
    window = read_window(
        collected.folder,
        options,
        python_tracer=python_tracer and any(answer.get("calls") for answer in answers),
        opened=opened,
        closed=closed,
        compiling=_compiling(answers, closed - opened),
    )
    if isinstance(window, NoWindow):
        return window

    cuts = {answer.get("cut", "") for answer in answers}
    return msgspec.structs.replace(
        window,
        collected=collected,
        stopping=max(answer["stopped"] - answer["closed"] for answer in answers),
        cut=bool(cuts - {""}),
        cut_in_vain=cuts - {""} == {"program"},
    )


def _compiling(
    answers: Sequence[dict[str, Any]],
    seconds: float,
) -> Compiling:
    """Of the process that compiled most."""
    most = max(
        answers,
        key=lambda answer: float(answer["compiling"]),
    )
    share = most["compiling"] / max(seconds, 1e-9)
    return Compiling(min(share, 1.0), most["compiled"])


def read_window(
    folder: Path,
    options: Options,
    *,
    python_tracer: bool,
    opened: float,
    closed: float,
    compiling: Compiling | None = None,
) -> RecordedWindow | NoWindow:
    """Of traces that lie in a folder. opened, closed: seconds since the epoch."""
    try:
        read = read_run(choose_run([folder])[0], options)
    except TraceError:
        return NoWindow(None)

    pace = pace_of(read.steps, compiling)
    return RecordedWindow(
        folder,
        python_tracer,
        opened,
        closed,
        read,
        pace,
    )
