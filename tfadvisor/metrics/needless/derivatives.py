"""Derivatives that a step computes one by one, in full, or with everything recomputed, by the paths of ops."""

from __future__ import annotations

import re

from tfadvisor.metrics.compute.parts import Part, compute_parts
from tfadvisor.metrics.kernels.first_device import known_where
from tfadvisor.metrics.registry import MetricAbsent, Question
from tfadvisor.timeline.summary.hot_ops import HotOp

_OF_EACH = "/vmap(transpose("
"""jax.vmap(jax.grad(…)): the map is around the gradient."""
_SECOND = re.compile(r"vmap\(vmap\(jvp\(|vmap\(jvp\(vmap\(")
"""jax.hessian and jacobians of gradients: a map over directions around a derivative of a derivative."""
_RECOMPUTED = re.compile(r"transpose\(.*/(?:checkpoint|remat|rematted_computation)/")
_EACH_OUTPUT = re.compile(r"/(?:pfor|loop_body)(?:/|$)")
"""Scopes in which tape.jacobian and tape.batch_jacobian differentiate one output after the other, vectorised or not."""


def per_example_gradients(question: Question) -> list[HotOp]:
    """Gradients of each example alone. Raises MetricAbsent without HLO."""
    return known_where(question, lambda known: _OF_EACH in known.op_name)


def recomputed_gradients(question: Question) -> list[HotOp]:
    """Gradients under jax.checkpoint. Raises MetricAbsent without HLO."""
    return known_where(question, lambda known: bool(_RECOMPUTED.search(known.op_name)))


def second_derivatives(question: Question) -> list[HotOp]:
    """JAX's along all directions. Raises MetricAbsent without HLO."""
    return known_where(question, lambda known: bool(_SECOND.search(known.op_name)))


def jacobians(question: Question) -> list[Part]:
    """What TensorFlow's tapes compute for each output. Raises MetricAbsent where the trace names no layers."""
    parts = compute_parts(question.run).parts
    if not any(one.layer for one in parts):
        raise MetricAbsent("the trace does not name the layers of ops")
    return [one for one in parts if _EACH_OUTPUT.search(one.name)]
