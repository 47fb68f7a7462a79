"""Ops of two runs side by side: which is which when names differ, how their speed
changed.

Compilers number ops anew after every change, and frameworks rename layers. So an op is
looked for by what it is, in stages, the surest first; each takes what the stages before
it left. Within a stage, ops of equal keys are paired in the order of the numbers in
their names, which is that of the program.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from math import exp, log

import msgspec

from tfadvisor.comparison.result import Speed
from tfadvisor.comparison.side import numbers, stem
from tfadvisor.report.model import Op

SAME_NAME = "name"
_Key = Hashable | None


class Pair(msgspec.Struct, frozen=True):
    """The same op on both sides."""

    base: Op | None
    """None where the base has no such op."""
    new: Op | None
    """None where the new run has no such op."""
    by: str | None
    """How it was recognised, None where one side has no such op."""


def match_ops(base: Sequence[Op], new: Sequence[Op]) -> list[Pair]:
    """Every op of both sides, once."""
    left, right, pairs = list(base), list(new), []
    for by, key in _STAGES:
        found = list(_paired(left, right, key))
        pairs += [Pair(one, other, by) for one, other in found]
        left = _without(left, {id(one) for one, _ in found})
        right = _without(right, {id(other) for _, other in found})
    return (
        pairs
        + [Pair(one, None, None) for one in left]
        + [Pair(None, other, None) for other in right]
    )


def same_work(pair: Pair) -> bool:
    """Whether both sides do the same work as far as the trace tells: as often, and of
    the same shapes where known.
    """
    one, other = pair.base, pair.new
    if one is None or other is None:
        return False
    counts = one.count_per_step, other.count_per_step
    as_often = abs(counts[0] - counts[1]) <= 0.01 * max(counts)
    return as_often and (
        not _known(one) or not _known(other) or _shape(one) == _shape(other)
    )


def _shape(op: Op) -> tuple[str | None, int | None, int | None]:
    return op.opcode, op.flops, op.bytes


def _known(op: Op) -> bool:
    return op.opcode is not None and bool(op.flops or op.bytes)


_STAGES: tuple[tuple[str, Callable[[Op], _Key]], ...] = (
    (SAME_NAME, lambda op: (op.kind, op.module, op.name, op.kernel, *_shape(op))),
    (SAME_NAME, lambda op: (op.kind, op.module, op.name, *_shape(op))),
    (SAME_NAME, lambda op: (op.kind, op.name, *_shape(op))),
    (
        "shapes and line",
        lambda op: (
            (op.kind, stem(op.name), *_shape(op), op.file, op.line)
            if _known(op)
            else None
        ),
    ),
    (
        "shapes",
        lambda op: (op.kind, stem(op.name), *_shape(op)) if _known(op) else None,
    ),
    ("shapes", lambda op: (op.kind, *_shape(op)) if _known(op) else None),
    (SAME_NAME, lambda op: (op.kind, op.name, op.file, op.line) if op.line else None),
    (
        "name without numbers and line",
        lambda op: (op.kind, stem(op.name), op.file, op.line) if op.line else None,
    ),
    (SAME_NAME, lambda op: (op.kind, op.name)),
    ("name without numbers", lambda op: (op.kind, stem(op.name))),
    ("line", lambda op: (op.kind, op.opcode, op.file, op.line) if op.line else None),
)


def _paired(
    left: Sequence[Op], right: Sequence[Op], key: Callable[[Op], _Key]
) -> Iterable[tuple[Op, Op]]:
    groups: dict[Hashable, tuple[list[Op], list[Op]]] = {}
    for side, ops in enumerate((left, right)):
        for op in ops:
            of_op = key(op)
            if of_op is not None:
                groups.setdefault(of_op, ([], []))[side].append(op)
    for ones, others in groups.values():
        if ones and others:
            yield from zip(
                sorted(ones, key=_order), sorted(others, key=_order), strict=False
            )


def _order(op: Op) -> tuple[tuple[int, ...], float]:
    return numbers(op.name), -op.ms_per_step


def _without(ops: Sequence[Op], gone: set[int]) -> list[Op]:
    return [op for op in ops if id(op) not in gone]


# How fast the machine is in one run against another, measured by the ops whose work did
# not change.

_FEWEST_OPS = 6
_LEAST_SHARE = 0.5
_ONE_OP_AT_MOST = 0.4


def op_speed(pairs: Sequence[Pair]) -> Speed | None:
    """None when too few ops are the same, they are too little of the work, or one op
    decides.

    Weights are the fourth root of both times' product: neither one large op nor many
    tiny ones decide.
    """
    unchanged = [
        pair
        for pair in pairs
        if pair.base and pair.base.kind == "compute" and same_work(pair)
    ]
    ratios = _ratios(unchanged)
    if len(ratios) < _FEWEST_OPS or sum(times_of(unchanged)) < _LEAST_SHARE * sum(
        times_of(pairs)
    ):
        return None
    weights = sum(weight for _, weight in ratios)
    if max(weight for _, weight in ratios) > _ONE_OP_AT_MOST * weights:
        return None
    return Speed(exp(weighted_median(ratios)), len(ratios))


def scatter_of(pairs: Sequence[Pair], speed: Speed) -> float:
    """How much the unchanged ops' ratios scatter around the machine's speed: 1.4826
    median deviations of logarithms.
    """
    found = [
        (abs(ratio - log(speed.factor)), weight) for ratio, weight in _ratios(pairs)
    ]
    return 1.4826 * weighted_median(found) if found else 0.0


def _ratios(pairs: Sequence[Pair]) -> list[tuple[float, float]]:
    """(logarithm of an op's new time over its old one, weight) of those that take time
    on both sides.
    """
    times = [times_of([pair]) for pair in pairs]
    return [
        (log(after / before), (before * after) ** 0.25)
        for before, after in times
        if before > 0 and after > 0
    ]


def times_of(pairs: Sequence[Pair]) -> tuple[float, float]:
    """(of the base's ops, of the new ones) together, ms a step."""
    before = sum(pair.base.ms_per_step for pair in pairs if pair.base)
    return before, sum(pair.new.ms_per_step for pair in pairs if pair.new)


def weighted_median(values: Sequence[tuple[float, float]]) -> float:
    """Of (value, weight): where half of the weight lies on either side, between values
    by straight lines.
    """
    ordered = sorted(values)
    half = sum(weight for _, weight in ordered) / 2
    below = 0.0
    last_centre = last_value = None
    for value, weight in ordered:
        centre = below + weight / 2
        if centre >= half:
            if last_centre is None or last_value is None:
                return value
            return last_value + (value - last_value) * (half - last_centre) / (
                centre - last_centre
            )
        below += weight
        last_centre, last_value = centre, value
    return ordered[-1][0]
