"""Which line of the main thread's frames comes again and again, and how long a round
takes.
"""

from __future__ import annotations

import dis
import sys
import time
from types import CodeType, FrameType
from typing import Any

from .own_code import where

_MOST_ROUNDS = 2_000
_JUMPS = frozenset((*dis.hasjrel, *dis.hasjabs))


class RoundCounter:
    """Lines of the frames that are open now, each with when it began, until a frame
    that stays open goes round.

    Python tells by sys.settrace, for as long as this takes; it slows Python's own
    instructions, so that a round of a loop in Python is shorter than what is found,
    never longer.
    """

    FEWEST = 4
    _MOST_TIMES = 20_000

    def __init__(
        self,
        least: float,
        limit: float,
        owned: Any,
    ) -> None:
        """least, limit: s."""
        # No lock: a tick may come where the main thread holds it.
        self.done = self.over = False
        self.began_ns: list[int] = []
        """When each round that was found began, since the epoch."""
        self.loop: tuple[CodeType, list[Any]] | None = None
        self._least, self._limit, self._owned = least, limit, owned
        self._is_tracing = False
        self._began = 0.0
        self._frames: list[FrameType] = []
        self._stack: list[tuple[str, int, str, bool]] = []
        self._times: dict[FrameType, dict[int, list[float]]] = {}
        self._came: dict[FrameType, dict[int, int]] = {}
        self._spent: dict[FrameType, dict[int, float]] = {}
        self._last: dict[FrameType, tuple[int, float]] = {}
        self._loops: dict[CodeType, list[frozenset[int]]] = {}

    def tick(self, frame: FrameType) -> None:
        """In the main thread."""
        if not self._is_tracing:
            self._begin(frame)
        elif self.over or time.perf_counter() - self._began > self._limit:
            self._end()

    def _begin(self, frame: FrameType) -> None:
        if sys.gettrace() is not None:  # a debugger, or what measures coverage
            self.over = True
            self.done = True
            return

        self._is_tracing = True
        self._began = time.perf_counter()
        one: FrameType | None = frame
        while one is not None:
            file, line, function = where(one)
            own = self._owned(one.f_code)
            self._frames.append(one)
            self._stack.append((file, line, function, own))
            self._last[one] = line, self._began
            one.f_trace = self._line
            one = one.f_back
        sys.settrace(self._call)

    @property
    def begun(self) -> bool:
        """Whether the main thread ran an instruction of Python since it was asked."""
        return self._is_tracing or self.over

    def _call(
        self,
        _frame: FrameType,
        _what: str,
        _argument: object,
    ) -> None:
        if self.over:
            self._end()

    def _line(
        self,
        frame: FrameType,
        what: str,
        _argument: object,
    ) -> Any:
        """At each line and return of the frames. In one piece, since what it takes is
        a part of the round.
        """
        if what == "return":
            self._times.pop(frame, None)
        elif what == "line" and not self.over:
            now, line = time.perf_counter(), frame.f_lineno
            by_line = self._times.setdefault(frame, {})
            times = by_line.setdefault(line, [])
            came = self._came.setdefault(frame, {})
            # A block's line comes again where it is left.
            if frame.f_lasti <= came.get(line, frame.f_lasti):
                came[line] = frame.f_lasti
                times.append(now)

            left, since = self._last.get(frame, (line, now))
            self._last[frame] = line, now
            spent = self._spent.setdefault(frame, {})
            spent[left] = spent.get(left, 0.0) + now - since

            elapsed = now - self._began
            enough = len(times) >= self.FEWEST and elapsed >= self._least
            enough = enough and self._is_the_loop(frame, line)
            if enough or elapsed > self._limit or len(times) > self._MOST_TIMES:
                self._end()
        return None if self.over else self._line

    def _is_the_loop(
        self,
        frame: FrameType,
        line: int,
    ) -> bool:
        """Whether no frame outside of it goes round, and no loop around it."""
        return frame is self._outermost() and self._takes_most(frame, line)

    def _outermost(self) -> FrameType | None:
        for frame in reversed(self._frames):
            if frame in self._times:
                return frame
        return None

    def _takes_most(
        self,
        frame: FrameType,
        line: int,
    ) -> bool:
        """Whether the innermost loop around a line takes at least half of the frame's
        time; a loop inside a step takes less.
        """
        around = self._loop_around(frame.f_code, line)
        if around is None:
            return True
        spent = self._spent.get(frame, {})
        inside = sum(spent.get(line, 0.0) for line in around)
        return 2 * inside >= sum(spent.values())

    def _loop_around(
        self,
        code: CodeType,
        line: int,
    ) -> frozenset[int] | None:
        """The lines of the innermost loop around a line; None for none."""
        if code not in self._loops:
            self._loops[code] = _loops_of(code)
        loops = [one for one in self._loops[code] if line in one]
        return min(
            loops,
            key=len,
            default=None,
        )

    def _end(self) -> None:
        self.over = True
        if not self.done:
            sys.settrace(None)
            for one in self._frames:
                one.f_trace = None
            self.done = True

    def found(self) -> dict[str, Any] | None:
        """The outermost open frame with a line that came at least three times, and how
        long a round of it takes.
        """
        for depth in reversed(range(len(self._frames))):
            lines = self._lines_of_the_loop(self._frames[depth])
            counts = {line: len(times) for line, times in lines.items()}
            again = {
                line: count
                for line, count in counts.items()
                if count >= self.FEWEST - 1
            }
            if again:
                line = _usual(again)
                self._keep_rounds(lines[line])
                self._keep_loop(depth, line)
                return self._in_words(
                    depth,
                    line,
                    sorted(again),
                    lines[line],
                )
        return None

    def _lines_of_the_loop(self, frame: FrameType) -> dict[int, list[float]]:
        """When each came, but for those of loops inside a step."""
        lines = self._times.get(frame, {})
        return {
            line: times
            for line, times in lines.items()
            if self._takes_most(frame, line)
        }

    def _keep_rounds(self, times: list[float]) -> None:
        epoch = time.time() - time.perf_counter()
        for began in times[:_MOST_ROUNDS]:
            self.began_ns.append(int((began + epoch) * 1e9))

    def _keep_loop(
        self,
        depth: int,
        line: int,
    ) -> None:
        """The loop, where it is the program's own."""
        code = self._frames[depth].f_code
        around = self._loop_around(code, line)
        file, _, function, own = self._stack[depth]
        if around and own:
            first, last = min(around), max(around)
            self.loop = code, [file, function, first, last]

    def _in_words(
        self,
        depth: int,
        line: int,
        again: list[int],
        times: list[float],
    ) -> dict[str, Any]:
        """again: lines that came again and again, in their order."""
        file, _, function, own = self._stack[depth]
        first, last = again[0], again[-1]
        within = ""
        if not own:
            within = function
            callers = [one for one in self._stack[depth:] if one[3]]
            if callers:
                file, line, function, _ = callers[0]
            first = last = line

        pairs = zip(times, times[1:])  # noqa: B905, RUF007
        between = sorted(after - before for before, after in pairs)
        return {
            "file": file,
            "line": line,
            "function": function,
            "within": within,
            "lines": [first, last],
            "prepares": any(name == "adapt" for _, _, name, _ in self._stack),
            "median_ms": between[len(between) // 2] * 1e3,
        }


def _usual(counts: dict[int, int]) -> int:
    """The first line that came as often as most did. counts: by line."""
    often = list(counts.values())
    usual = max(
        set(often),
        key=lambda one: (often.count(one), one),
    )
    return next(line for line, count in counts.items() if count == usual)


def _loops_of(code: CodeType) -> list[frozenset[int]]:
    """The lines of each loop: what lies between where it begins and the last jump back
    to there.
    """
    line, lines = code.co_firstlineno, []
    loops: dict[int, frozenset[int]] = {}
    starts = dict(dis.findlinestarts(code))
    for one in dis.get_instructions(code):
        line = starts.get(one.offset) or line
        lines.append((one.offset, line))
        target = one.argval
        if one.opcode not in _JUMPS or not isinstance(target, int):
            continue
        if target <= one.offset:
            loops[target] = frozenset(at for offset, at in lines if offset >= target)
    return list(loops.values())
