"""Python that the compiled step calls: through which ops, how often and from which
line.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from tfadvisor.arrays import BoolArray, Int64Array, descending
from tfadvisor.errors import TraceError
from tfadvisor.timeline.host.threads import Threads
from tfadvisor.timeline.intervals import Intervals
from tfadvisor.timeline.names import stats
from tfadvisor.timeline.names.host_events import op_type, runs_python
from tfadvisor.timeline.timeline_parts import Steps
from tfadvisor.timeline.windows import in_counted_steps
from tfadvisor.trace.columns import HostTrace

if TYPE_CHECKING:
    from tfadvisor.program import Module, Modules

_MOST = 8
"""Ops that are listed one by one, those first that take most."""


class StepPython(msgspec.Struct, frozen=True):
    """What calls Python through one op of the step."""

    op: str
    """`pure_callback.3`; of TensorFlow's ops the type, `EagerPyFunc`."""
    count: int
    """Of calls in the counted steps."""
    file: str = ""
    """Of the user's program, without its folder, "" where the trace does not tell."""
    line: int = 0
    """In that file."""
    function: str = ""
    """Around that line."""
    loop: str = ""
    """The line of the innermost loop of the program that runs it, `train.py:42`, as far
    as that is known.
    """
    rounds: int = 0
    """Of that loop, 0 for no loop or where the compiler noted no number."""


class CalledPython(msgspec.Struct, frozen=True):
    """The same with its time."""

    call: StepPython
    when: Intervals
    """In the counted steps, on whatever thread."""


def called_python(
    trace: HostTrace,
    threads: Threads,
    steps: Steps,
    pipeline: BoolArray,
    programs: Modules,
) -> tuple[CalledPython, ...]:
    """Op by op, that first which takes most. pipeline: which events work for the input
    pipeline.
    """
    calls = threads.named(runs_python)
    calls = calls[~pipeline[calls]]
    calls = calls[in_counted_steps(threads.start[calls], steps)]
    if not len(calls):
        return ()
    rows, of = np.unique(threads.row[calls], return_inverse=True)
    time = np.bincount(of, threads.lengths(calls))
    found = []
    for index in descending(time)[:_MOST].tolist():
        mine = calls[of == index]
        name = threads.names[int(rows[index])]
        found.append(_called(trace, threads, mine, name, programs))
    return tuple(found)


def _called(
    trace: HostTrace,
    threads: Threads,
    calls: Int64Array,
    name: str,
    programs: Modules,
) -> CalledPython:
    call = StepPython(op_type(name) or name, len(calls))
    for program in _programs(trace, threads, calls, programs):
        try:
            call = _placed(call, name, program)
        except TraceError:
            continue
        break
    return CalledPython(call, threads.when(calls))


def _programs(
    trace: HostTrace, threads: Threads, calls: Int64Array, programs: Modules
) -> Iterator[Module]:
    """That which these calls belong to; nothing where the trace tells of none, or
    of several of its name.
    """
    column = trace.stat(stats.HLO_MODULE)
    if not programs.keys or not len(column):
        return
    event, code = column.codes()
    mine = np.isin(threads.positions(event), calls)
    names: Sequence[str] = [column.texts[each] for each in set(code[mine].tolist())]
    for name in names[:1]:
        try:
            found = programs.named(name)
        except TraceError:
            return
        if len(found) == 1:
            yield found[0]


def _placed(call: StepPython, name: str, program: Module) -> StepPython:
    from tfadvisor.program import location_of  # only with HLO
    from tfadvisor.program.loops_around import loop_around

    op = program.instruction(name)
    place = location_of(op) if op is not None else None
    if op is None or place is None or not place.file or place.is_installed:
        return call
    around = loop_around(op)
    own = next((frame for frame in place.frames if frame.line == place.line), None)
    return StepPython(
        call.op,
        call.count,
        place.file.rpartition("/")[2],
        place.line,
        own.function if own is not None else "",
        around.line if around is not None else "",
        around.rounds if around is not None else 0,
    )
