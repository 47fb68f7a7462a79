"""Layers that a training step runs without gradients: a second call of its model, or a frozen one."""

from __future__ import annotations

from tfadvisor.metrics.compute.parts import Part, with_gradients
from tfadvisor.metrics.registry import Question
from tfadvisor.metrics.remember import once
from tfadvisor.timeline.names.op_path import is_optimizer

_PRODUCTS = ("MatMul", "Conv", "Einsum", "dot", "conv")
"""Parts of the types of ops that only models are made of."""


@once
def forward_only_ops(question: Question) -> tuple[Part, ...]:
    """Ops of scopes that multiply matrices and none of whose ops has a gradient, the largest first.

    Raises MetricAbsent where the trace names no gradient.
    """
    parts = [one for one in with_gradients(question) if one.path is not None and one.layer]
    differentiated = {
        prefix for one in parts if one.path is not None and one.path.is_gradient for prefix in _prefixes(one.layer)
    }
    inside: dict[str, list[Part]] = {}
    for one in parts:
        scope = next((prefix for prefix in _prefixes(one.layer) if prefix not in differentiated), "")
        if scope and not is_optimizer(scope.partition("/")[0]):
            inside.setdefault(scope, []).append(one)
    found = [one for ops in inside.values() if any(_is_product(op) for op in ops) for one in ops]
    return tuple(sorted(found, key=lambda one: -one.total_ps))


def _prefixes(layer: str) -> list[str]:
    """`a`, `a/b`, `a/b/c` of `a/b/c`."""
    parts = layer.split("/")
    return ["/".join(parts[: number + 1]) for number in range(len(parts))]


def _is_product(part: Part) -> bool:
    return any(word in part.op_type for word in _PRODUCTS)
