"""From a command to a recording of its steps: start, wait, look, look longer, record;
and what recording cost.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

import msgspec
import numpy as np
from msgspec.structs import replace

from tfadvisor import guardian
from tfadvisor.act.record.program import GRACE_SECONDS, HERE, Place, Program, with_hook
from tfadvisor.act.record.window import (
    PATIENCE_SECONDS,
    Board,
    Loop,
    Pace,
    Patience,
    Process,
    Ready,
    Refused,
    Window,
    count_rounds,
    may_train,
    record_window,
)
from tfadvisor.analysis import Options
from tfadvisor.errors import TraceError
from tfadvisor.files import temporary_folder
from tfadvisor.processes import undisturbed
from tfadvisor.timeline.model import Steps
from tfadvisor.timeline.names.classes import is_host_plane
from tfadvisor.trace.columns import Selection
from tfadvisor.trace.decode import decode_file

COST_LIMIT = 0.05
"""Share of a step that recording may cost by the estimate, with calls of Python; beyond
it these are left out. On a machine that others slowed, steps were measured to lose up
to twice as much: 10%."""
BLIND_LIMIT = 1.0
"""Calls of Python that cost less leave findings to be believed in the second window;
others, only lines of the program.
"""
_POLL_SECONDS = 0.05
_SIGNALS = 128
"""Exit codes above are those of signals."""
_UNSETTLED_LOOKS = 3
"""Looks one after the other that show the same steps, which compile, before it is
believed that they always do.
"""
_RESTLESS_LOOKS = 2
"""The same where nothing but compiling was seen in between."""
_RESTLESS_STEPS = 8
"""At most, there: such steps are long, and alike."""
_LESS_IMPATIENT = 1.5
"""How much longer it waits for a pause in compiling, each time that it did so in vain.
"""
_FIRST_QUIET_SECONDS = 0.3
_LONGEST_QUIET_SECONDS = 20.0
_FIRST_LOOK_SECONDS = 0.2
"""Short: nobody knows yet how much a profiler writes down of this program."""
_LOOK_GROWS = 2
_LONGEST_LOOK_SECONDS = 20.0
_MOST_STOPPING_SECONDS = 8.0
"""That a profiler may need to stop: 5 to 25 µs an event were measured, while the
program waits for cores.
"""
_MOST_EVENTS = 200_000
"""Of a window: 400 to 1,300 bytes each in the program's memory while its profiler
stops.
"""
_MOST_BYTES = 100e6
_ONE_CALL_MS = 100.0
"""A longer step may itself be the call in which the program was for a second."""
_OF_PYTHON = 0.5
"""How much shorter a window is with calls of Python, which nobody has counted yet."""
_LOOKS = 14
_SHORT_LOOKS = 2
_OF_A_ROUND = 0.5
"""What takes less of a round of the loop is a part of the step, unless longer looks
show it too.
"""
REPORT_SECONDS = 65.0
"""After the loop was first seen there is a report, or a line that says why not."""
_ROUNDS_SECONDS = 3.0
_SLOWER = 2
"""Until one has gone round, each of so many looks lasts up to twice as long as the one
before.
"""
_LATE_SECONDS, _MOST_WRITING_SECONDS = 10.0, 45.0
_BETWEEN_COUNTS_SECONDS = 2.0
_PREPARING_SECONDS = 60.0
"""That a loop which only adapts layers is waited for."""
_SHORTEST_WINDOW_SECONDS = 1.0
"""In which what takes 5% of the time meets eight samples, the fewest that name a line.
"""


class Recorder(Protocol):
    """Opens one window."""

    def __call__(self, seconds: float, *, python_tracer: bool) -> Window | Refused:
        """As record_window."""


class Wanted(msgspec.Struct, frozen=True):
    """What to record."""

    after_seconds: float | None
    """Since the program began; None: when it has settled."""
    steps: int
    """How many at least, where the program goes on for as long."""
    step: str = ""
    """What is the step: a function or marker by its name, or FILE:LINE in a function;
    "" for what repeats.
    """
    python_tracer: bool = True
    """Whether calls of Python functions are recorded where that costs little."""
    first_look_seconds: float = _FIRST_LOOK_SECONDS
    """Where the step's length is known, a look can be so long that it holds the wanted
    steps.
    """


class Recorded(msgspec.Struct, frozen=True):
    """The window that the report is about, and those that it was compared with. Each
    None where there was none.
    """

    chosen: Window
    before: Window | None
    """Recorded without the Python tracer."""
    with_lines: Window | None
    """Recorded with it."""
    cost: float | None
    """What the Python tracer adds to a step, as a share of it."""
    rounds: tuple[Loop | None, Loop | None, Loop | None] = (None, None, None)
    """The program's loop before recording, while recorded and after."""
    step: str = ""
    """As wanted."""
    inside: str = ""
    """The line of the one call in which the program was all the time, "" for a loop."""

    @property
    def second(self) -> Window | None:
        """The one with the Python tracer, where the report is about another."""
        return None if self.with_lines is self.chosen else self.with_lines

    @property
    def second_tells_findings(self) -> bool:
        """Whether Python is not slowed too much in it."""
        return self.cost is not None and self.cost < BLIND_LIMIT


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


class Caps:
    """How long a window may be, by what the last one showed: what it takes to write one
    grows with its events.
    """

    def __init__(self) -> None:
        """Nothing is known."""
        self.longest = _LONGEST_LOOK_SECONDS

    def seconds(self, wanted: float, *, python_tracer: bool) -> float:
        """At most as long as wanted."""
        return min(wanted, self.longest * _OF_PYTHON if python_tracer else self.longest)

    def learn(self, window: Window) -> None:
        """From a window that is over."""
        seconds = max(window.seconds, 1e-3)
        spent = (
            (window.stopping, _MOST_STOPPING_SECONDS),
            (window.events, _MOST_EVENTS),
            (window.bytes_a_second * seconds, _MOST_BYTES),
        )
        longest = [seconds * most / taken for taken, most in spent if taken > 0]
        self.longest = min(
            [*longest, seconds / 2] if window.cut else [*longest, _LONGEST_LOOK_SECONDS]
        )


def conduct(
    board: Board, program: Program, wanted: Wanted, options: Options
) -> Recorded | Nothing:
    """Ends with a recording, or when the program does, or once the loop ran for so long
    that there should be a report.
    """
    began = time.time()
    until: float | None = None
    last: str | None = None
    best: Window | None = None
    before: Loop | None = None
    passed: Loop | None = None
    kept: Recorded | None = None
    restless = short = 0
    compiling = _StepsThatCompile()
    caps = Caps()
    for attempt in range(_LOOKS):
        quiet = min(_FIRST_QUIET_SECONDS * 2**attempt, _LONGEST_QUIET_SECONDS)
        patience = Patience(quiet, PATIENCE_SECONDS * _LESS_IMPATIENT**restless)
        ready = _wait_until_ready(board, program, wanted, began, patience, until)
        if ready is None:
            break
        restless += ready.restless
        before = (
            _loop(board, program, ready, _ROUNDS_SECONDS * 2 ** min(attempt, _SLOWER))
            or before
        )
        until = until or time.time() + REPORT_SECONDS
        if ready.processes and all(one.left for one in board.processes()):
            break
        seconds = max(
            wanted.first_look_seconds * _LOOK_GROWS**attempt,
            ready.seconds,
            (0.0 if before is None else _FEW_ROUNDS * before.median_ms / 1000)
            * _LOOK_GROWS**short,
        )
        record = _recorder(board, program, ready.processes, options, caps, until)
        look = record(seconds, python_tracer=False)
        if isinstance(look, Refused):
            last = look.why
            continue
        if look.pace is not None and (
            best is None
            or best.pace is None
            or best.pace.compiles
            or not look.pace.compiles
        ):
            best = look
        if look.pace is None or not look.pace.repeats:
            continue
        if look.pace.compiles and not compiling.believed(look.pace, ready):
            continue
        parts = (
            before is not None and look.pace.median_ms < _OF_A_ROUND * before.median_ms
        )
        if parts and short < _SHORT_LOOKS and not _is_asked(look, wanted):
            # recording slows the program: too few rounds were in it for the step to be
            # seen
            short += 1
            continue
        few = look.pace.compiles and ready.restless
        steps = min(wanted.steps, _RESTLESS_STEPS) if few else wanted.steps
        in_one_call = bool(board.inside) and look.pace.median_ms < _ONE_CALL_MS
        how = (
            record_fully if wanted.python_tracer and not in_one_call else record_plainly
        )
        found = how(record, look, replace(wanted, steps=steps))
        after = _loop(
            board, program, ready, _ROUNDS_SECONDS, window=found.chosen.folder
        )
        inside = board.inside if look.pace.median_ms < _ONE_CALL_MS else ""
        kept = replace(found, rounds=(before, look.loop, after), inside=inside)
        if (
            not (before and after)
            or after.is_of(before)
            or (passed is not None and after.is_of(passed))
        ):
            return kept
        passed = (
            passed or before
            # another loop goes on: that one was over, as what checks or sets up before
            # training
        )
    if kept is not None:
        return kept
    if best is not None:
        return Recorded(best, best, None, None, (before, best.loop, None))
    late = until is not None and time.time() > until and program.ended() is None
    return Nothing(board.processes(), last, late, board.inside)


def _loop(
    board: Board,
    program: Program,
    ready: Ready,
    seconds: float,
    window: Path | None = None,
) -> Loop | None:
    """Of the program while nothing is recorded; not the one in which Keras adapts
    layers, while another may follow. window: the folder of the one that is over.
    seconds: for which it is looked at, at most."""
    until = time.time() + _PREPARING_SECONDS
    while ready.processes:
        found = count_rounds(
            board, ready.processes, seconds, lambda: program.ended() is not None, window
        )
        if (
            window is not None
            or found is None
            or not found.prepares
            or time.time() > until
            or program.ended() is not None
        ):
            return found
        time.sleep(_BETWEEN_COUNTS_SECONDS)
    return None


_FEW_ROUNDS = 5


class _StepsThatCompile:
    """Whether they are those of the program and no part of its start: looks one after
    the other show the same.
    """

    def __init__(self) -> None:
        self._before: Pace | None = None
        self._alike = 0

    def believed(self, pace: Pace, ready: Ready) -> bool:
        """Of the next look."""
        self._alike = (
            self._alike + 1
            if self._before is not None and pace.resembles(self._before)
            else 1
        )
        self._before = pace
        return self._alike >= (_RESTLESS_LOOKS if ready.restless else _UNSETTLED_LOOKS)


def _recorder(
    board: Board,
    program: Program,
    training: Sequence[Process],
    options: Options,
    caps: Caps,
    until: float,
) -> Recorder:
    """Opens windows in these processes. The rounds of the loop are counted in the first
    one, and in all of them where nothing else gave its steps there. until: when there
    should be a report."""
    count: bool | None = None

    def record(seconds: float, *, python_tracer: bool) -> Window | Refused:
        nonlocal count
        window = record_window(
            board,
            training,
            caps.seconds(seconds, python_tracer=python_tracer),
            options,
            python_tracer=python_tracer,
            has_ended=lambda: program.ended() is not None,
            rounds=count is not False,
            writing=min(
                max(until + _LATE_SECONDS - time.time(), _LATE_SECONDS),
                _MOST_WRITING_SECONDS,
            ),
        )
        if isinstance(window, Window):
            if count is None and window.pace is not None:
                count = window.pace.about == Steps.ROUNDS
            caps.learn(window)
        return window

    return record


def _wait_until_ready(
    board: Board,
    program: Program,
    wanted: Wanted,
    began: float,
    patience: Patience,
    until: float | None,
) -> Ready | None:
    """None once the program has ended, or the time is over at which there should be a
    report.
    """
    while program.ended() is None:
        now = time.time()
        if until is not None and now > until:
            return None
        found = None
        if wanted.after_seconds is None:
            found = patience.ready(board.processes(), now)
        elif now - began >= wanted.after_seconds and (
            training := may_train(board.processes(), now)
        ):
            found = Ready(training)
        if found is not None:
            return found
        time.sleep(_POLL_SECONDS)
    return None


def record_plainly(record: Recorder, look: Window, wanted: Wanted) -> Recorded:
    """Without the Python tracer; the look itself where it holds the wanted steps, or
    more than the program still made.
    """
    enough = _steps_in(look) >= wanted.steps and look.loop is None
    longer = (
        []
        if enough
        else _with_steps(record(window_seconds(look, wanted), python_tracer=False))
    )
    # rounds are counted in a look, which slows Python: it is the better one only where
    # the program ended soon after it
    chosen = (
        longer[0]
        if longer and _steps_in(longer[0]) >= min(wanted.steps, _steps_in(look))
        else look
    )
    return Recorded(chosen, chosen, None, None)


def record_fully(record: Recorder, look: Window, wanted: Wanted) -> Recorded:
    """With the Python tracer; without it where it costs too much, and then with a
    second, short window that has it.
    """
    found = _with_steps(record(window_seconds(look, wanted), python_tracer=True))
    if not found or (_is_part(found[0], look) and not _is_asked(found[0], wanted)):
        return record_plainly(record, look, wanted)
    (full,) = found
    cost = cost_of(full.folder, full.seconds, full.followed)
    if cost + cost_without_calls(look.folder, look.seconds) <= COST_LIMIT:
        return Recorded(full, look, full, cost)
    plain = record_plainly(record, look, wanted)
    if _is_asked(full, wanted) and not _is_asked(plain.chosen, wanted):
        return Recorded(full, look, full, cost)
    return Recorded(plain.chosen, plain.chosen, full, cost)


def _is_part(window: Window, look: Window) -> bool:
    """Whether what repeats in it is a part of the look's step: it was too short for
    whole ones, since calls write down much.
    """
    return bool(
        look.pace
        and window.pace
        and window.pace.median_ms < _OF_A_ROUND * look.pace.median_ms
    )


def _steps_in(window: Window) -> int:
    return window.pace.count if window.pace is not None else 0


def _is_asked(window: Window, wanted: Wanted) -> bool:
    """Whether its steps are what was asked for by name."""
    return (
        bool(wanted.step)
        and window.pace is not None
        and window.pace.about.startswith(wanted.step)
    )


def _with_steps(recorded: Window | Refused) -> list[Window]:
    """The window, where it holds steps that are settled."""
    steady = (
        isinstance(recorded, Window)
        and recorded.pace is not None
        and recorded.pace.count >= 2
    )
    return [recorded] if isinstance(recorded, Window) and steady else []


def window_seconds(look: Window, wanted: Wanted) -> float:
    """How long a window must be open to hold the wanted steps whole."""
    period = (look.pace.median_ms if look.pace else 0.0) / 1000
    if (
        wanted.step and look.loop is not None
    ):  # the look has no calls of Python, so the step may be another in it
        period = max(period, look.loop.median_ms / 1000)
    return max(_SHORTEST_WINDOW_SECONDS, (wanted.steps + 1.5) * period)


# What recording adds to a step: by the number of calls of Python that are traced, and
# of other events.


OF_FRAMEWORK = 0.35e-6
"""Most seconds that a framework's tracer takes for a call of Python that it writes
down: 0.23 to 0.3 µs where a step makes one to three thousand calls, measured by the
programs' own clocks on two cores."""
OF_OURS = 1.1e-6
"""Most seconds that our own tracer takes, which Python calls at each call and return of
any function: 1 µs by the same clocks.
"""
SECONDS_AN_EVENT = 0.45e-6
"""What another event of the framework's takes, measured where every op is its own
dispatch.
"""


def cost_of(folder: Path, seconds: float, followed: int | None) -> float:
    """What tracing calls of Python adds to a step, at most, as a share of it: by how
    many were traced in a window.

    folder: its traces. followed: as of a Window. Not by the pace of windows with and
    without: what else runs on the machine moves that by more.
    """
    if followed is None:
        return _share(calls_traced(folder) * OF_FRAMEWORK, seconds)
    return _share(followed * OF_OURS, seconds)


def cost_without_calls(folder: Path, seconds: float) -> float:
    """What the frameworks' own events add to a step, as a share of it, by how many the
    busiest thread of the host has.
    """
    return _share(
        SECONDS_AN_EVENT
        * max((_host_events(file)[1] for file in _traces(folder)), default=0),
        seconds,
    )


def _share(spent: float, seconds: float) -> float:
    """Of the time that is left without it; no more than all of it again."""
    return spent / max(seconds - spent, spent, 1e-9)


def calls_traced(folder: Path) -> int:
    """Calls of Python functions in the trace of the process that made most."""
    return max((_host_events(file)[0] for file in _traces(folder)), default=0)


def _traces(folder: Path) -> Iterator[Path]:
    return folder.glob("*.xplane.pb")


def _host_events(file: Path) -> tuple[int, int]:
    """(calls of Python functions on all threads of a trace's host, which take turns;
    other events on the thread with most).
    """
    trace = decode_file(file, Selection())
    on_host = np.array(
        [is_host_plane(plane.name) for plane in trace.planes], dtype=np.bool_
    )
    of_python = np.array(
        [name.startswith("$") for name in trace.names.name], dtype=np.bool_
    )
    line = trace.line_of_event()
    host, calls = on_host[trace.lines.plane][line], of_python[trace.events.row]
    others = np.bincount(line[host & ~calls])
    return int(np.count_nonzero(host & calls)), int(others.max(initial=0))


# Runs a program with the hook, from its start to its recording.

_LEAVING_SECONDS = 2.0


@contextmanager
def recorded_program(
    command: Sequence[str], wanted: Wanted, options: Options, place: Place = HERE
) -> Iterator[tuple[Running, Recorded]]:
    """The program, which still runs if it can, and its recording. A program that is
    left running is waited for by nobody.

    Raises UsageError when it cannot be started, TraceError when there is nothing to
    record; then it has ended.
    """
    with temporary_folder() as folder:
        board = Board(Path(folder))
        board.step = wanted.step
        began = time.monotonic()
        guardian.start()
        program = Program(
            command, with_hook(place.environment or os.environ, board.folder), place
        )
        try:
            with guardian.watched(
                "end", program.pid, folder, GRACE_SECONDS if place.log is None else 0
            ):
                found = conduct(board, program, wanted, options)
                if isinstance(found, Nothing) and found.gave_up:
                    why = gave_up(command, found, time.monotonic() - began)
                    sys.stderr.write(
                        f"tfadvisor: {why}\n"
                    )  # at once: the program may run for days
                    sys.stderr.flush()
                    program.wait()
                    raise TraceError(
                        " ".join(command), "ended unrecorded, as said above.", ""
                    )
                if isinstance(found, Nothing):
                    raise why_nothing(command, found, program, time.monotonic() - began)
                yield Running(program, board), replace(found, step=wanted.step)
        except Exception:
            board.order_end(
                stop=False
            )  # what goes wrong here is no reason to end what may have trained for days
            program.wait()
            raise
        except BaseException:
            with (
                undisturbed()
            ):  # asked to end: what the program started ends too, and then this
                Running(program, board).stop()
                guardian.end_all(program.pid, folder, _LEAVING_SECONDS)
            raise
        finally:
            program.stop()
            if (
                place.log is not None
            ):  # what an arm leaves in the background would disturb the next one
                guardian.end_all(program.pid, folder)
            program.forget()


class Running:
    """A program of which the recording is done."""

    def __init__(self, program: Program, board: Board) -> None:
        """program: may have ended."""
        self.program = program
        self._board = board

    def let_run(self) -> int:
        """Nothing more is recorded; its exit code once it has ended."""
        self._board.order_end(stop=False)
        code = self.program.wait()
        return code if code is not None else 0

    def stop(self) -> None:
        """Ends it, and every process of it that was recorded."""
        self._board.order_end(stop=True)
        if self.program.wait(_LEAVING_SECONDS) is None:
            self.program.stop()


def why_nothing(
    command: Sequence[str], found: Nothing, program: Program, seconds: float
) -> BaseException:
    """What is printed for a program that ended without a recording."""
    if program.interrupted:
        return KeyboardInterrupt()
    name = " ".join(command)
    ended = program.ended()
    code = ended or 0
    end = (
        "runs on"
        if ended is None
        else f"ended with exit code {code}"
        if code
        else "ended"
    )
    head = f"{end} after {seconds:.1f} s"
    if program.overdue:
        remedy = "Let it come to its steps sooner, or give it longer."
        return TraceError(
            name,
            f"had no steps that could be recorded within {seconds:.0f} s, and was "
            "ended.",
            remedy,
        )
    errors = [one.error for one in found.processes if one.error]
    if not found.processes:
        remedy = (
            "Python started with -I, -E or -S keeps the recorder out, and so does a "
            "container."
        )
        return TraceError(
            name,
            f"{head}, and no process of it had imported TensorFlow or JAX.",
            remedy,
        )
    if found.why or errors:
        by_signal = (
            "Run it without tfadvisor: if it does not end so then, being recorded "
            "ended it, which is a bug to report."
        )
        remedy = by_signal if code > _SIGNALS else "The program was not disturbed."
        return TraceError(
            name,
            f"{head}, and could not be recorded: {found.why or errors[0]}.",
            remedy,
        )
    if code:
        return TraceError(
            name,
            f"{head}, before its steps could be recorded.",
            "What it says itself stands above.",
        )
    compiled = sum(one.compiled for one in found.processes)
    return TraceError(
        name,
        f"{head} and never came to steps that repeat ({compiled:,} compilations).",
        "Let it run for longer, say when with --after SECONDS, or record the block "
        "with tfadvisor.profile().",
    )


def gave_up(command: Sequence[str], found: Nothing, seconds: float) -> TraceError:
    """A program that goes on, in which no steps were found."""
    if found.inside:
        return TraceError(
            " ".join(command),
            f"nothing that repeats was found in {seconds:.0f} s: it is in one call, "
            f"{found.inside}, and goes on unrecorded.",
            "Let that call do fewer steps, and call it in a loop: a compiled loop "
            "has no steps that a trace can tell.",
        )
    why = f" ({found.why})" if found.why else ""
    return TraceError(
        " ".join(command),
        f"no steps that repeat were found in {seconds:.0f} s{why}; it goes on "
        "unrecorded.",
        "Say when its loop runs with --after SECONDS, or ask for fewer steps with "
        "--steps 2. Without a recording "
        "`tfadvisor try --ablate` measures what its parts cost.",
    )
