"""What functions of TensorFlow compute again from call to call, though by their graphs
it is made of nothing but what stays the same.
"""

from __future__ import annotations

import msgspec

from tfadvisor.metrics.layers import (
    ComputedOp,
    compute_fraction_of,
    compute_parts,
)
from tfadvisor.metrics.registry import MetricAbsent, Question, fact, metric, once
from tfadvisor.tallies import added_up
from tfadvisor.timeline.names.host_events import op_type
from tfadvisor.timeline.run import RunSummary
from tfadvisor.trace.noted_ops import MadeOf, OpLine
from tfadvisor.units import Unit

_WRITES = ("Assign", "ResourceApply", "ResourceSparseApply", "ResourceScatter")
"""Begins of the types of ops that change a variable."""


class Same(msgspec.Struct, frozen=True):
    """Ops whose result is the same in each call."""

    ops: tuple[ComputedOp, ...]
    line: OpLine
    """On which most of their time lies."""
    made_of: MadeOf
    """Variables, if any of them is made of one."""


@once
def _same(question: Question) -> Same:
    """Raises MetricAbsent."""
    run = question.run
    noted = run.op_lines
    if not noted.ops:
        raise MetricAbsent("no op of a tf.function is noted beside the trace")
    same = _parts_alike(run)
    lines = added_up(
        (at, part.total_ps)
        for part, _ in same
        if (at := noted.line_of(part.name, part.op_type)) is not None
    )
    if not lines:
        raise MetricAbsent("no line alone is known to make what stays the same")
    most = max(lines, key=lines.__getitem__)
    ops = tuple(part for part, _ in same)
    return Same(ops, most, min(made_of for _, made_of in same))


def _parts_alike(run: RunSummary) -> list[tuple[ComputedOp, MadeOf]]:
    """Ops that are the same in each call, with what they are made of; nothing where no
    op of theirs is known to be made of an argument, as where a call is measured.
    """
    least = MadeOf.CONSTANTS if _writes_variables(run) else MadeOf.VARIABLES
    noted = [
        (part, made_of)
        for part in compute_parts(run).parts
        if part.count > 1
        and (made_of := run.op_lines.made_of(part.name, part.op_type)) is not None
    ]
    takes_arguments = any(made_of is MadeOf.ARGUMENTS for _, made_of in noted)
    same = [(part, made_of) for part, made_of in noted if made_of >= least]
    return same if takes_arguments else []


def _writes_variables(run: RunSummary) -> bool:
    """Whether any op of the trace may change a variable."""
    devices = (device for host in run.hosts for device in host.devices)
    names = {name for device in devices for name in device.ops_by_path.names}
    return any((op_type(name) or "").startswith(_WRITES) for name in names)


@metric(unit=Unit.FRACTION)
def same_in_graph_fraction(question: Question) -> float:
    """Share of step time in ops of TensorFlow's functions that are made of constants
    alone, by the graphs that `run` notes; of variables too, where no op of the trace
    changes one.
    """
    return compute_fraction_of(question, _same(question).ops)


@fact
def same_in_graph_line(question: Question) -> str:
    """The line on which most of them were made: `cholesky (train.py:30)`."""
    at = _same(question).line
    return f"{at.function} ({at.file}:{at.line})"


@fact
def same_in_graph_ops(question: Question) -> str:
    """The kinds of ops that take most of it: `Cholesky and MatMul`."""
    ops = _same(question).ops
    time = added_up((part.op_type, part.total_ps) for part in ops)
    first = sorted(time, key=time.__getitem__, reverse=True)[:2]
    return " and ".join(first)


@fact
def same_in_graph_made_of(question: Question) -> str:
    """What they are made of."""
    if _same(question).made_of is MadeOf.CONSTANTS:
        return "constants alone"
    return "constants and of variables that no op of the trace changes"
