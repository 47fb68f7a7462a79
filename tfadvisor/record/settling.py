"""When a program has stopped compiling, so that what follows may be its steps."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from tfadvisor.record.board import Process

_EAGER_AFTER_SECONDS = 10.0
PATIENCE_SECONDS = 10.0
_RESTLESS = 4
"""With so many compilations in that time, or a longer one, they look like those of the steps."""
_TOLD = 6
"""Of these, what a window should hold."""


class Ready(msgspec.Struct, frozen=True):
    """Processes that may be training.

    seconds: 0 where they have settled; else they compile again and again, and that long a window holds several of these.
    """

    processes: Sequence[Process]
    seconds: float = 0.0

    @property
    def restless(self) -> bool:
        """Whether nothing but compiling was seen."""
        return self.seconds > 0


def may_step(process: Process, now: float) -> bool:
    """Whether a process may be training: it has compiled, or has had TensorFlow for long, which can do without."""
    if process.left or process.error:
        return False
    if process.compiled:
        return True
    tensorflow = process.frameworks.get("tensorflow")
    return tensorflow is not None and not process.forked and now - tensorflow.ready >= _EAGER_AFTER_SECONDS


def may_train(processes: Sequence[Process], now: float) -> list[Process]:
    """Those of them that may be training. now: as their times."""
    return [process for process in processes if may_step(process, now)]


def settled(processes: Sequence[Process], quiet_seconds: float, now: float) -> list[Process]:
    """The processes that may be training, once none of them has compiled for so long; none before. now: as their times."""
    training = may_train(processes, now)
    compiled = [process.last_compiled for process in training if process.last_compiled is not None]
    return training if now - max(compiled, default=0.0) >= quiet_seconds else []


class Patience:
    """Waits for processes to settle, and not for ever for those whose every step compiles."""

    def __init__(self, quiet_seconds: float, seconds: float = PATIENCE_SECONDS) -> None:
        """quiet_seconds: as of settled. seconds: how long it waits at least for what compiles all the time."""
        self._quiet = quiet_seconds
        self._seconds = seconds
        self._since: float | None = None
        self._before: dict[str, int] = {}

    def ready(self, processes: Sequence[Process], now: float) -> Ready | None:
        """None as long as it waits. To be asked again and again, with later times."""
        if found := settled(processes, self._quiet, now):
            return Ready(found)
        training = may_train(processes, now)
        if not training:
            return None
        if self._since is None:
            self._since = now
        more = max(one.compiled - self._before.setdefault(one.name, one.compiled) for one in training)
        waited = now - self._since
        return Ready(training, waited * _TOLD / more) if waited >= self._seconds and more >= _RESTLESS else None
