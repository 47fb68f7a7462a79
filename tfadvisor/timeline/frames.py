"""Which calls of the training loop's own Python take the time, from the Python tracer's frames."""

from __future__ import annotations

import numpy as np

from tfadvisor.lean_numpy import distinct, is_in
from tfadvisor.record import record
from tfadvisor.timeline.frame_names import frame_place
from tfadvisor.timeline.intervals import Int64Array, Intervals, union
from tfadvisor.timeline.model import Steps
from tfadvisor.timeline.nesting import parents
from tfadvisor.timeline.threads import Threads

_MOST_FRAMES = 3_000_000
_WORTH_NAMING = 0.01


@record
class FrameShare:
    """A call that the training loop makes. host_ps, input_ps: how much of the counted steps it fills with each.

    file: the script's name as the trace has it, without its folder. line: where the function begins. inner: the call
    below it that takes most of its time, "" when none stands out.
    """

    file: str
    line: int
    function: str
    calls: int
    host_ps: int
    input_ps: int
    inner: str

    def place(self) -> str:
        """`load_batch (train.py:42)`."""
        return f"{self.function} ({self.file}:{self.line})" if self.file else self.function


def loop_frames(threads: Threads, steps: Steps, host: Intervals, loading: Intervals) -> tuple[FrameShare, ...]:
    """The calls made by the frame that encloses the steps, those that cost most first; empty without a Python tracer."""
    if steps.thread < 0 or not steps.steady().any():
        return ()
    thread = threads.threads[steps.thread]
    frame_rows = np.array([name.startswith("$") for name in threads.names], np.bool_)
    frames = np.flatnonzero(frame_rows[threads.row[thread.lo : thread.hi]]) + thread.lo
    steady = steps.steady()
    lo, hi = int(steps.starts[steady].min()), int(steps.ends[steady].max())
    around = (threads.start[frames] <= lo) & (threads.end[frames] >= min(hi, int(steps.span_ends[steady].max())))
    inside = (threads.end[frames] > lo) & (threads.start[frames] < hi)
    frames = frames[around | inside][:_MOST_FRAMES]
    if not len(frames):
        return ()
    start, end, row = threads.start[frames], threads.end[frames], threads.row[frames]
    parent = parents(start, end)
    around = (start <= lo) & (end >= min(hi, int(steps.span_ends[steady].max())))
    loop = int(np.flatnonzero(around)[-1]) if around.any() else -1
    called = np.flatnonzero((parent == loop) & ~around & (end > start))
    windows = union(steps.starts[steady], steps.ends[steady])
    cost = host.within(start[called], end[called]) + loading.within(start[called], end[called])
    counted = windows.contains(start[called])
    called, cost = called[counted], cost[counted]
    total = windows.length()
    shares = []
    for used in distinct(row[called]).tolist():
        mine = called[row[called] == used]
        if int(cost[row[called] == used].sum()) < _WORTH_NAMING * total:
            continue
        file, line, function = frame_place(threads.names[used]) or ("", 0, threads.names[used].removeprefix("$"))
        inner = _inner(parent, start, end, row, mine, threads.names)
        shares.append(
            FrameShare(
                file,
                line,
                function,
                len(mine),
                int(host.within(start[mine], end[mine]).sum()),
                int(loading.within(start[mine], end[mine]).sum()),
                inner,
            )
        )
    return tuple(sorted(shares, key=lambda share: -(share.host_ps + share.input_ps)))


def _inner(
    parent: Int64Array, start: Int64Array, end: Int64Array, row: np.ndarray, calls: Int64Array, names: tuple[str, ...]
) -> str:
    """The child that fills most of these calls, when it fills at least half."""
    below = np.flatnonzero(is_in(parent, calls))
    if not len(below):
        return ""
    rows, inverse = np.unique(row[below], return_inverse=True)
    time = np.bincount(inverse, (end - start)[below])
    top = int(np.argmax(time))
    if time[top] < 0.5 * float((end - start)[calls].sum()):
        return ""
    return names[int(rows[top])].removeprefix("$")
