"""Processes as they tell about themselves to `tfadvisor run`."""

from __future__ import annotations

from tfadvisor.act.record.board import Framework, Process


def process(
    name: str,
    *,
    host: str = "h",
    pid: int = 1,
    forked: bool = False,
    compiled_at: float | None = None,
    compiled: int = 1,
    left: bool = False,
    error: str | None = None,
    **frameworks: float,
) -> Process:
    """frameworks: when the import of each was over. compiled_at: the last time that it
    compiled. Both in seconds.
    """
    return Process(
        name=name,
        pid=pid,
        host=host,
        forked=forked,
        frameworks={
            framework: Framework("1.0", ready)
            for framework, ready in frameworks.items()
        },
        compiled=compiled if compiled_at is not None else 0,
        last_compiled=compiled_at,
        windows={},
        left=left,
        error=error,
    )
