"""The loop that a program's main thread is in, as Python goes through it: counted while
nothing is recorded.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from tfadvisor.act.record.answers import GivenOrder, answers_to
from tfadvisor.act.record.board import Board, Process

_PATIENCE_SECONDS = 3.0


class ProgramLoop(msgspec.Struct, frozen=True):
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

    def is_of(self, other: ProgramLoop) -> bool:
        """Whether both are turns of the same loop."""
        mine = self.file, self.function, self.within
        others = other.file, other.function, other.within
        (first, last), (other_first, other_last) = self.lines, other.lines
        return mine == others and first <= other_last and other_first <= last

    @property
    def place(self) -> str:
        """For people."""
        called = f", in {self.within}()" if self.within else ""
        return f"{Path(self.file).name}:{self.line}{called}"


class CountedRounds(msgspec.Struct, frozen=True):
    """What counting rounds has shown."""

    loop: ProgramLoop | None
    """Of the first process that is in one."""
    inside: str = ""
    """The line of a call in which the first process was all the time, "" for none."""


def loop_of(answer: dict[str, Any]) -> ProgramLoop | None:
    """In a process's answer; None where none was counted."""
    loop = answer.get("loop")
    return msgspec.convert(loop, ProgramLoop) if loop else None


def first_loop(answers: Sequence[dict[str, Any]]) -> ProgramLoop | None:
    """Of the first process that is in one."""
    loops = map(loop_of, answers)
    return next((one for one in loops if one is not None), None)


def count_rounds(
    board: Board,
    processes: Sequence[Process],
    seconds: float,
    over: Callable[[], bool],
    *,
    after_window: bool,
) -> CountedRounds:
    """The loop of these processes while nothing is recorded. seconds: at most. over:
    whether the program is.
    """
    number = str(
        board.order(processes, seconds, only_rounds=True, after_window=after_window)
    )
    asked = frozenset(one.name for one in processes)
    order = GivenOrder(number, asked, seconds)
    answered = answers_to(
        order,
        board,
        over,
        _PATIENCE_SECONDS,
    )

    answers = [one.windows[number] for one in answered]
    return CountedRounds(first_loop(answers), _inside(answers))


def _inside(answers: Sequence[dict[str, Any]]) -> str:
    inside = answers[0].get("inside") if answers else None
    if not inside:
        return ""
    file, line = inside[:2]
    return f"{Path(file).name}:{line}"
