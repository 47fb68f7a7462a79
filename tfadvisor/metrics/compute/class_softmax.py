"""The softmax of a loss over classes, as a language model's over its vocabulary."""

from __future__ import annotations

from tfadvisor.metrics.compute.parts import Part, named_by_tensorflow
from tfadvisor.metrics.registry import Question

_OPS = frozenset(("SparseSoftmaxCrossEntropyWithLogits", "SoftmaxCrossEntropyWithLogits", "LogSoftmax"))
"""TensorFlow's. `Softmax` is that of attention, mostly."""
_SCOPES = ("log_softmax", "softmax_cross_entropy")
"""Parts of JAX's paths: jax.nn.log_softmax, Optax' losses."""


def class_softmaxes(question: Question) -> list[Part]:
    """The largest first. Raises MetricAbsent where the trace does not name the types of ops."""
    found = named_by_tensorflow(question)
    return [one for one in found if one.op_type in _OPS or any(scope in one.layer for scope in _SCOPES)]
