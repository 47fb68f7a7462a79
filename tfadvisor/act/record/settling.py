"""When a program has stopped compiling, so that what follows may be its steps."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from tfadvisor.act.record.board import Process

_EAGER_AFTER_SECONDS = 10.0
PATIENCE_SECONDS = 10.0
_RESTLESS = 4
"""With so many compilations in that time, or a longer one, they look like those of the
steps.
"""
_IN_A_WINDOW = 6
"""Of these, what a window should hold."""


class Ready(msgspec.Struct, frozen=True):
    """Processes that may be training.

    seconds: 0 where they have settled; else they compile again and again, and that long
    a window holds several of these.
    """

    processes: Sequence[Process]
    seconds: float = 0.0

    @property
    def restless(self) -> bool:
        """Whether nothing but compiling was seen."""
        return self.seconds > 0


def may_train(
    processes: Sequence[Process],
    now: float,
) -> list[Process]:
    """Those that have compiled, or have had TensorFlow for long, which can do without.
    now: as their times.
    """
    return [process for process in processes if _may_train(process, now)]


def _may_train(process: Process, now: float) -> bool:
    if process.left or process.error:
        return False
    if process.compiled:
        return True

    tensorflow = process.frameworks.get("tensorflow")
    if tensorflow is None or process.forked:
        return False
    return now - tensorflow.ready >= _EAGER_AFTER_SECONDS


def settled(
    processes: Sequence[Process],
    quiet_seconds: float,
    now: float,
) -> list[Process]:
    """The processes that may be training, once none of them has compiled for so long;
    none before. now: as their times.
    """
    training = may_train(processes, now)
    times = [process.last_compiled for process in training]
    compiled = [time for time in times if time is not None]

    is_quiet = now - max(compiled, default=0.0) >= quiet_seconds
    return training if is_quiet else []


class Patience:
    """Waits for processes to settle, and not for ever for those whose every step
    compiles.
    """

    def __init__(
        self,
        quiet_seconds: float,
        seconds: float = PATIENCE_SECONDS,
    ) -> None:
        """quiet_seconds: as of settled. seconds: how long it waits at least for what
        compiles all the time.
        """
        self._quiet = quiet_seconds
        self._seconds = seconds
        self._since: float | None = None
        self._before: dict[str, int] = {}

    def ready(
        self,
        processes: Sequence[Process],
        now: float,
    ) -> Ready | None:
        """None as long as it waits. To be asked again and again, with later times."""
        found = settled(processes, self._quiet, now)
        if found:
            return Ready(found)

        training = may_train(processes, now)
        if not training:
            return None

        if self._since is None:
            self._since = now
        waited = now - self._since
        more = max(map(self._compiled_since, training))
        if waited < self._seconds or more < _RESTLESS:
            return None
        return Ready(training, waited * _IN_A_WINDOW / more)

    def _compiled_since(self, process: Process) -> int:
        """How often, since it was asked about it first."""
        before = self._before.setdefault(process.name, process.compiled)
        return process.compiled - before
