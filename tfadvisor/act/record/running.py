"""Runs a program with the hook, from its start to its recording."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import msgspec
from msgspec.structs import replace

from tfadvisor import guardian
from tfadvisor.act.record.board import Board
from tfadvisor.act.record.choosing import RecordedRun, RecordRequest
from tfadvisor.act.record.conduct import Progress, conduct, show_nothing
from tfadvisor.act.record.rounds import quickest_rounds
from tfadvisor.act.record.started_program import (
    GRACE_SECONDS,
    HERE,
    Launch,
    StartedProgram,
    with_hook,
)
from tfadvisor.act.record.unrecorded import (
    Nothing,
    gave_up,
    never_stepped,
    why_nothing,
)
from tfadvisor.act.record.watch import Watch
from tfadvisor.act.record.window import add_samples, write_samples
from tfadvisor.analysis import Options
from tfadvisor.errors import TraceError
from tfadvisor.files import temporary_folder
from tfadvisor.processes import undisturbed
from tfadvisor.report.watched import WatchedWords, watched_words
from tfadvisor.trace.samples import Samples

_LEAVING_SECONDS = 2.0


class Running:
    """A program of which the recording is done."""

    def __init__(
        self,
        program: StartedProgram,
        board: Board,
        watch: Watch,
    ) -> None:
        """program: may have ended."""
        self.program = program
        self._board, self._watch = board, watch

    def let_run(self, kept: Path) -> int:
        """Nothing more is recorded; its exit code once it has ended. kept: the run
        folder, to which what is seen of it until then is added.
        """
        self._board.order_end(stop=False)
        code = self.program.wait()
        add_samples(kept, self._watch)
        return code if code is not None else 0

    def stop(self) -> None:
        """Ends it, and every process of it that was recorded."""
        self._board.order_end(stop=True)
        if self.program.wait(_LEAVING_SECONDS) is None:
            self.program.stop()


@contextmanager
def recorded_program(
    command: Sequence[str],
    wanted: RecordRequest,
    options: Options,
    launch: Launch = HERE,
    show: Progress = show_nothing,
) -> Iterator[tuple[Running, RecordedRun]]:
    """The program, which still runs if it can, and its recording. A program that is
    left running is waited for by nobody. show: hears what is under way.

    Raises UsageError when it cannot be started, TraceError when there is nothing to
    record; then it has ended.
    """
    with temporary_folder() as folder:
        board = Board(Path(folder))
        board.step = wanted.step
        guardian.start()
        environment = with_hook(launch.environment or os.environ, board.folder)
        program = StartedProgram(command, environment, launch)
        watch = Watch(program.pid, board.folder)
        try:
            grace = GRACE_SECONDS if launch.log is None else 0
            with guardian.watched("end", program.pid, folder, grace):
                recorded = _recorded(
                    board,
                    program,
                    wanted,
                    options,
                    watch,
                    show,
                )
                yield Running(program, board, watch), recorded
        except Exception:
            # What goes wrong here is no reason to end what may have trained for days.
            board.order_end(stop=False)
            program.wait()
            raise
        except BaseException:
            # Asked to end: what the program started ends too, and then this.
            with undisturbed():
                Running(program, board, watch).stop()
                guardian.end_all(program.pid, folder, _LEAVING_SECONDS)
            raise
        finally:
            watch.stop()
            program.stop()
            if launch.log is not None:
                # What an arm leaves in the background would disturb the next one.
                guardian.end_all(program.pid, folder)
            program.forget()


def _recorded(
    board: Board,
    program: StartedProgram,
    wanted: RecordRequest,
    options: Options,
    watch: Watch,
    show: Progress,
) -> RecordedRun:
    """Raises TraceError and KeyboardInterrupt where there is nothing."""
    began = time.monotonic()
    found = conduct(
        board,
        program,
        wanted,
        options,
        watch,
        show,
    )
    seconds = time.monotonic() - began
    command = program.command
    if isinstance(found, RecordedRun):
        if found.chosen.collected is not None:
            loop = quickest_rounds(found.rounds)
            write_samples(found.chosen.collected, watch, wanted.step, loop)
        return found
    if all(process.left for process in found.processes):
        program.wait(_LEAVING_SECONDS)
    found = replace(found, went=_where_it_went(found, watch))
    report = "".join(f"\n{line}" for line in found.lines)
    if program.ended() is not None or not (found.gave_up or found.failed):
        if report and never_stepped(found, program):
            _say_at_once(f"no steps were found in {' '.join(command)}.{report}")
        raise why_nothing(command, found, program, seconds)

    _say_at_once(f"{gave_up(command, found, seconds)}{report}")
    program.wait()
    raise TraceError(" ".join(command), "ended unrecorded, as said above.", "")


def _where_it_went(found: Nothing, watch: Watch) -> WatchedWords | None:
    """Of the process of which most was seen; None where nothing was."""
    seen = watch.seen()
    of_each = (
        watched_words(msgspec.convert(seen.of_process(process.pid), Samples))
        for process in found.processes
        if process.pid
    )
    return next((words for words in of_each if words.lines), None)


def _say_at_once(text: str) -> None:
    """The program may run for days."""
    sys.stderr.write(f"tfadvisor: {text}\n")
    sys.stderr.flush()
