"""The windows of a block: a short one with calls of Python functions, then the rest as these cost little or much."""

from __future__ import annotations

import os
import socket
import threading
import time
from pathlib import Path
from typing import Any

import msgspec

from tfadvisor.errors import TraceError
from tfadvisor.record.conduct import COST_LIMIT
from tfadvisor.record.cost import cost_of, cost_without_calls
from tfadvisor.record.injected.tfadvisor_hook.machine import reading
from tfadvisor.record.injected.tfadvisor_hook.tracers import Tracer, tracer_for

FIRST_SECONDS = 1.0
"""How long the first window is: from it calls are counted, and it has the lines where the rest is recorded without."""


class Taken(msgspec.Struct, frozen=True):
    """A window that is over. folder: holds its trace. opened, closed: seconds since the epoch."""

    folder: Path
    python_tracer: bool
    opened: float
    closed: float
    followed: int | None
    """As of a Window."""
    counters: tuple[dict[str, Any], dict[str, Any]]
    """Of the machine, as it opened and as it closed."""

    @property
    def cost(self) -> float:
        """What tracing its calls of Python adds to a step, as a share of it."""
        return cost_of(self.folder, self.closed - self.opened, self.followed)

    @property
    def cheap(self) -> bool:
        """Whether recording calls too stays below what a recording may cost."""
        return self.cost + cost_without_calls(self.folder, self.closed - self.opened) <= COST_LIMIT


class _Open(msgspec.Struct, frozen=True):
    tracer: Tracer
    file: Path
    python_tracer: bool
    opened: float
    counters: dict[str, Any]


class BlockWindows:
    """Sessions of a framework's profiler, one after the other, in this process."""

    def __init__(self, framework: str, folder: Path) -> None:
        """folder: for their traces, one below it each."""
        self._framework, self._folder = framework, folder
        self._taken: list[Taken] = []
        self._open: _Open | None = None
        self._turn = threading.Lock()
        self._over = threading.Event()

    def start(self, *, python_tracer: bool) -> None:
        """Raises RuntimeError while something else records."""
        self._begin(python_tracer=python_tracer)
        if python_tracer:
            threading.Thread(target=self._go_on, name="tfadvisor", daemon=True).start()

    def end(self) -> list[Taken]:
        """The windows in their order."""
        self._over.set()
        with self._turn:
            self._cease()
        return self._taken

    def _go_on(self) -> None:
        """Once the first window is long enough. Where no other can be begun, that is all there is."""
        if self._over.wait(FIRST_SECONDS):
            return
        with self._turn:
            if self._over.is_set():
                return
            self._cease()
            try:
                self._begin(python_tracer=self._taken[0].cheap)
            except (RuntimeError, TraceError, OSError):
                return

    def _begin(self, *, python_tracer: bool) -> None:
        file = self._folder / str(len(self._taken)) / f"{socket.gethostname()}.xplane.pb"
        file.parent.mkdir()
        tracer = tracer_for(self._framework, str(file))
        tracer.start({"python_tracer": python_tracer})
        self._open = _Open(tracer, file, python_tracer, time.time(), reading(os.getpid()))

    def _cease(self) -> None:
        if (one := self._open) is None:
            return
        self._open = None
        closed, counters = time.time(), reading(os.getpid())
        one.tracer.stop(str(one.file))
        followed = one.tracer.followed()
        taken = Taken(one.file.parent, one.python_tracer, one.opened, closed, followed, (one.counters, counters))
        self._taken.append(taken)
