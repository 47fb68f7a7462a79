"""Ops of two runs side by side: which is which when names differ, how their speed
changed.

Compilers number ops anew after every change, and frameworks rename layers. So an op is
looked for by what it is, in stages, the surest first; each takes what the stages before
it left. Within a stage, ops of equal keys are paired in the order of the numbers in
their names, which is that of the program.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from math import exp, log
from typing import NamedTuple

import msgspec

from tfadvisor.comparison.change import MachineSpeed
from tfadvisor.comparison.side import numbers, stem
from tfadvisor.report import Op
from tfadvisor.tallies import listed

SAME_NAME = "name"
_Key = Hashable | None
_Shape = tuple[str | None, int | None, int | None]
"""(opcode, flops, bytes)."""


class Pair(msgspec.Struct, frozen=True):
    """The same op on both sides."""

    base: Op | None
    """None where the base has no such op."""
    new: Op | None
    """None where the new run has no such op."""
    by: str | None
    """How it was recognised, None where one side has no such op."""

    @property
    def op(self) -> Op:
        """On the new side, else in the base."""
        op = self.new or self.base
        assert op is not None
        return op

    @property
    def status(self) -> str:
        """changed, new or gone."""
        if self.base is None:
            return "new"
        return "gone" if self.new is None else "changed"


def match_ops(
    base: Sequence[Op],
    new: Sequence[Op],
) -> list[Pair]:
    """Every op of both sides, once."""
    left = list(base)
    right = list(new)
    pairs: list[Pair] = []
    for by, key in _STAGES:
        found = list(_paired(left, right, key))
        left = _without(left, {id(op) for op, _ in found})
        right = _without(right, {id(other) for _, other in found})
        pairs += [Pair(op, other, by) for op, other in found]

    pairs += [Pair(op, None, None) for op in left]
    pairs += [Pair(None, other, None) for other in right]
    return pairs


def same_work(pair: Pair) -> bool:
    """Whether both sides do the same work as far as the trace tells: as often, and of
    the same shapes where known.
    """
    base = pair.base
    other = pair.new
    if base is None or other is None:
        return False

    counts = (base.count_per_step, other.count_per_step)
    if abs(counts[0] - counts[1]) > 0.01 * max(counts):
        return False
    both_known = _known(base) and _known(other)
    return not both_known or _shape(base) == _shape(other)


def _shape(op: Op) -> _Shape:
    return op.opcode, op.flops, op.bytes


def _known(op: Op) -> bool:
    return op.opcode is not None and bool(op.flops or op.bytes)


def _shape_and_line(op: Op) -> _Key:
    if not _known(op):
        return None
    return op.kind, stem(op.name), *_shape(op), op.file, op.line


def _stem_and_shape(op: Op) -> _Key:
    return (op.kind, stem(op.name), *_shape(op)) if _known(op) else None


def _shape_alone(op: Op) -> _Key:
    return (op.kind, *_shape(op)) if _known(op) else None


def _name_and_line(op: Op) -> _Key:
    return (op.kind, op.name, op.file, op.line) if op.line else None


def _stem_and_line(op: Op) -> _Key:
    return (op.kind, stem(op.name), op.file, op.line) if op.line else None


def _line(op: Op) -> _Key:
    return (op.kind, op.opcode, op.file, op.line) if op.line else None


_STAGES: tuple[tuple[str, Callable[[Op], _Key]], ...] = (
    (SAME_NAME, lambda op: (op.kind, op.module, op.name, op.kernel, *_shape(op))),
    (SAME_NAME, lambda op: (op.kind, op.module, op.name, *_shape(op))),
    (SAME_NAME, lambda op: (op.kind, op.name, *_shape(op))),
    ("shapes and line", _shape_and_line),
    ("shapes", _stem_and_shape),
    ("shapes", _shape_alone),
    (SAME_NAME, _name_and_line),
    ("name without numbers and line", _stem_and_line),
    (SAME_NAME, lambda op: (op.kind, op.name)),
    ("name without numbers", lambda op: (op.kind, stem(op.name))),
    ("line", _line),
)
"""How an op is recognised, and by what; None where that is not known of it."""


def _paired(
    left: Sequence[Op],
    right: Sequence[Op],
    key: Callable[[Op], _Key],
) -> Iterator[tuple[Op, Op]]:
    ones = _by_key(left, key)
    others = _by_key(right, key)
    for of_ops in ones:
        if of_ops in others:
            yield from zip(ones[of_ops], others[of_ops], strict=False)


def _by_key(
    ops: Sequence[Op],
    key: Callable[[Op], _Key],
) -> dict[Hashable, list[Op]]:
    """The ops of each key, in the order of the program."""
    groups = listed((key(op), op) for op in ops)
    groups.pop(None, None)
    for group in groups.values():
        group.sort(key=_order)
    return groups


def _order(op: Op) -> tuple[tuple[int, ...], float]:
    return numbers(op.name), -op.ms_per_step


def _without(
    ops: Sequence[Op],
    gone: set[int],
) -> list[Op]:
    return [op for op in ops if id(op) not in gone]


# How fast the machine is in one run against another, measured by the ops whose work did
# not change.

_FEWEST_OPS = 6
_LEAST_SHARE = 0.5
_ONE_OP_AT_MOST = 0.4


class OpRatio(NamedTuple):
    """How much longer an op takes than before."""

    log: float
    """Logarithm of its new time over its old one."""
    weight: float
    """The fourth root of both times' product: neither one large op nor many tiny ones
    decide.
    """


def op_speed(pairs: Sequence[Pair]) -> MachineSpeed | None:
    """None when too few ops are the same, they are too little of the work, or one op
    decides.
    """
    unchanged = [pair for pair in pairs if pair.op.kind == "compute"]
    unchanged = [pair for pair in unchanged if same_work(pair)]
    ratios = _ratios(unchanged)
    if len(ratios) < _FEWEST_OPS:
        return None

    same = sum(times_of(unchanged))
    if same < _LEAST_SHARE * sum(times_of(pairs)):
        return None

    weights = [ratio.weight for ratio in ratios]
    if max(weights) > _ONE_OP_AT_MOST * sum(weights):
        return None
    return MachineSpeed(exp(weighted_median(ratios)), len(ratios))


def scatter_of(
    pairs: Sequence[Pair],
    speed: MachineSpeed,
) -> float:
    """How much the unchanged ops' ratios scatter around the machine's speed: 1.4826
    median deviations of logarithms.
    """
    usual = log(speed.factor)
    away = [OpRatio(abs(ratio.log - usual), ratio.weight) for ratio in _ratios(pairs)]
    return 1.4826 * weighted_median(away) if away else 0.0


def _ratios(pairs: Sequence[Pair]) -> list[OpRatio]:
    """Of those that take time on both sides."""
    ratios = []
    for pair in pairs:
        before, after = times_of([pair])
        if before > 0 and after > 0:
            weight = (before * after) ** 0.25
            ratios.append(OpRatio(log(after / before), weight))
    return ratios


def times_of(pairs: Sequence[Pair]) -> tuple[float, float]:
    """(of the base's ops, of the new ones) together, ms a step."""
    before = sum(pair.base.ms_per_step for pair in pairs if pair.base)
    after = sum(pair.new.ms_per_step for pair in pairs if pair.new)
    return before, after


def weighted_median(values: Sequence[tuple[float, float]]) -> float:
    """Of (value, weight): where half of the weight lies on either side, between values
    by straight lines.
    """
    ordered = sorted(values)
    half = sum(weight for _, weight in ordered) / 2
    below = 0.0
    last_centre: float | None = None
    last_value = 0.0
    for value, weight in ordered:
        centre = below + weight / 2
        if centre >= half:
            if last_centre is None:
                return value
            rise = (value - last_value) * (half - last_centre)
            return last_value + rise / (centre - last_centre)
        below += weight
        last_centre = centre
        last_value = value
    return ordered[-1][0]
