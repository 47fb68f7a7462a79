"""Which op of one run is which op of another, when names differ.

Compilers number ops anew after every change, and frameworks rename layers. So an op is looked for by what it is, in
stages, the surest first; each takes what the stages before it left. Within a stage, ops of equal keys are paired in the
order of the numbers in their names, which is that of the program.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence

import msgspec

from tfadvisor.comparison.op_names import numbers, stem
from tfadvisor.comparison.side import OpRow

SAME_NAME = "name"
_NEAR_IN_TIME = 1.25
_WORTH_GUESSING = 0.005
_Key = Hashable | None


class Pair(msgspec.Struct, frozen=True):
    """The same op on both sides. by: what told so; None where one side has no such op."""

    base: OpRow | None
    new: OpRow | None
    by: str | None


def match_ops(base: Sequence[OpRow], new: Sequence[OpRow]) -> list[Pair]:
    """Every op of both sides, once."""
    left, right, pairs = list(base), list(new), []
    for by, key in _STAGES:
        found = list(_paired(left, right, key))
        pairs += [Pair(one, other, by) for one, other in found]
        left = _without(left, {id(one) for one, _ in found})
        right = _without(right, {id(other) for _, other in found})
    guessed = list(_near_in_time(left, right))
    pairs += [Pair(one, other, "time") for one, other in guessed]
    left = _without(left, {id(one) for one, _ in guessed})
    right = _without(right, {id(other) for _, other in guessed})
    return pairs + [Pair(one, None, None) for one in left] + [Pair(None, other, None) for other in right]


def same_work(pair: Pair) -> bool:
    """Whether both sides do the same work as far as the trace tells: as often, and of the same shapes where known."""
    one, other = pair.base, pair.new
    if one is None or other is None or pair.by == "time":
        return False
    return _as_often(one, other) and (not _known(one) or not _known(other) or _shape(one) == _shape(other))


def _shape(op: OpRow) -> tuple[str | None, int | None, int | None]:
    return op.opcode, op.flops, op.bytes


def _known(op: OpRow) -> bool:
    return op.opcode is not None and bool(op.flops or op.bytes)


_STAGES: tuple[tuple[str, Callable[[OpRow], _Key]], ...] = (
    (SAME_NAME, lambda op: (op.kind, op.module, op.name, *_shape(op))),
    (SAME_NAME, lambda op: (op.kind, op.name, *_shape(op))),
    ("shapes and line", lambda op: (op.kind, stem(op.name), *_shape(op), op.file, op.line) if _known(op) else None),
    ("shapes", lambda op: (op.kind, stem(op.name), *_shape(op)) if _known(op) else None),
    ("shapes", lambda op: (op.kind, *_shape(op)) if _known(op) else None),
    (SAME_NAME, lambda op: (op.kind, op.name, op.file, op.line) if op.line else None),
    ("name without numbers and line", lambda op: (op.kind, stem(op.name), op.file, op.line) if op.line else None),
    (SAME_NAME, lambda op: (op.kind, op.name)),
    ("name without numbers", lambda op: (op.kind, stem(op.name))),
    ("line", lambda op: (op.kind, op.opcode, op.file, op.line) if op.line else None),
)


def _paired(
    left: Sequence[OpRow], right: Sequence[OpRow], key: Callable[[OpRow], _Key]
) -> Iterable[tuple[OpRow, OpRow]]:
    groups: dict[Hashable, tuple[list[OpRow], list[OpRow]]] = {}
    for side, ops in enumerate((left, right)):
        for op in ops:
            of_op = key(op)
            if of_op is not None:
                groups.setdefault(of_op, ([], []))[side].append(op)
    for ones, others in groups.values():
        if ones and others:
            yield from zip(sorted(ones, key=_order), sorted(others, key=_order), strict=False)


def _order(op: OpRow) -> tuple[tuple[int, ...], float]:
    return numbers(op.name), -op.ms


def _near_in_time(left: Sequence[OpRow], right: Sequence[OpRow]) -> Iterable[tuple[OpRow, OpRow]]:
    """The last resort: ops of the same kind and opcode that run as often and take about as long, the nearest first."""
    total = max(sum(op.ms for op in left), sum(op.ms for op in right), 1e-12)
    near = [
        (max(one.ms, other.ms) / min(one.ms, other.ms), i, j)
        for i, one in enumerate(left)
        for j, other in enumerate(right)
        if min(one.ms, other.ms) > _WORTH_GUESSING * total
        and max(one.ms, other.ms) <= _NEAR_IN_TIME * min(one.ms, other.ms)
        and one.kind == other.kind
        and one.opcode == other.opcode
        and not (_known(one) and _known(other))
        and _as_often(one, other)
    ]
    taken: set[int] = set()
    given: set[int] = set()
    for _, i, j in sorted(near):
        if i not in taken and j not in given:
            taken.add(i)
            given.add(j)
            yield left[i], right[j]


def _as_often(one: OpRow, other: OpRow) -> bool:
    return abs(one.count - other.count) <= 0.01 * max(one.count, other.count)


def _without(ops: Sequence[OpRow], gone: set[int]) -> list[OpRow]:
    return [op for op in ops if id(op) not in gone]
