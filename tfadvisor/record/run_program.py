"""Runs a program with the hook, from its start to its recording."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tfadvisor.analysis import Options
from tfadvisor.errors import TraceError
from tfadvisor.files import temporary_folder
from tfadvisor.processes import undisturbed
from tfadvisor.record.board import Board
from tfadvisor.record.conduct import Nothing, Recorded, Wanted, conduct
from tfadvisor.record.environment import with_hook
from tfadvisor.record.program import HERE, Place, Program

_LEAVING_SECONDS = 2.0


@contextmanager
def recorded_program(
    command: Sequence[str], wanted: Wanted, options: Options, place: Place = HERE
) -> Iterator[tuple[Running, Recorded]]:
    """The program, which still runs if it can, and its recording. A program that is left running is waited for by nobody.

    Raises UsageError when it cannot be started, TraceError when there is nothing to record; then it has ended.
    """
    with temporary_folder() as folder:
        board = Board(Path(folder))
        began = time.monotonic()
        program = Program(command, with_hook(place.environment or os.environ, board.folder), place)
        try:
            found = conduct(board, program, wanted, options)
            if isinstance(found, Nothing):
                raise why_nothing(command, found, program, time.monotonic() - began)
            yield Running(program, board), found
        except Exception:
            board.order_end(stop=False)  # what goes wrong here is no reason to end what may have trained for days
            program.wait()
            raise
        except BaseException:
            with undisturbed():  # asked to end: what the program started ends too, and then this
                Running(program, board).stop()
            raise
        finally:
            program.stop()
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


def why_nothing(command: Sequence[str], found: Nothing, program: Program, seconds: float) -> BaseException:
    """What is printed for a program that ended without a recording."""
    if program.interrupted:
        return KeyboardInterrupt()
    name = " ".join(command)
    ended = program.ended()
    code = ended or 0
    end = "runs on" if ended is None else f"ended with exit code {code}" if code else "ended"
    head = f"{end} after {seconds:.1f} s"
    if program.overdue:
        remedy = "Let it come to its steps sooner, or give it longer."
        return TraceError(name, f"had no steps that could be recorded within {seconds:.0f} s, and was ended.", remedy)
    errors = [one.error for one in found.processes if one.error]
    if not found.processes:
        remedy = "Python started with -I, -E or -S keeps the recorder out, and so does a container."
        return TraceError(name, f"{head}, and no process of it had imported TensorFlow or JAX.", remedy)
    if found.why or errors:
        return TraceError(
            name, f"{head}, and could not be recorded: {found.why or errors[0]}.", "The program was not disturbed."
        )
    if code:
        return TraceError(name, f"{head}, before its steps could be recorded.", "What it says itself stands above.")
    compiled = sum(one.compiled for one in found.processes)
    return TraceError(
        name,
        f"{head} and never came to steps that repeat ({compiled:,} compilations).",
        "Let it run for longer, say when with --after SECONDS, or record the block with tfadvisor.profile().",
    )
