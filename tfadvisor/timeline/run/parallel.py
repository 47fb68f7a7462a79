"""Hosts read by several processes at once, each reading one host after the other. None of them outlives this one."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from queue import SimpleQueue
from threading import Thread
from typing import TYPE_CHECKING, Any

from tfadvisor.errors import TraceError
from tfadvisor.processes import Replaced, Worker

if TYPE_CHECKING:
    from tfadvisor.timeline.run.one_host import Progress, Skip
    from tfadvisor.timeline.summary.host import HostSummary


def in_parallel(
    files: Sequence[Path],
    working: int,
    task: Callable[[Path], object],
    progress: Progress | None,
    skip: Skip | None,
) -> Iterator[HostSummary]:
    """The summaries in the files' order. task: what a worker is asked for a file. progress and skip: as for run_hosts."""
    workers: list[Replaced] = []
    try:
        workers += [Replaced(lambda: Worker(f"{__package__}.host_worker")) for _ in range(working)]
        outcomes = _outcomes(files, workers, task, progress, skip)
    finally:
        for worker in workers:
            worker.end()
    for file in files:
        outcome = outcomes[file]
        if skip is not None and isinstance(outcome, TraceError):
            skip(file, outcome)
        elif isinstance(outcome, Exception):
            raise outcome
        else:
            yield outcome


def _outcomes(
    files: Sequence[Path],
    workers: Sequence[Replaced],
    task: Callable[[Path], object],
    progress: Progress | None,
    skip: Skip | None,
) -> dict[Path, Any]:
    """What came of each file, a summary or an error; of those after the first error that ends the run, nothing.

    A thread waits for each worker, so that this one can be interrupted.
    """
    waiting, ended = deque(files), SimpleQueue[tuple[Path, Any]]()

    def drive(worker: Replaced) -> None:
        with suppress(IndexError):
            while True:
                file = waiting.popleft()
                try:
                    ended.put((file, worker.ask(task(file))))
                except EOFError:
                    ended.put((file, _killed(file)))
                except Exception as error:
                    ended.put((file, error))

    for worker in workers:
        Thread(target=drive, args=(worker,), name="tfadvisor-host", daemon=True).start()
    outcomes: dict[Path, Any] = {}
    known, needed = 0, len(files)
    while known < needed:
        if files[known] in outcomes:
            known += 1
            continue
        file, outcome = ended.get()
        outcomes[file] = outcome
        if not isinstance(outcome, Exception):
            if progress is not None:
                progress(file, 1, 1)
        elif skip is None or not isinstance(outcome, TraceError):
            waiting.clear()
            needed = min(needed, files.index(file) + 1)  # an earlier host's error would come first
    return outcomes


def _killed(file: Path) -> TraceError:
    return TraceError(
        str(file),
        "could not be read: the system killed each process that read it, probably because memory ran out.",
        "Analyse one host at a time with --host NAME, or on a machine with more memory.",
    )
