"""How often the loop of the main thread goes round, as Python itself tells it from 3.12
on: by the lines of functions that are on its stack and stay there, and of nothing else.

What Python calls at each line is `print`, into a text in memory: nothing in Python's
own language, in whose midst an alarm of the program could come. It is not asked for
jumps: with these 3.12 and 3.13 lose exceptions of alarms. This thread looks at how
long the text is. Before 3.12 nothing is counted.
"""

from __future__ import annotations

import io
import re
import sys
import threading
import time
from bisect import bisect_left
from collections.abc import Callable
from functools import partial
from types import CodeType, FrameType
from typing import Any
from weakref import ref

from .main_thread import TOOL, free_monitoring
from .own_sources import is_own

FEWEST = 4
_ENOUGH = 20
"""Rounds, in half a second or more."""
_ENOUGH_SECONDS = 0.5
_MOST_LETTERS = 1 << 22
_MANY_LETTERS = 1 << 17
"""After which functions that fill the text are left out."""
LOOK_SECONDS = 0.01
_PATIENCE_SECONDS, _LONGEST_PATIENCE_SECONDS, _PATIENCE_ROUNDS = 1.0, 10.0, 3
"""For which a line of the loop is waited for."""
_GENERATOR = 0x20 | 0x80 | 0x200
_COVERS = 0.5
"""Of the time for which it was counted: a line that came no more after less is in no
loop that lasts."""
_OF_ONE_LOOP = 2
"""Times as often as another one a line of the same loop may come: in one form of two.
"""
_FEW_TAKE_MOST = 2.0
"""Times the median that the mean is then."""
_EACH = 0.8
"""Of the rounds, in which a line comes that is in every one: the first and the last
are cut off.
"""
_LINE = re.compile(r'<code object (.+) at 0x\w+, file "(.*)", line (\d+)> (\d+)')


class RoundCounter:
    """Of what is on the main thread's stack now."""

    def __init__(self) -> None:
        """Nothing is counted yet."""
        self._text = io.StringIO()
        self._looks: list[tuple[float, int]] = []
        """(when, how long the text was)."""
        self._read = 0
        """Of it, up to where what is called again was looked for."""
        self._begun: dict[tuple[str, str, str], int] = {}
        """How often the first line of each function came up to there."""
        self._code: Any = None
        self._median_seconds = 0.0
        self._is_around = False
        """Whether lines came again around what was found, though not for long enough
        yet, as those of a training loop that has evaluated since.
        """

    @property
    def code(self) -> CodeType | None:
        """Of the function that loops, once it was counted, while it is there."""
        return None if self._code is None else self._code()

    @property
    def patience_seconds(self) -> float:
        """After which it may be taken for over."""
        rounds = _PATIENCE_ROUNDS * self._median_seconds
        return min(max(_PATIENCE_SECONDS, rounds), _LONGEST_PATIENCE_SECONDS)

    def count(
        self, seconds: float, over: threading.Event, look: Callable[[], None]
    ) -> dict[str, Any] | None:
        """The outermost function in which lines come again and again for as long, and
        how long a round of them takes. None where none does, or Python does not tell,
        or tells another tool. over: set where nothing more is to be counted. look:
        called again and again meanwhile.
        """
        monitoring = free_monitoring()
        if monitoring is None:
            return None
        functions = _functions()
        line = monitoring.events.LINE
        monitoring.use_tool_id(TOOL, "tfadvisor")
        try:
            monitoring.register_callback(TOOL, line, partial(print, file=self._text))
            for code in functions:
                monitoring.set_local_events(TOOL, code, line)
            found = self._look(functions, seconds, over, look, monitoring)
        finally:
            for code in functions:
                monitoring.set_local_events(TOOL, code, 0)
            monitoring.register_callback(TOOL, line, None)
            monitoring.free_tool_id(TOOL)
        return found

    def _look(
        self,
        functions: list[CodeType],
        seconds: float,
        over: threading.Event,
        look: Callable[[], None],
        monitoring: Any,
    ) -> dict[str, Any] | None:
        began = time.perf_counter()
        until, again = began + seconds, began + _ENOUGH_SECONDS
        asked = {_known_by(code): code for code in functions}
        while time.perf_counter() < until and not over.wait(LOOK_SECONDS):
            look()
            now = time.perf_counter()
            self._looks.append((now, self._text.tell()))
            if self._looks[-1][1] > _MOST_LETTERS:
                break
            if self._looks[-1][1] - self._read > _MANY_LETTERS:
                self._ask_less(asked, monitoring)
            if now > again:
                again = now + _ENOUGH_SECONDS
                found = self._outermost(functions)
                is_enough = found is not None and found["rounds"] >= _ENOUGH
                if is_enough and not self._is_around:
                    return found
        return self._outermost(functions)

    def _ask_less(
        self, asked: dict[tuple[str, str, str], CodeType], monitoring: Any
    ) -> None:
        """Of functions of libraries that are called again and again, as a framework's
        when it runs ops one by one: their lines would fill the text.
        """
        text = self._text.getvalue()
        for found in _LINE.finditer(text, self._read):
            known = found[1], found[2], found[3]
            code = asked.get(known)
            if code is not None and int(found[4]) == _first_line(code):
                self._begun[known] = self._begun.get(known, 0) + 1
        self._read = len(text)
        for known, times in self._begun.items():
            if times > 1 and known in asked and not is_own(known[1]):
                monitoring.set_local_events(TOOL, asked.pop(known), 0)

    def _outermost(self, functions: list[CodeType]) -> dict[str, Any] | None:
        times: dict[tuple[str, str, str], dict[int, list[float]]] = {}
        for found in _LINE.finditer(self._text.getvalue()):
            lines = times.setdefault((found[1], found[2], found[3]), {})
            lines.setdefault(int(found[4]), []).append(self._when(found.end()))

        self._is_around = False
        for code in functions:
            lines = times.get(_known_by(code), {})
            if _is_called_again(code, lines):
                continue
            again = {line: at for line, at in lines.items() if self._lasts(at)}
            if not again:
                self._is_around |= any(len(at) >= FEWEST for at in lines.values())
            else:
                rounds = again[_usual(again)]
                self._code, self._median_seconds = ref(code), _between(rounds)
                return {
                    "file": code.co_filename,
                    "function": code.co_name,
                    "rounds": len(rounds),
                    "loops": _loops(again),
                }
        return None

    def _lasts(self, at: list[float]) -> bool:
        seconds = self._looks[-1][0] - self._looks[0][0]
        return len(at) >= FEWEST and at[-1] - at[0] >= _COVERS * seconds

    def _when(self, letter: int) -> float:
        """When that letter was written, between two looks."""
        after = bisect_left([letters for _, letters in self._looks], letter)
        if not 0 < after < len(self._looks):
            return self._looks[min(after, len(self._looks) - 1)][0]
        (before_s, before), (after_s, until) = self._looks[after - 1 : after + 1]
        return before_s + (letter - before) / (until - before) * (after_s - before_s)


def _is_called_again(code: CodeType, times: dict[int, list[float]]) -> bool:
    """Whether a library's function goes round because it is called again and again, as
    what it wraps around each call: its first line comes more than once.
    """
    if is_own(code.co_filename):
        return False
    return len(times.get(_first_line(code), ())) > 1


def _first_line(code: CodeType) -> int:
    """Of its body; 0 for none."""
    lines = (line for _, _, line in code.co_lines() if line is not None)
    return min((line for line in lines if line > code.co_firstlineno), default=0)


def _loops(again: dict[int, list[float]]) -> list[dict[str, Any]]:
    """The lines of a function by how often they come, as those of an outer loop and of
    an inner one: the one that comes least often first.
    """
    found: list[list[int]] = []
    for line in sorted(again, key=lambda line: len(again[line])):
        if found and len(again[line]) <= _OF_ONE_LOOP * len(again[found[-1][0]]):
            found[-1].append(line)
        else:
            found.append([line])
    return [_loop({line: again[line] for line in lines}) for lines in found]


def _loop(lines: dict[int, list[float]]) -> dict[str, Any]:
    rounds = lines[_usual(lines)]
    each = [line for line, at in lines.items() if len(at) >= _EACH * len(rounds)]
    return {
        "lines": [min(lines), max(lines)],
        "each": sorted(each),
        "median_ms": _usual_seconds(rounds) * 1e3,
        "rounds": len(rounds),
    }


def _usual_seconds(at: list[float]) -> float:
    """Of a round; 0 for unknown, where few rounds take most of the time: a program that
    dispatches ahead may wait in these for all others.
    """
    median, whole = _between(at), at[-1] - at[0]
    return 0.0 if whole > _FEW_TAKE_MOST * median * (len(at) - 1) else median


def _between(at: list[float]) -> float:
    pairs = zip(at, at[1:])  # noqa: B905, RUF007
    between = sorted(after - before for before, after in pairs)
    return between[len(between) // 2]


def _usual(times: dict[int, list[float]]) -> int:
    """The first line that came as often as most did."""
    counts = [len(at) for at in times.values()]
    usual = max(set(counts), key=lambda count: (counts.count(count), count))
    return min(line for line, at in times.items() if len(at) == usual)


def _known_by(code: CodeType) -> tuple[str, str, str]:
    return code.co_name, code.co_filename, str(code.co_firstlineno)


def _functions() -> list[CodeType]:
    """Those that are open in the main thread now, none of which is a generator; the
    outermost is the first. No frame is kept.
    """
    frame: FrameType | None = sys._current_frames().get(
        threading.main_thread().ident or 0
    )
    found = []
    while frame is not None:
        if not frame.f_code.co_flags & _GENERATOR:
            found.append(frame.f_code)
        frame = frame.f_back
    return list(dict.fromkeys(reversed(found)))
