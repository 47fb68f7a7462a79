"""The softmax of a loss over many classes, as a language model's over its vocabulary."""

from __future__ import annotations

from tfadvisor.metrics.compute.largest import compute_fraction_of
from tfadvisor.metrics.compute.parts import Part, compute_parts
from tfadvisor.metrics.registry import MetricAbsent, Question, fact, metric
from tfadvisor.metrics.remember import once
from tfadvisor.units import Unit
from tfadvisor.vocabulary import Better

_OPS = frozenset(("SparseSoftmaxCrossEntropyWithLogits", "SoftmaxCrossEntropyWithLogits", "LogSoftmax"))
"""TensorFlow's. `Softmax` is that of attention, mostly."""
_SCOPES = ("log_softmax", "softmax_cross_entropy")
"""Parts of JAX's paths: jax.nn.log_softmax, Optax' losses."""


@once
def _softmaxes(question: Question) -> tuple[Part, ...]:
    """Raises MetricAbsent where neither types nor paths are named."""
    found = compute_parts(question.run).parts
    if not any(one.op_type for one in found):
        raise MetricAbsent("the trace does not name the types of ops")
    return tuple(one for one in found if one.op_type in _OPS or any(scope in one.layer for scope in _SCOPES))


@metric(unit=Unit.FRACTION, better=Better.LESS)
def class_softmax_fraction(question: Question) -> float:
    """Share of step time in the softmax over a loss's classes, from TensorFlow's op types and JAX's scopes, without the
    product that makes the scores.
    """
    return compute_fraction_of(question, _softmaxes(question))


@fact
def class_softmax_op(question: Question) -> str:
    """The one that takes most time: `compile_loss/SparseSoftmaxCrossEntropyWithLogits`."""
    found = _softmaxes(question)
    if not found:
        raise MetricAbsent("the step computes no softmax over classes")
    return found[0].name
