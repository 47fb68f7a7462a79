"""A program may record itself while it is recorded: its own profiler comes first, since
there can be only one.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

_STARTS = (
    ("jax.profiler", "start_trace"),
    ("jax._src.profiler", "start_trace"),
    ("tensorflow.python.profiler.profiler_v2", "start"),
    ("tensorflow._api.v2.profiler.experimental", "start"),
)
"""Where programs find the functions that start a profiler."""
_STOPPING_SECONDS = 60.0
_LOOK_SECONDS = 0.03
GROWTH_BYTES = 50 << 20
"""Of the process's memory while a session is open; once it stops it takes three times
as much for a moment, as measured.
"""


def resident_bytes() -> int:
    """Of this process; 0 where the system does not tell."""
    try:
        with open("/proc/self/statm", encoding="ascii") as text:
            pages = int(text.read().split()[1])
            return pages * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return 0


class GivingWay:
    """While it is entered, a start of the program's own profiler waits until our
    session is stopped.
    """

    def __init__(self) -> None:
        """Nothing is replaced yet."""
        self.given = False
        self.over = threading.Event()
        self._stopped = threading.Event()
        self._replaced: list[tuple[Any, str, Any, Any]] = []

    def wait(
        self,
        seconds: float,
        leaving: threading.Event,
    ) -> str:
        """For so long, or until the program starts its profiler or ends, or its memory
        grows. Why it was cut short, "" if not.
        """
        before, until = resident_bytes(), time.monotonic() + seconds
        while not leaving.is_set():
            left = until - time.monotonic()
            if left <= 0 or self.over.wait(min(left, _LOOK_SECONDS)):
                break
            if resident_bytes() - before > GROWTH_BYTES:
                return "memory"
        return ""

    def __enter__(self) -> GivingWay:
        """Only modules that are imported already are looked at."""
        for place, name in _STARTS:
            module = sys.modules.get(place)
            start = getattr(module, name, None)
            if start is not None:
                ours = self._before(start)
                setattr(module, name, ours)
                self._replaced.append((module, name, start, ours))
        return self

    def __exit__(self, *_error: object) -> None:
        """Puts back what nobody else has replaced meanwhile."""
        for module, name, start, ours in self._replaced:
            if getattr(module, name, None) is ours:
                setattr(module, name, start)
        self._stopped.set()

    def _before(self, start: Callable[..., Any]) -> Callable[..., Any]:
        def own_profiler(
            *arguments: Any,
            **named: Any,
        ) -> Any:
            self.given = True
            self.over.set()
            self._stopped.wait(_STOPPING_SECONDS)
            return start(*arguments, **named)

        return own_profiler
