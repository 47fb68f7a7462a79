"""Lets the program's main thread itself call something: between two lines of the loop
that it is in, from Python 3.12 on, else between two of its instructions. So it is in no
call of a framework meanwhile, as CUDA's profiler demands, which bears no start in the
midst of launches.

All that the main thread calls is C, so that no alarm of the program can come in its
midst. What the call raises is printed as ignored, and never reaches the program.
"""

from __future__ import annotations

import operator
import os
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Callable
from functools import partial
from types import CodeType
from typing import Any

TOOL = 4
"""A number that no kind of monitoring tool has been given."""
_LOOK_SECONDS = 0.01
_INSTRUCTION_SECONDS = 1.0
"""For which a main thread that runs no Python is waited for."""
_KEPT: list[object] = []
"""What the main thread may still be going to call, however long it takes until it can:
never freed.
"""


class Errand:
    """One call, made once or never."""

    def __init__(self, function: Callable[[Any], Any], argument: object) -> None:
        """function: in C. argument: not None."""
        import ctypes  # few programs need it

        self._call = function, argument
        self.results: list[Any] = []
        """What it returned; none before, and where it failed."""
        self._argument = {"": argument}
        self._over = threading.Lock()
        self._over.acquire()
        arguments = iter(partial(self._argument.pop, "", None), None)
        call = partial(self.results.extend, map(function, arguments))
        parts = iter((ctypes.PYFUNCTYPE(None)(call), self._over.release))
        both = map(operator.methodcaller("__call__"), parts)
        # Neither returns a zero: there are none to count, and 0 says that all is well.
        self._go = ctypes.PYFUNCTYPE(ctypes.c_int)(partial(operator.countOf, both, 0))

    def is_made(
        self, code: CodeType | None, seconds: float, in_vain: threading.Event
    ) -> bool:
        """Whether the main thread has made it: if not, it never will. code: of the
        function that loops, where that is known. seconds: how long a line of it is
        waited for. in_vain: set where the main thread waits for the caller.
        """
        if code is not None and self._between_lines(code, seconds, in_vain):
            return True
        return self._between_instructions(in_vain) or not self._give_up()

    def made_here(self) -> Any:
        """What it returns, or raises, in the thread that asks."""
        function, argument = self._call
        return function(argument)

    def forget(self) -> bool:
        """It is never made; False where it was begun."""
        return self._argument.pop("", None) is not None

    def _between_lines(
        self, code: CodeType, seconds: float, in_vain: threading.Event
    ) -> bool:
        monitoring = free_monitoring()
        if monitoring is None:
            return False
        line = monitoring.events.LINE
        once: defaultdict[str, int] = defaultdict(self._go)
        monitoring.use_tool_id(TOOL, "tfadvisor")
        try:
            # A text that needs the first argument alone, which calls when it is asked.
            monitoring.register_callback(TOOL, line, partial("{0[go]}".format, once))
            monitoring.set_local_events(TOOL, code, line)
            return self._is_over(seconds, in_vain)
        finally:
            monitoring.set_local_events(TOOL, code, 0)
            monitoring.register_callback(TOOL, line, None)
            monitoring.free_tool_id(TOOL)

    def _between_instructions(self, in_vain: threading.Event) -> bool:
        import ctypes

        _KEPT.append(self._go)
        ctypes.pythonapi.Py_AddPendingCall(self._go, None)
        return self._is_over(_INSTRUCTION_SECONDS, in_vain)

    def _is_over(self, seconds: float, in_vain: threading.Event) -> bool:
        """Within that time, or later where it was begun then."""
        until = time.monotonic() + seconds
        while not self._over.acquire(timeout=_LOOK_SECONDS):
            is_late = in_vain.is_set() or time.monotonic() > until
            if is_late and self._argument:
                return False
        return True

    def _give_up(self) -> bool:
        """Where it was begun it is waited for: False."""
        if self.forget():
            return True
        self._over.acquire()
        return False


def free_monitoring() -> Any:
    """Python's, where no other tool uses it; None before 3.12."""
    monitoring: Any = getattr(sys, "monitoring", None)
    if monitoring is None or any(map(monitoring.get_tool, range(6))):
        return None
    return monitoring


def all_sleep(seconds: float, in_vain: threading.Event) -> bool:
    """Whether the system shows, within that time, that all threads of Python but this
    one sleep: none is in the midst of a launch then.
    """
    until = time.monotonic() + seconds
    before = _ran()
    while time.monotonic() < until and not in_vain.wait(_LOOK_SECONDS):
        now = _ran()
        if now and now == before:
            return True
        before = now
    return False


def _ran() -> dict[int, str]:
    """By thread: how long it ran so far; empty where the system does not tell."""
    own = threading.get_native_id()
    found = {}
    for thread in threading.enumerate():
        if thread.native_id not in (None, own):
            try:
                file = f"/proc/self/task/{thread.native_id}/schedstat"
                with os.fdopen(os.open(file, os.O_RDONLY)) as text:
                    found[thread.native_id] = text.read().split()[0]
            except (OSError, IndexError):
                return {}
    return found
