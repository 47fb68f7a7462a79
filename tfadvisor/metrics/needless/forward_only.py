"""Layers that a training step runs without gradients: a second call of its model, or a frozen one."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum

import msgspec

from tfadvisor.metrics.compute.largest import compute_fraction_of
from tfadvisor.metrics.compute.parts import Part, compute_parts
from tfadvisor.metrics.registry import MetricAbsent, Question, fact, metric
from tfadvisor.metrics.remember import once
from tfadvisor.timeline.names.op_path import is_optimizer
from tfadvisor.units import Unit
from tfadvisor.vocabulary import Better

_PRODUCTS = ("MatMul", "Conv", "Einsum", "dot", "conv")
"""Parts of the types of ops that only models are made of."""


class Use(Enum):
    """What a training step runs layers without gradients for."""

    AGAIN = "again"
    """Their model is also called with gradients, and it is the only one."""
    FOR_OTHERS = "for others"
    """Their model is also called with gradients, several models are trained, and one makes the other's batch."""
    FROZEN = "frozen"
    """No other call of these layers has gradients."""


class Scope(msgspec.Struct, frozen=True):
    """A scope none of whose ops has a gradient, and that multiplies matrices."""

    name: str
    """`functional/mobilenet`."""
    parts: tuple[Part, ...]
    use: Use


@once
def _forward_only(question: Question) -> tuple[Scope, ...]:
    """The largest first. Raises MetricAbsent where no gradient tape's ops are named."""
    parts = [one for one in compute_parts(question.run).parts if one.path is not None and one.layer]
    if not any(one.path is not None and one.path.is_gradient for one in parts):
        raise MetricAbsent("the trace names no op of a gradient tape")
    differentiated = {
        prefix for one in parts if one.path is not None and one.path.is_gradient for prefix in _prefixes(one.layer)
    }
    inside: dict[str, list[Part]] = {}
    for one in parts:
        scope = next((prefix for prefix in _prefixes(one.layer) if prefix not in differentiated), "")
        if scope and not is_optimizer(scope.partition("/")[0]):
            inside.setdefault(scope, []).append(one)
    trained = _calls([one for one in parts if one.layer.partition("/")[0] in differentiated])
    called = Use.AGAIN if len(trained) == 1 else Use.FOR_OTHERS
    found = [
        Scope(name, tuple(ops), called if _layers(name, ops) in trained else Use.FROZEN)
        for name, ops in inside.items()
        if any(_is_product(one) for one in ops)
    ]
    return tuple(sorted(found, key=lambda one: -sum(part.total_ps for part in one.parts)))


def _prefixes(layer: str) -> list[str]:
    """`a`, `a/b`, `a/b/c` of `a/b/c`."""
    parts = layer.split("/")
    return ["/".join(parts[: number + 1]) for number in range(len(parts))]


def _is_product(part: Part) -> bool:
    return any(word in part.op_type for word in _PRODUCTS)


def _layers(scope: str, parts: Sequence[Part]) -> frozenset[str]:
    """Names of the layers below a scope that multiply, without those of the ops inside them."""
    below = (one.layer.removeprefix(scope).strip("/").partition("/")[0] for one in parts if _is_product(one))
    return frozenset(name for name in below if name)


def _calls(parts: Sequence[Part]) -> set[frozenset[str]]:
    """The layers of each outermost scope."""
    roots: dict[str, list[Part]] = {}
    for one in parts:
        roots.setdefault(one.layer.partition("/")[0], []).append(one)
    return {_layers(name, ops) for name, ops in roots.items()} - {frozenset()}


def _parts(question: Question, use: Use) -> list[Part]:
    return [part for one in _forward_only(question) if one.use is use for part in one.parts]


@metric(unit=Unit.FRACTION, better=Better.LESS)
def called_again_fraction(question: Question) -> float:
    """Share of step time in layers that a training step runs once more without gradients, beside a call of the same
    layers with gradients, by the scopes of TensorFlow's ops. 0 where the step trains several models: one of them may make
    the other's batch.
    """
    return compute_fraction_of(question, _parts(question, Use.AGAIN))


@metric(unit=Unit.COUNT, better=Better.LESS)
def called_again_times(question: Question) -> float:
    """How many such calls without gradients the program of a training step holds."""
    return float(sum(1 for one in _forward_only(question) if one.use is Use.AGAIN))


@metric(unit=Unit.FRACTION, better=Better.NEITHER)
def frozen_fraction(question: Question) -> float:
    """Share of step time in layers with matrix products that no gradient goes through, and that no other call of the same
    layers trains, by the scopes of TensorFlow's ops: a frozen backbone, a teacher, a target network.
    """
    return compute_fraction_of(question, _parts(question, Use.FROZEN))


def _largest(question: Question, use: Use) -> str:
    found = [one.name for one in _forward_only(question) if one.use is use]
    if not found:
        raise MetricAbsent("all layers that multiply matrices have gradients")
    return found[0]


@fact
def called_again_layer(question: Question) -> str:
    """The scope of the call without gradients that takes most time: `sequential_3`."""
    return _largest(question, Use.AGAIN)


@fact
def frozen_layer(question: Question) -> str:
    """The scope without gradients that takes most time: `functional/mobilenet`."""
    return _largest(question, Use.FROZEN)
