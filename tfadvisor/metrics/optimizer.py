"""What updating the parameters takes, and of which tables only a few rows were used."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from tfadvisor.metrics.capture import framework
from tfadvisor.metrics.layers import (
    ComputedOp,
    compute_fraction_of,
    compute_parts,
    known_by_hlo,
)
from tfadvisor.metrics.registry import MetricAbsent, Question, fact, metric, once
from tfadvisor.metrics.steady import counted_hosts
from tfadvisor.tallies import listed
from tfadvisor.timeline.names.frames import place_in_words
from tfadvisor.timeline.names.op_path import is_optimizer, without_numbers
from tfadvisor.units import count

if TYPE_CHECKING:
    from tfadvisor.causes import Flattened
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


_MOSTLY = 0.6
"""Of the update's time: from there on one array is what it is about."""


def _is_of_one_array(updates: Sequence[ComputedOp]) -> bool:
    """Whether one op of each type takes most of that type's time: an update runs each
    for every array.
    """
    by_type = listed((part.op_type, part.total_ps) for part in updates)
    largest = sum(max(each) for each in by_type.values() if each[1:])
    return largest >= _MOSTLY * sum(part.total_ps for part in updates)


def _behind_flatten(question: Question) -> Flattened | None:
    """The layer whose weights that array may be, by the source."""
    source = question.settings.source
    updates = [part for part, _ in _updates(question)]
    if source is None or not updates or not _is_of_one_array(updates):
        return None
    return source.layer_behind_flatten


_FEWER_UPDATES = (
    "ccumulate gradients over several steps, or take larger batches, so that fewer "
    "updates serve as many examples."
)


@fact
def optimizer_update_cure(question: Question) -> str:
    """What to do about an update of all parameters: make fewer of them; where the
    source shows a layer behind a flattened picture, and one array takes most of the
    update, ask whether that is its.
    """
    layer = _behind_flatten(question)
    if layer is None:
        return f"A{_FEWER_UPDATES}"
    place = place_in_words(layer.file, layer.line, layer.function)
    return (
        f"Most of it is the update of one array. Is that the weights of `{layer.call}` "
        f"({place}), which has one for each place of the flattened picture before it "
        "and each of its units? Then pool over the places first, or stride more, so "
        f"that it takes a number for each channel. Else a{_FEWER_UPDATES}"
    )


@fact
def optimizer_update_code(question: Question) -> str:
    """Code that does so, up to a comment on the updates."""
    layer = _behind_flatten(question)
    is_jax = framework(question) == "jax"
    fewer = _MULTI_STEPS if is_jax else _ACCUMULATES
    if layer is None:
        return fewer
    pooled = "x = x.mean((1, 2))" if is_jax else "layers.GlobalAveragePooling2D(),"
    comment = "# in place of the flattening"
    return f"{pooled}              {comment}\n{layer.call}\n# or\n{fewer}"


_ACCUMULATES = (
    "model.compile(keras.optimizers.Adam(1e-3, gradient_accumulation_steps=8), loss)"
)
_MULTI_STEPS = "optimizer = optax.MultiSteps(optax.adam(1e-3), every_k_schedule=8)"


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
