"""Runs that commands read: where they lie, which one is meant, and how long and with
how much memory it may be read.

It imports no Typer, which takes as long to start as a small trace takes to read.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from tfadvisor.cli.ending import alarm
from tfadvisor.cli.outputs import note
from tfadvisor.memory_limits import (
    free_memory,
    limited_memory,
    limits_of_files,
    unpacked_size,
)
from tfadvisor.printable import in_one_message, printable
from tfadvisor.trace.remote_path import place_of

if TYPE_CHECKING:
    from tfadvisor.analysis import Options
    from tfadvisor.timeline.run import Progress
    from tfadvisor.trace import Run

LEDGER = Path(".tfadvisor/ledger.jsonl")


def places(given: Sequence[str] | None) -> list[Path]:
    """Paths of this machine and addresses. Raises UsageError for an address that is not
    taken.
    """
    return [place_of(place) for place in given or ()]


def _is_installed_without_a_compiler() -> bool:
    """Whether no part of this installation is compiled. A checkout that nobody has
    built is no installation.
    """
    from tfadvisor.trace import is_compiled

    is_checkout = (Path(__file__).parents[2] / "pyproject.toml").is_file()
    return not is_checkout and not is_compiled()


def chosen_run(
    paths: Sequence[Path], options: Options, another: str = " --run NAME for another."
) -> Run:
    """The run that is to be read; a note where it is the newest of several. Raises
    TraceError or UsageError.

    another: how to choose another, for the note.
    """
    from tfadvisor.trace import choose_run

    chosen, number = choose_run(paths, options.run, options.host)
    if _is_installed_without_a_compiler():
        note(
            "this installation was made without a C compiler, so traces are read in "
            "Python, which takes many times as long. Install a compiler, and tfadvisor "
            "again."
        )
    if number > 1 and options.run is None:
        note(
            f"{number:,} runs in {paths[0]}; this is the newest, "
            f"{chosen.name}.{another}"
        )
    return chosen


# A bar on a terminal while large files are read; nothing elsewhere.

_LARGE = 64 << 20


@contextmanager
def reading_progress(run: Run) -> Iterator[Progress | None]:
    """A bar on a terminal while large files are read, elsewhere nothing. Inside, the
    limits of `bounded` hold.
    """
    with bounded(run.files), _bar(run) as progress:
        yield progress


@contextmanager
def bounded(files: Sequence[Path]) -> Iterator[None]:
    """Inside, reading these files takes no longer and no more memory than any trace of
    their size needs. Raises TraceError.

    TFADVISOR_LIMITS=0 is for those who trust the trace.
    """
    if (
        os.environ.get("TFADVISOR_LIMITS") == "0"
        or threading.current_thread() is not threading.main_thread()
    ):
        yield
        return
    limits, place = limits_of_files(files), str(files[0]) if files else ""
    alarm(limits.deadline_s, str(limits.too_late(in_one_message(place))))
    try:
        with limited_memory(limits.memory):
            yield
    except MemoryError as error:
        if free_memory() < limits.memory:
            raise
        raise limits.too_large(place) from error
    finally:
        alarm(0, "")


@contextmanager
def _bar(run: Run) -> Iterator[Progress | None]:
    if not sys.stderr.isatty() or sum(map(unpacked_size, run.files)) < _LARGE:
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
        from tfadvisor.timeline.run import progress_over

        yield progress_over(run.files, lambda done: bar.update(task, completed=done))
