"""The hosts of a run, each read and reduced to its summary: one after the other, or in
parallel processes.

Only summaries are kept, so memory does not grow with the number of hosts, and a process
can hand its result over.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from enum import Enum
from pathlib import Path

from tfadvisor.errors import TraceError
from tfadvisor.memory_limits import free_memory, unpacked_size
from tfadvisor.timeline.run.one_host import Progress, Skip, Watch, by_engine, read_host
from tfadvisor.timeline.summary.host_summary import HostSummary


class Detail(Enum):
    """What a run is read for."""

    REPORT = "report"
    """No pictures."""
    TWO_STEPS = "two steps"
    """A page whose server draws the other steps when they are asked for."""
    EVERY_STEP = "every step"
    """A page by itself."""


_WORTH_PROCESSES = 16 << 20
"""Below this many bytes in all hosts' files processes hardly save what they cost: 40 ms
a copy of this one.
"""
_PICTURED_EVENTS = 60_000
"""In the pictures of one step on all hosts together; of one host 500 to 40,000."""
_OTHER_EVENTS = 80_000
"""In the pictures of all steps but the median and the worst, on all hosts together."""
_MEMORY_PER_BYTE = 8
"""Peak memory of an analysis over the file's size; packed files hold ten times as much.
"""


def run_hosts(
    files: Sequence[Path],
    steps: tuple[int, int] | None,
    processes: int,
    progress: Progress | None,
    *,
    detail: Detail = Detail.REPORT,
    watch: Watch | None = None,
    skip: Skip | None = None,
) -> Iterator[HostSummary]:
    """In the files' order. processes: how many may work at once, one where a watch sees
    the hosts.

    detail: which steps have pictures. skip: takes the TraceErrors of hosts, which are
    then left out. Without it raises the one that comes first; one says that the
    processes that read a host were killed.
    """
    drawing = None
    if detail is not Detail.REPORT and files:
        # only a page draws steps
        from tfadvisor.timeline.picture.step_picture import Drawing

        others = _OTHER_EVENTS if detail is Detail.EVERY_STEP else 0
        drawing = Drawing(
            min(max(_PICTURED_EVENTS // len(files), 500), 40_000),
            others // len(files),
        )
    sizes = [unpacked_size(file) for file in files]
    fitting = max(free_memory() // max(max(sizes, default=1) * _MEMORY_PER_BYTE, 1), 1)
    working = min(processes, len(files), fitting)
    if watch is not None or working < 2 or sum(sizes) < _WORTH_PROCESSES:
        yield from _one_by_one(
            files,
            lambda file: read_host(file, steps, progress, drawing, watch),
            skip,
        )
    else:
        # only many large files need processes
        from tfadvisor.timeline.run.local_processes import LocalProcesses

        yield from _in_order(
            files,
            by_engine(files, LocalProcesses(working), steps, drawing),
            progress,
            skip,
        )


def _one_by_one(
    files: Sequence[Path],
    read: Callable[[Path], HostSummary],
    skip: Skip | None,
) -> Iterator[HostSummary]:
    for file in files:
        try:
            summary = read(file)
        except TraceError as error:
            if skip is None:
                raise
            skip(file, error)
        else:
            yield summary


def _in_order(
    files: Sequence[Path],
    found: Iterator[tuple[int, HostSummary | TraceError]],
    progress: Progress | None,
    skip: Skip | None,
) -> Iterator[HostSummary]:
    outcomes: dict[int, HostSummary | TraceError] = {}
    for index, outcome in found:
        if skip is None and isinstance(outcome, TraceError):
            raise outcome
        outcomes[index] = outcome
        if progress is not None:
            progress(files[index], 1, 1)
    for index, file in enumerate(files):
        outcome = outcomes.pop(index)
        if not isinstance(outcome, TraceError):
            yield outcome
        elif skip is not None:
            skip(file, outcome)


def progress_over(files: Sequence[Path], show: Callable[[float], None]) -> Progress:
    """Shows the share of all files that is done, each file counting alike."""
    done_of = dict.fromkeys(files, 0.0)
    together = 0.0

    def progress(
        file: Path,
        done: int,
        total: int,
    ) -> None:
        nonlocal together
        together += done / max(total, 1) - done_of[file]
        done_of[file] = done / max(total, 1)
        show(min(together / len(files), 1.0))

    return progress
