"""Steps that the program marked itself: StepTraceAnnotation, Keras' `Profiled batch`,
`Trace("train")`, a Steps line.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec
import numpy as np

from tfadvisor.arrays import Int32Array, Int64Array, distinct, order_of, true_at
from tfadvisor.timeline.host.threads import Threads
from tfadvisor.timeline.intervals import union
from tfadvisor.timeline.names import stats
from tfadvisor.timeline.names.classes import DEVICE_PLANES, STEPS_LINE, drawn_by_viewer
from tfadvisor.trace.columns import HostTrace


class MarkedSteps(msgspec.Struct, frozen=True):
    """Start and end of each marked step, the thread that marked them (-1 for a device
    line), and the marker's name.

    next_starts: where the following step begins; for a last step, its own end.
    """

    starts: Int64Array
    ends: Int64Array
    next_starts: Int64Array
    numbers: Int64Array
    thread: int
    name: str


def marked_steps(trace: HostTrace, threads: Threads) -> MarkedSteps | None:
    """The program's own steps on one thread, else a device's `Steps` line; None when
    there is neither.

    Steps that a viewer drew into the file are not among them: drawn_steps has those.

    Of several markers the one that covers most time is taken; one that others nest in
    (an epoch around its steps) gives way to them.
    """
    position, number = threads.integers(trace.stat(stats.STEP_NUM))
    if not len(position):
        return _device_steps(trace, drawn=False)
    order = order_of(position)
    position = position[order]
    number = number[order]
    thread = threads.thread_of(position)
    key = thread * (int(threads.row.max()) + 1) + threads.row[position]
    groups = []
    for marker in distinct(key).tolist():
        mine = true_at(key == marker)
        starts = threads.start[position[mine]]
        ends = threads.end[position[mine]]
        name = threads.names[threads.row[position[mine[0]]]]
        groups.append(
            MarkedSteps(
                starts,
                ends,
                _following(starts, ends),
                number[mine],
                int(thread[mine[0]]),
                name,
            )
        )
    chosen = max(groups, key=_covered)
    while inner := [group for group in groups if _is_inside(group, chosen)]:
        chosen = max(inner, key=_covered)
    return chosen


def _covered(steps: MarkedSteps) -> int:
    return int((steps.ends - steps.starts).sum())


def _is_inside(inner: MarkedSteps, outer: MarkedSteps) -> bool:
    """Whether a marker divides another: more of them, most lie within, and they fill
    it.
    """
    if inner.thread != outer.thread or len(inner.starts) <= len(outer.starts):
        return False
    place = np.searchsorted(outer.starts, inner.starts, side="right") - 1
    within = (place >= 0) & (inner.ends <= outer.ends[np.maximum(place, 0)])
    return float(np.mean(within)) >= 0.8 and _covered(inner) >= 0.5 * _covered(outer)


def drawn_steps(trace: HostTrace) -> MarkedSteps | None:
    """A GPU's `Steps` line, drawn by the profiler's viewer and saved by an old version;
    None without one.

    It lasts from the first device event to the last, whatever those are, so it is the
    last thing to go by.
    """
    return _device_steps(trace, drawn=True)


def _device_steps(trace: HostTrace, drawn: bool) -> MarkedSteps | None:
    """The device `Steps` line with most steps, and those of other devices that lie
    between them.

    Two devices that ran one step of the program far apart have a step each: else the
    later one would seem idle. drawn: whether lines that the viewer drew are wanted, or
    those of the device itself.
    """
    lines = trace.lines
    found: list[tuple[Int64Array, Int64Array]] = []
    name = "viewer step" if drawn else "device step"
    for line in range(len(lines)):
        plane = trace.planes[int(lines.plane[line])].name
        if lines.name[line] != STEPS_LINE or not plane.startswith(DEVICE_PLANES):
            continue
        if drawn_by_viewer(int(lines.id[line])) != drawn:
            continue
        lo = int(lines.first[line])
        hi = int(lines.first[line + 1])
        starts = trace.events.start_ps[lo:hi]
        ends = starts + np.maximum(trace.events.duration_ps[lo:hi], 0)
        order = order_of(starts)
        order = order[(ends > starts)[order]]
        if len(order):
            found.append((starts[order], ends[order]))
    if not found:
        return None
    found.sort(key=lambda pair: -len(pair[0]))
    starts, ends = found[0]
    following = _following(starts, ends)
    for more_starts, more_ends in found[1:]:
        apart = union(starts, ends).within(more_starts, more_ends) == 0
        starts = np.append(starts, more_starts[apart])
        ends = np.append(ends, more_ends[apart])
        following = np.append(
            following,
            _following(more_starts[apart], more_ends[apart]),
        )
    order = order_of(starts)
    starts = starts[order]
    ends = ends[order]
    following = following[order]
    following[:-1] = np.minimum(
        following[:-1],
        starts[1:],
    )  # another device's step ends the pause after one's own
    return MarkedSteps(
        starts,
        ends,
        following,
        np.arange(len(starts), dtype=np.int64),
        -1,
        name,
    )


def _following(starts: Int64Array, ends: Int64Array) -> Int64Array:
    return np.append(starts[1:], np.maximum(ends[-1:], starts[-1:]))


# Events whose names differ by a number only, as copies of one function or program do.


def grouped(
    rows: Int32Array,
    names: Sequence[str],
    bare: Callable[[str], str],
) -> tuple[list[str], Int64Array]:
    """(distinct bare names, index of each row's among them). rows: one or more. bare: a
    name without its number.
    """
    label = {row: bare(names[row]) for row in distinct(rows).tolist()}
    labels = sorted(set(label.values()))
    table = np.zeros(max(label) + 1, np.int64)
    for row, text in label.items():
        table[row] = labels.index(text)
    return labels, table[rows]
