"""When a program has stopped compiling, so that what follows may be its steps."""

from __future__ import annotations

from collections.abc import Sequence

from tfadvisor.record.board import Process

_EAGER_AFTER_SECONDS = 10.0


def may_step(process: Process, now: float) -> bool:
    """Whether a process may be training: it has compiled, or has had TensorFlow for long, which can do without."""
    if process.left or process.error:
        return False
    if process.compiled:
        return True
    tensorflow = process.frameworks.get("tensorflow")
    return tensorflow is not None and not process.forked and now - tensorflow.ready >= _EAGER_AFTER_SECONDS


def settled(processes: Sequence[Process], quiet_seconds: float, now: float) -> list[Process]:
    """The processes that may be training, once none of them has compiled for so long; none before. now: as their times."""
    training = [process for process in processes if may_step(process, now)]
    compiled = [process.last_compiled for process in training if process.last_compiled is not None]
    return training if now - max(compiled, default=0.0) >= quiet_seconds else []
