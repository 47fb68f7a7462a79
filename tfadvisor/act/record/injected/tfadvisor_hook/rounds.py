"""How often the loops of the main thread go round, as Python itself tells it from 3.12
on: of the code that is on its stack and stays there, and of nothing else.

Of a function only jumps back are counted. Before 3.12 nothing is
counted.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any

FEWEST = 4
_MOST_ROUNDS = 2_000
_TOOLS = (4, 3)
"""Numbers that no kind of tool has been given."""
_GENERATOR = 0x20 | 0x80 | 0x200
_COVERS = 0.5
"""Of the time for which it was counted: a loop that was over sooner is none that
lasts."""


class Loop:
    """Jumps back to one place of a function."""

    def __init__(self, depth: int, code: CodeType, target: int) -> None:
        """depth: of the function on the stack."""
        self.depth, self.code, self.target = depth, code, target
        self.jump = target
        self.at: list[float] = []
        """When it went round, s."""

    def lines(self) -> tuple[int, int]:
        """The first and the last."""
        found = [
            line
            for start, end, line in self.code.co_lines()
            if line and start <= self.jump and end > self.target
        ]
        return min(found), max(found)

    def began_ns(self) -> list[int]:
        """When each round began, since the epoch."""
        epoch = time.time() - time.perf_counter()
        return [int((one + epoch) * 1e9) for one in self.at]

    def in_words(self) -> dict[str, Any]:
        """For `tfadvisor run`."""
        pairs = zip(self.at, self.at[1:])  # noqa: B905
        between = sorted(after - before for before, after in pairs)
        return {
            "file": self.code.co_filename,
            "function": self.code.co_name,
            "lines": list(self.lines()),
            "median_ms": between[len(between) // 2] * 1e3,
        }


class RoundCounter:
    """Of what is on the main thread's stack now."""

    def __init__(self) -> None:
        """Nothing is counted yet."""
        self._loops: dict[tuple[CodeType, int], Loop] = {}
        self._depths: dict[CodeType, int] = {}

    def count(
        self,
        wait: Callable[[], object],
    ) -> Loop | None:
        """The outermost loop that goes round for as long as `wait` takes. None where
        none does, or Python does not tell.
        """
        monitoring: Any = getattr(sys, "monitoring", None)
        tool = _free_tool(monitoring) if monitoring is not None else None
        if tool is None:
            wait()
            return None
        self._depths = _functions()
        monitoring.use_tool_id(tool, "tfadvisor")
        began = time.perf_counter()
        try:
            jump = monitoring.events.JUMP
            monitoring.register_callback(tool, jump, self._jumped)
            for code in self._depths:
                monitoring.set_local_events(tool, code, jump)
            wait()
        finally:
            for code in self._depths:
                monitoring.set_local_events(tool, code, 0)
            monitoring.register_callback(tool, monitoring.events.JUMP, None)
            monitoring.free_tool_id(tool)
            self._depths = {}
        return self._lasting(time.perf_counter() - began)

    def _jumped(self, code: CodeType, at: int, target: int) -> Any:
        """In the program's thread."""
        if target > at:
            return sys.monitoring.DISABLE  # type: ignore[attr-defined]
        loop = self._loops.get((code, target))
        if loop is None:
            depth = self._depths.get(code)
            if depth is None:
                return None
            loop = self._loops[code, target] = Loop(depth, code, target)
        loop.jump = max(loop.jump, at)
        if len(loop.at) < _MOST_ROUNDS:
            loop.at.append(time.perf_counter())
        return None

    def _lasting(self, seconds: float) -> Loop | None:
        loops = [
            one
            for one in self._loops.values()
            if len(one.at) >= FEWEST and one.at[-1] - one.at[0] >= _COVERS * seconds
        ]
        self._loops = {}
        # A loop around another one begins before it.
        return min(loops, key=lambda one: (one.depth, one.target), default=None)


def _free_tool(monitoring: Any) -> int | None:
    free = (one for one in _TOOLS if monitoring.get_tool(one) is None)
    return next(free, None)


def _functions() -> dict[CodeType, int]:
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
    depths: dict[CodeType, int] = {}
    for depth, code in enumerate(reversed(found)):
        depths.setdefault(code, depth)
    return depths
