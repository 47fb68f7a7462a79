"""The process that reads hosts of a large run for another one: a file in, its summary out."""

from __future__ import annotations

import gc
from pathlib import Path
from typing import TYPE_CHECKING

from tfadvisor.processes import answer_tasks
from tfadvisor.timeline.run.one_host import read_host
from tfadvisor.timeline.summary.host import HostSummary

if TYPE_CHECKING:
    from tfadvisor.timeline.picture.step_picture import Drawing


def main() -> None:
    """Reads what it is asked for until whoever asked is gone."""
    gc.disable()
    answer_tasks(_read)


def _read(task: tuple[Path, tuple[int, int] | None, Drawing | None]) -> HostSummary:
    file, steps, drawing = task
    return read_host(file, steps, None, drawing)
