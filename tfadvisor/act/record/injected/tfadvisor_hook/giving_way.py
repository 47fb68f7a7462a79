"""A program may record itself while it is recorded: its own profiler comes first, since there can be only one."""

from __future__ import annotations

import sys
import threading
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


class GivingWay:
    """While it is entered, a start of the program's own profiler waits until our session is stopped."""

    def __init__(self) -> None:
        """Nothing is replaced yet."""
        self.given = False
        self.over = threading.Event()
        self._stopped = threading.Event()
        self._replaced: list[tuple[Any, str, Any, Any]] = []

    def wait(self, seconds: float, leaving: threading.Event) -> None:
        """For so long, or until the program starts its profiler or ends."""
        if not leaving.is_set():
            self.over.wait(seconds)

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
        def own_profiler(*arguments: Any, **named: Any) -> Any:
            self.given = True
            self.over.set()
            self._stopped.wait(_STOPPING_SECONDS)
            return start(*arguments, **named)

        return own_profiler
