"""The largest op, layer, op type and source line of the compute time, and how fast the largest op is beside the others."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tfadvisor.arrays import median
from tfadvisor.metrics.compute.parts import Part, Parts, compute_parts
from tfadvisor.metrics.registry import MetricAbsent, Question, fact, metric
from tfadvisor.metrics.steady import device_steps, periods_ms, share
from tfadvisor.units import PS_PER_MS, Unit, duration, percent
from tfadvisor.vocabulary import Better, TimeClass

_WORTH_COMPARING = 0.05
"""Of the compute time, from which the rest of the ops is enough to compare the largest with."""
_SLOW = 0.5
_WORTH_NAMING = 0.05
"""Of the compute time, from which the largest of its kind says anything."""


def compute_fraction_of(question: Question, chosen: Sequence[Part]) -> float:
    """Share of step time of these ops: their share of the compute time, of that in the steps."""
    found = compute_parts(question.run)
    return sum(one.total_ps for one in chosen) / found.compute_ps * share(question, TimeClass.COMPUTE)


def _op(part: Part) -> str:
    return part.name if part.op_type else ""


def _layer(part: Part) -> str:
    return part.layer


def _type(part: Part) -> str:
    return part.op_type


def _line(part: Part) -> str:
    return part.line


def _largest(question: Question, key: Callable[[Part], str]) -> tuple[str, list[Part]]:
    """(its name, its ops). Raises MetricAbsent when the trace names none."""
    found = compute_parts(question.run).by(key)
    if not found:
        raise MetricAbsent("the trace names no layer, op or line of what the devices compute")
    return found[0][0], found[0][1]


@metric(unit=Unit.FRACTION, better=Better.NEITHER)
def largest_op_fraction(question: Question) -> float:
    """Share of step time in the op that takes most compute time: its share of all ops' time, of the time in which a
    device computes.
    """
    return compute_fraction_of(question, _largest(question, _op)[1])


@metric(unit=Unit.FRACTION, better=Better.NEITHER)
def largest_layer_fraction(question: Question) -> float:
    """Share of step time in the layer (scope of the framework's names) that takes most compute time, its gradients
    included.
    """
    return compute_fraction_of(question, _largest(question, _layer)[1])


@metric(unit=Unit.FRACTION, better=Better.NEITHER)
def largest_op_type_fraction(question: Question) -> float:
    """Share of step time in the type of ops that takes most compute time: `MatMul`, `convolution`."""
    return compute_fraction_of(question, _largest(question, _type)[1])


@metric(unit=Unit.FRACTION, better=Better.NEITHER)
def largest_line_fraction(question: Question) -> float:
    """Share of step time that one line of the user's program computes, by the trace's HLO, the line that takes most."""
    return compute_fraction_of(question, _largest(question, _line)[1])


@fact
def largest_op(question: Question) -> str:
    """The op that takes most compute time: `gradient_tape/model/conv2d/Conv2D/Conv2DBackpropFilter`."""
    return _largest(question, _op)[0]


@fact
def largest_layer(question: Question) -> str:
    """The layer that takes most compute time: `model/conv2d`."""
    return _largest(question, _layer)[0]


@fact
def largest_op_type(question: Question) -> str:
    """The type of ops that takes most compute time: `Conv2DBackpropFilter`."""
    return _largest(question, _type)[0]


@fact
def largest_line(question: Question) -> str:
    """The line of the user's program that takes most compute time: `train.py:42`."""
    return _largest(question, _line)[0]


@fact
def largest_op_place(question: Question) -> str:
    """The op that takes most compute time, with its place in the user's program: `fusion.3 (train.py:42)`."""
    name, parts = _largest(question, _op)
    if not parts[0].line:
        raise MetricAbsent("the trace holds no HLO that says where this op comes from")
    return f"{name} ({parts[0].line})"


@metric(unit=Unit.FRACTION, better=Better.MORE)
def largest_op_speed(question: Question) -> float:
    """How fast the op that takes most compute time works beside all other ops of the step whose HLO is known: the ratio
    of operations per second, or that of bytes per second where it is higher. Far below 1 it is slow at both.
    """
    largest = _largest(question, _op)[1]
    found = compute_parts(question.run)
    others = [one for one in found.parts if one.bytes is not None and one not in largest]
    if not _comparable(found, largest, others):
        raise MetricAbsent("the trace's HLO does not say how much the largest op and enough of the others compute")
    rates = [_rate(largest, what) / _rate(others, what) for what in (_flops, _bytes) if _rate(others, what)]
    if not rates:
        raise MetricAbsent("the other ops of the step compute and move nothing by the trace's HLO")
    return max(rates)


def _comparable(found: Parts, largest: Sequence[Part], others: Sequence[Part]) -> bool:
    enough = sum(one.total_ps for one in others) >= _WORTH_COMPARING * found.compute_ps
    return enough and all(one.bytes is not None and one.flops is not None for one in largest)


def _flops(part: Part) -> int:
    return part.flops or 0


def _bytes(part: Part) -> int:
    return part.bytes or 0


def _rate(parts: Sequence[Part], what: Callable[[Part], int]) -> float:
    return sum(map(what, parts)) / max(sum(one.total_ps for one in parts), 1)


@fact
def largest_compute(question: Question) -> str:
    """Where the compute time goes: `Of each step of 80.7 ms, the op conv2d/Conv2DBackpropFilter takes 36.0 ms (34% of
    the op time), the layer conv2d 88.2 ms (83%)`.
    """
    total = compute_parts(question.run).compute_ps
    steps = max(device_steps(question.run), 1)
    period = median(periods_ms(question.run))
    named = [
        f"the {what} {name} {'' if number else 'takes '}{duration(ps / steps / PS_PER_MS)} "
        f"({percent(ps / total)}{'' if number else ' of the op time'})"
        for number, (what, name, ps) in enumerate(_named(question))
    ]
    sentences = [f"Of each step of {duration(period)}, {', '.join(named)}."]
    if total / steps / PS_PER_MS > period:
        sentences.append("Ops run side by side, so their times add up to more than the step.")
    try:
        speed = largest_op_speed(question)
    except MetricAbsent:
        return " ".join(sentences)
    if speed < _SLOW:
        sentences.append(f"That op reaches {percent(speed)} of the operations or bytes a second of the others.")
    return " ".join(sentences)


def _named(question: Question) -> list[tuple[str, str, int]]:
    """(kind, name, time) of the largest op, layer, type and line, as far as the trace names them and they matter."""
    found = compute_parts(question.run)
    named = []
    for what, key in (("op", _op), ("layer", _layer), ("type", _type), ("line", _line)):
        named += [(what, name, ps) for name, _, ps in found.by(key)[:1] if ps >= _WORTH_NAMING * found.compute_ps]
    if not named:
        raise MetricAbsent("no layer, op or line that the trace names takes much of the compute time")
    return named
