"""The process that does the work of `local`: a function's name and a task in, its answer out."""

from __future__ import annotations

from tfadvisor.fleet.engines.engine import work_called
from tfadvisor.processes import answer_tasks


def main() -> None:
    """Works until whoever asked is gone."""
    answer_tasks(_answer)


def _answer(asked: tuple[str, bytes]) -> bytes:
    name, task = asked
    return work_called(name)(task)
