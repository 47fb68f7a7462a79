"""From a started program to a recording of its steps: does what `looking` says, with
processes, files and the clock.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial

from msgspec.structs import replace

from tfadvisor.act.record.board import Board, Process
from tfadvisor.act.record.caps import Caps
from tfadvisor.act.record.choosing import (
    OpensWindows,
    RecordedRun,
    RecordRequest,
    record_steps,
)
from tfadvisor.act.record.looking import (
    ROUNDS_SECONDS,
    Count,
    Finished,
    Look,
    LooksSoFar,
    Over,
    Record,
    Seen,
    State,
    TriedRecording,
    Wait,
    first_state,
    next_state,
)
from tfadvisor.act.record.rounds import (
    CountedRounds,
    count_rounds,
    is_beside_steps,
    is_compiling,
    rounds_seen,
)
from tfadvisor.act.record.settling import Patience, Ready, may_train
from tfadvisor.act.record.started_program import StartedProgram
from tfadvisor.act.record.unrecorded import Nothing
from tfadvisor.act.record.watch import Watch
from tfadvisor.act.record.window import NoWindow, RecordedWindow, record_window
from tfadvisor.analysis import Options

REPORT_SECONDS = 65.0
"""After the loop was first seen there is a report, or a line that says why not."""
_LATE_SECONDS, _MOST_WRITING_SECONDS = 10.0, 45.0
_BETWEEN_COUNTS_SECONDS = 2.0
_PREPARING_SECONDS = 60.0
"""That a loop which only adapts layers is waited for."""
_POLL_SECONDS = 0.05
_COMPILING_SECONDS = 1.0
"""After which a program that compiles is looked at again."""
_MOST_BESIDE = 20
"""Times, a second apart, that a program which evaluates or saves is waited for, so that
a window holds steps.
"""
_SEEN_SECONDS = 10.0
"""Since the loop was seen first, before there is a report."""


Progress = Callable[[str, float], None]
"""What is under way, and how many seconds it will take, 0 for not known."""


def show_nothing(_text: str, _seconds: float) -> None:
    """As Progress."""


def conduct(
    board: Board,
    program: StartedProgram,
    wanted: RecordRequest,
    options: Options,
    watch: Watch,
    show: Progress = show_nothing,
) -> RecordedRun | Nothing:
    """Ends with a recording, or when the program does, or once the loop ran for so long
    that there should be a report.
    """
    session = _Session(board, program, options, watch, show)
    state = first_state(wanted)
    while not isinstance(state, Finished):
        state = next_state(state, session.shows(state))

    known = state.known
    if known.found is None and known.last is not None:
        seen = rounds_seen(watch, _training(known))
        known = replace(known, loop=seen.loop)
    return known.found or Nothing(
        board.processes(),
        known.why,
        session.gave_up(),
        known.inside,
        known.failed,
    )


class _Session:
    """One program, from its start on."""

    def __init__(
        self,
        board: Board,
        program: StartedProgram,
        options: Options,
        watch: Watch,
        show: Progress,
    ) -> None:
        self._board, self._program, self._options = board, program, options
        self._watch, self._show = watch, show
        self._began = time.time()
        self._until: float | None = None
        """When there should be a report; None before the loop was seen."""
        self._caps = Caps()
        self._step = ""
        """How long it is, in words, once that is known."""
        self._is_tried = False
        """Whether windows hold no more than a profiler bears: one came about, or the
        program goes round, and is not in one call that may hold millions of events.
        """
        self._windows: OpensWindows | None = None
        self._beside = 0
        """How often it was waited for since it did what is no step."""

    def gave_up(self) -> bool:
        """Whether the program goes on although the time is over."""
        return self._is_late() and not self._has_ended()

    def shows(self, state: State) -> Seen:
        """What comes of what a state asks for."""
        if isinstance(state, Wait):
            return self._wait(state)
        if isinstance(state, Count):
            return self._count(state)
        if isinstance(state, Look):
            return self._look(state)
        assert isinstance(state, Record)
        return self._record(state)

    def _wait(self, state: Wait) -> Ready | Over:
        self._show("waits until nothing compiles", 0.0)
        patience = Patience(state.quiet_seconds, state.patience_seconds)
        while not self._has_ended() and not self._is_late():
            ready = self._ready(patience, state.known.wanted.after_seconds)
            if ready is not None:
                return ready
            time.sleep(_POLL_SECONDS)
        return Over()

    def _ready(
        self,
        patience: Patience,
        after_seconds: float | None,
    ) -> Ready | None:
        now, processes = time.time(), self._board.processes()
        if after_seconds is None:
            ready = patience.ready(processes, now)
            if ready is None or ready.restless:
                return ready
            if not self._does_something_else(ready.processes):
                return ready
            time.sleep(_COMPILING_SECONDS)
            return None

        training = may_train(processes, now)
        is_time = now - self._began >= after_seconds
        return Ready(training) if training and is_time else None

    def _does_something_else(self, processes: Sequence[Process]) -> bool:
        """Compiles, or does what is no step, which may be all that it does."""
        if is_compiling(self._watch, processes):
            return True
        if self._beside >= _MOST_BESIDE:
            return False
        is_beside = is_beside_steps(self._watch, processes, None)
        self._beside += is_beside
        return is_beside

    def _count(self, state: Count) -> CountedRounds:
        """Not the loop in which Keras adapts layers, while another may follow."""
        until = time.time() + _PREPARING_SECONDS
        counted = self._counted(state.known, state.seconds)
        while counted.loop is not None and counted.loop.prepares:
            if time.time() > until or self._has_ended():
                break
            time.sleep(_BETWEEN_COUNTS_SECONDS)
            counted = self._counted(state.known, state.seconds)

        if self._until is None:
            self._until = time.time() + REPORT_SECONDS
        return counted

    def _counted(
        self,
        known: LooksSoFar,
        seconds: float,
    ) -> CountedRounds:
        training = _training(known)
        self._show(f"{self._step}looks for the loop", 0.0)
        return count_rounds(
            self._board,
            training,
            seconds,
            self._has_ended,
            self._watch,
        )

    def _look(self, state: Look) -> RecordedWindow | NoWindow | Over:
        if all(process.left for process in self._board.processes()):
            return Over()
        if state.known.loop is not None:
            self._is_tried = True
        self._windows = partial(self.window, _training(state.known))
        return self._windows(state.seconds, python_tracer=False)

    def _record(self, state: Record) -> TriedRecording:
        assert self._windows is not None
        run = record_steps(
            self._windows,
            state.look,
            self._wanted_of(state),
            state.known.loop,
        )
        after = self._counted(state.known, ROUNDS_SECONDS)
        training = _training(state.known)
        window = run.chosen.opened, run.chosen.closed
        beside = is_beside_steps(self._watch, training, window)
        self._let_it_be_seen()
        return TriedRecording(run, after, beside=beside)

    def _wanted_of(self, state: Record) -> RecordRequest:
        """Calls of Python take another window, and more of the step: stacks that are
        read from outside tell the same lines.
        """
        is_seen = not self._watch.why and not state.wanted.step
        return replace(state.wanted, python_tracer=False) if is_seen else state.wanted

    def _let_it_be_seen(self) -> None:
        """Long enough while nothing is recorded."""
        assert self._until is not None
        until = self._until - REPORT_SECONDS + _SEEN_SECONDS
        while time.time() < until and not self._has_ended():
            time.sleep(_POLL_SECONDS)

    def window(
        self,
        training: list[Process],
        seconds: float,
        *,
        python_tracer: bool,
    ) -> RecordedWindow | NoWindow:
        """One, not longer than the program bears."""
        borne = self._caps.seconds(seconds, python_tracer=python_tracer)
        self._show(f"{self._step}recording", borne)
        found = record_window(
            self._board,
            training,
            borne,
            self._options,
            python_tracer=python_tracer,
            has_ended=self._has_ended,
            first=not self._is_tried,
            writing=self._writing_seconds(),
            watch=self._watch,
        )
        if isinstance(found, RecordedWindow):
            self._is_tried = True
            self._caps.learn(found)
            if found.pace is not None:
                self._step = f"step {found.pace.median_ms:.3g} ms · "
            # What compiles writes down much more than the steps that follow.
            longest = self._caps.seconds(seconds, python_tracer=python_tracer)
            return replace(found, shortened=longest < seconds)
        return found

    def _writing_seconds(self) -> float:
        """How long a profiler may take to stop, so that there still is a report."""
        until = time.time() if self._until is None else self._until
        left = until + _LATE_SECONDS - time.time()
        return min(max(left, _LATE_SECONDS), _MOST_WRITING_SECONDS)

    def _has_ended(self) -> bool:
        return self._program.ended() is not None

    def _is_late(self) -> bool:
        return self._until is not None and time.time() > self._until


def _training(known: LooksSoFar) -> list[Process]:
    return list(known.ready.processes) if known.ready is not None else []
