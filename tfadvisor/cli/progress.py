"""A bar on a terminal while large files are read; nothing elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tfadvisor.report.printable import printable
from tfadvisor.timeline.run.one_host import Progress
from tfadvisor.timeline.run.read_hosts import progress_over
from tfadvisor.xplane.runs import Run

_LARGE = 64 << 20


@contextmanager
def reading_progress(run: Run) -> Iterator[Progress | None]:
    """A bar on a terminal while large files are read; nothing elsewhere."""
    if not sys.stderr.isatty() or sum(_size(file) for file in run.files) < _LARGE:
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f}%"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        title = run.files[0].name if len(run.files) == 1 else f"{len(run.files)} hosts"
        task = bar.add_task(printable(title), total=1.0)
        yield progress_over(run.files, lambda done: bar.update(task, completed=done))


def _size(file: Path) -> int:
    try:
        return file.stat().st_size
    except OSError:
        return 0  # reading it will say what is wrong
