"""Layers that the program freezes, of which the steps take no gradient: of the same
examples they compute the same in each epoch.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from tfadvisor.metrics.layers import ComputedOp, compute_fraction_of, compute_parts
from tfadvisor.metrics.registry import MetricAbsent, Question, fact, metric, once
from tfadvisor.tallies import listed
from tfadvisor.timeline.names.frames import place_in_words
from tfadvisor.timeline.names.op_path import is_optimizer

if TYPE_CHECKING:
    from tfadvisor.causes import Frozen

_LEARNED = ("Conv", "MatMul")
"""In the types of ops that multiply with weights."""
_SOME = 0.1
"""Of a layer's time in such ops: less has what only changes its input."""


class _Layer(NamedTuple):
    name: str
    parts: tuple[ComputedOp, ...]
    frozen: Frozen


@once
def _layer(question: Question) -> _Layer:
    """Of those without gradients the one that takes most. Raises MetricAbsent."""
    source = question.settings.source
    frozen = None if source is None else source.frozen_layers
    if frozen is None:
        raise MetricAbsent("the source freezes no layer, or changes its data at random")
    parts = compute_parts(question.run).parts
    inside = listed((scope, part) for part in parts for scope in _scopes(part))
    trained = {scope for scope, own in inside.items() if any(map(_is_gradient, own))}
    if not trained:
        raise MetricAbsent("no op is of a gradient, so no step is known to train")
    others = inside.keys() - trained
    found = {scope: inside[scope] for scope in others if _multiplies(inside[scope])}
    if not found:
        raise MetricAbsent("each layer that multiplies with weights has a gradient")
    most = max(found, key=lambda scope: (_ps(found[scope]), -len(scope)))
    return _Layer(most, tuple(found[most]), frozen)


def _is_gradient(part: ComputedOp) -> bool:
    return part.path is not None and part.path.is_gradient


def _scopes(part: ComputedOp) -> Iterator[str]:
    """The layer, and those around it."""
    is_layer = part.layer and not is_optimizer(part.layer)
    names = part.layer.split("/") if is_layer else []
    for end in range(1, len(names) + 1):
        yield "/".join(names[:end])


def _multiplies(parts: Sequence[ComputedOp]) -> bool:
    weights = [part for part in parts if any(x in part.op_type for x in _LEARNED)]
    return _ps(weights) >= _SOME * _ps(parts)


def _ps(parts: Sequence[ComputedOp]) -> int:
    return sum(part.total_ps for part in parts)


@metric
def frozen_layers_fraction(question: Question) -> float:
    """Share of step time in ops of the layer of which no gradient is taken, in steps
    that take others, where the source freezes one and changes no example at random.
    """
    return compute_fraction_of(question, _layer(question).parts)


@fact
def frozen_layers(question: Question) -> str:
    """That layer, as the trace names it: `functional_1/mobilenetv2_1`."""
    return _layer(question).name


@fact
def frozen_layers_name(question: Question) -> str:
    """What the source freezes, as it writes it: `backbone`."""
    return _layer(question).frozen.name


@fact
def frozen_layers_line(question: Question) -> str:
    """Where the source freezes it: `build_model (train.py:23)`."""
    frozen = _layer(question).frozen
    return place_in_words(frozen.file, frozen.line, frozen.function)


@fact
def frozen_layers_cure(question: Question) -> str:
    """What to do about it; a question where the source does not show that the program
    goes over its data several times.
    """
    frozen = _layer(question).frozen
    once_only = (
        f"compute what {frozen.name} gives of each example once, keep that, and train "
        "on that what takes it"
    )
    if frozen.runs_epochs:
        return (
            "The program goes over its data in several epochs, and changes no example "
            f"at random. Are they the same examples in each? Then {once_only}."
        )
    return (
        f"Does it see the same examples again, as in several epochs? Then {once_only}."
    )
