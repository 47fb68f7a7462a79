"""Ops of kinds that a step seldom needs, or not this dearly, whichever they are."""

from __future__ import annotations

from tfadvisor.metrics.compute.largest import compute_fraction_of
from tfadvisor.metrics.compute.parts import Part, compute_parts
from tfadvisor.metrics.needless.costly_kinds import costly_kind
from tfadvisor.metrics.registry import MetricAbsent, Question, fact, metric
from tfadvisor.metrics.remember import once
from tfadvisor.metrics.steady import device_steps
from tfadvisor.timeline.names.op_path import is_recurrent_cell
from tfadvisor.units import Unit
from tfadvisor.vocabulary import Better

_OF_SLICES = "gradients of slices"
"""Keras' own recurrent cells take their products apart so, which nobody can change; any other kind in a cell is a choice."""
_FEWEST_SLICES = 8
"""A step that takes fewer parts of its tensors joins windows or shifts a row; one op for all of them is no cheaper."""

_TIME_DISTRIBUTED = "/time_distributed"
"""In the scope that Keras gives such a layer."""


@once
def _largest_kind(question: Question) -> tuple[str, tuple[Part, ...]]:
    """(the kind that takes most time, its ops, the largest first); ("", ()) where no op is of any.

    Raises MetricAbsent where the trace does not name the types of TensorFlow's ops.
    """
    found = compute_parts(question.run).parts
    if not any(one.op_type for one in found):
        raise MetricAbsent("the trace does not name the types of ops")
    kinds: dict[str, list[Part]] = {}
    for part in found:
        kind = costly_kind(part.op_type, part.layer)
        if kind is not None and not (kind.name == _OF_SLICES and is_recurrent_cell(part.layer)):
            kinds.setdefault(kind.name, []).append(part)
    if sum(part.count for part in kinds.get(_OF_SLICES, ())) < _FEWEST_SLICES * device_steps(question.run):
        kinds.pop(_OF_SLICES, None)
    if not kinds:
        return "", ()
    name = max(kinds, key=lambda one: sum(part.total_ps for part in kinds[one]))
    return name, tuple(kinds[name])


@metric(unit=Unit.FRACTION, better=Better.LESS)
def costly_op_fraction(question: Question) -> float:
    """Share of step time in TensorFlow's ops of one kind that a step seldom needs, or not this dearly: of random numbers,
    Fourier transforms, checks for NaN, changes of pictures and the like, the kind that takes most.
    """
    return compute_fraction_of(question, _largest_kind(question)[1])


@fact
def costly_op_kind(question: Question) -> str:
    """What these ops are: `random numbers`."""
    name, _ = _largest_kind(question)
    if not name:
        raise MetricAbsent("no op is of a kind that steps seldom need")
    return name


@fact
def costly_op_in_time_distributed(question: Question) -> str:
    """Whether that op belongs to Keras' TimeDistributed, which calls its layer once for each moment: yes or no."""
    return "yes" if _TIME_DISTRIBUTED in costly_op(question) else "no"


@fact
def costly_op(question: Question) -> str:
    """The one of them that takes most time: `model/random_rotation/ImageProjectiveTransformV3`."""
    _, parts = _largest_kind(question)
    if not parts:
        raise MetricAbsent("no op is of a kind that steps seldom need")
    return parts[0].name
