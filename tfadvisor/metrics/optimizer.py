"""What updating the parameters takes, and of which tables only a few rows were used."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from tfadvisor.metrics.layers import (
    ComputedOp,
    compute_fraction_of,
    compute_parts,
    known_by_hlo,
)
from tfadvisor.metrics.registry import MetricAbsent, Question, fact, metric, once
from tfadvisor.metrics.steady import counted_hosts
from tfadvisor.timeline.names.op_path import is_optimizer, without_numbers
from tfadvisor.units import count

if TYPE_CHECKING:
    from tfadvisor.program.looked_up import LookedUpTable
    from tfadvisor.timeline import InProgram

_FOLDERS = ("/optax/", "/keras/src/optimizers/", "/flax/training/train_state.py")
"""Parts of the paths of files that hold nothing but optimizers."""
_APPLIES = re.compile(r"^Resource(?:Sparse)?Apply(\w+)$")
"""TensorFlow's own ops for it: `ResourceApplyAdam`."""
_SCALES = re.compile(r"^scale_by_(\w+?)\.")
"""Optax' functions in a stack: `scale_by_adam.<locals>.update_fn`."""
_SUMS_ROWS = ("UnsortedSegmentSum", "ResourceScatterAdd", "ResourceScatterSub")
"""Ops in an optimizer's scope that work on gradients that come as rows."""
_WRITES_ROWS = ("ResourceScatterAdd", "ResourceScatterSub", "ResourceScatterUpdate")
"""Of these, those that write no other rows."""
_LOOKS_UP = ("GatherV2", "ResourceGather", "ResourceGatherNd")
_FEW = 0.1
"""Of a table's rows, what a step may look up at most to touch few of them."""


def optimizer_of(part: ComputedOp, known: InProgram | None) -> str:
    """The optimizer whose update an op is part of, in lower case, `optimizer` where its
    name is not known; "" for all others.
    """
    if part.layer and is_optimizer(part.layer):
        return without_numbers(part.layer).lower()
    applies = _APPLIES.match(part.op_type)
    if applies:
        return applies.group(1).lower()
    frames = known.location.frames if known and known.location else ()
    if not any(folder in frame.file for frame in frames for folder in _FOLDERS):
        return ""
    named = (_SCALES.match(frame.function) for frame in frames)
    return next((match.group(1) for match in named if match), "optimizer")


@once
def _updates(question: Question) -> list[tuple[ComputedOp, str]]:
    """The ops of updates with their optimizer, the largest first. Raises MetricAbsent
    where neither paths nor HLO say where ops come from.
    """
    found = compute_parts(question.run).parts
    if not any(part.path or part.stack for part in found):
        raise MetricAbsent("the trace does not say where ops come from")
    hlo = known_by_hlo(question.run)
    updates = []
    for part in found:
        known = hlo.get((part.name, part.module))
        name = optimizer_of(part, known)
        if name and not _convolves(known):
            updates.append((part, name))
    return updates


def _convolves(known: InProgram | None) -> bool:
    """No optimizer does: a gradient's convolution has the place of the update with
    which XLA fuses it.
    """
    return known is not None and "convolution" in (known.opcode, known.effect)


@metric
def optimizer_update_fraction(question: Question) -> float:
    """Share of step time in ops of the optimizer's update: those in its scope (Keras),
    of its own types (TensorFlow), or that its files make (Optax, Keras on JAX).
    """
    return compute_fraction_of(question, [part for part, _ in _updates(question)])


@fact
def optimizer_update_name(question: Question) -> str:
    """The optimizer, in lower case: `adam`; `optimizer` where the trace does not name
    it.
    """
    names = [name for _, name in _updates(question)]
    if not names:
        raise MetricAbsent("no op is part of an optimizer's update")
    return next((name for name in names if name != "optimizer"), names[0])


@fact
def optimizer_update_op(question: Question) -> str:
    """The costliest op of the update, with its line where the HLO tells it."""
    updates = _updates(question)
    if not updates:
        raise MetricAbsent("no op is part of an optimizer's update")
    first = updates[0][0]
    return f"{first.name} ({first.line})" if first.line else first.name


@fact
def rows_touched(question: Question) -> str:
    """The embedding table of which a step looks up a few rows while its update writes
    all of it: `1,280 of the 300,000 rows of params['embed']`; without HLO the layer
    that looks rows up, where its gradient comes as rows.
    """
    tables = [
        table for table in _tables(question) if table.looked_up <= _FEW * table.rows
    ]
    if tables:
        first = tables[0]
        of = f" of {first.name}" if first.name else ""
        return (
            f"{count(first.looked_up)} of the {count(first.rows)} rows{of}, "
            f"{count(first.width)} numbers each"
        )
    updates = [part for part, _ in _updates(question)]
    layer = _layer_of_rows(question, updates)
    if not layer:
        raise MetricAbsent("no table is known of which a step looks up a few rows")
    if updates[0].op_type in _WRITES_ROWS:
        raise MetricAbsent("the update writes no rows but those that were looked up")
    return f"the rows that {layer} looks up"


def _layer_of_rows(question: Question, updates: Sequence[ComputedOp]) -> str:
    """That looks rows up, where their gradient comes as rows; "" for none."""
    if not any(part.op_type in _SUMS_ROWS for part in updates):
        return ""
    for part in compute_parts(question.run).parts:
        if part.op_type in _LOOKS_UP and part.layer and not is_optimizer(part.layer):
            return part.layer
    return ""


def _tables(question: Question) -> tuple[LookedUpTable, ...]:
    for host in counted_hosts(question.run):
        if host.program is not None and host.program.looked_up:
            return host.program.looked_up
    return ()
