"""The change of the step time, split over causes that add up to it.

The breakdown gives every instant of a step to one class, so the changes of the classes add up to the change of the mean
step time by construction. Ops run at the same time, so their times do not add up to their class. With S the sum of the
ops' times, C the time of the class and r = C / S, and S' the side with more work, the change is split without remainder:

    C' - C  =  r' · (S' - S)  +  S · (r' - r)

The first term goes to the ops by how much each changed; the second, about the work that both sides have, is named for
what it is: overlap.
"""

from __future__ import annotations

from collections.abc import Sequence

from tfadvisor.comparison.match_ops import Pair, match_ops
from tfadvisor.comparison.op_names import stem
from tfadvisor.comparison.result import Cause, ClassChange, OpChange
from tfadvisor.comparison.side import TIME_CLASSES, Side, class_of

_DEVICE_CLASSES = ("compute", "collective", "transfer")
_NAMED_ABOVE = 0.005
"""An op is named when it changes the step by this share of the base; the rest of its class is summed up."""
_MOST_NAMED = 20


def split(base: Side, new: Side) -> tuple[tuple[ClassChange, ...], tuple[Cause, ...], list[Pair]]:
    """Changes of the classes, causes with the largest first, and the ops of both sides in pairs."""
    pairs = match_ops(base.ops, new.ops)
    classes = tuple(
        ClassChange(
            name,
            base.class_ms.get(name, 0.0),
            new.class_ms.get(name, 0.0),
            new.class_ms.get(name, 0.0) - base.class_ms.get(name, 0.0),
            _error(base, new, name),
        )
        for name in TIME_CLASSES
    )
    causes: list[Cause] = []
    for one in classes:
        if one.name in _DEVICE_CLASSES:
            causes += _within(one, base, new, [pair for pair in pairs if _class(pair) == one.name])
        elif one.change_ms:
            causes.append(Cause(one.name, "class", one.name, one.change_ms, one.base_ms, one.new_ms, None))
    return classes, tuple(sorted(causes, key=lambda cause: -abs(cause.change_ms))), pairs


def _within(one: ClassChange, base: Side, new: Side, pairs: Sequence[Pair]) -> list[Cause]:
    """The causes of one class of device work; they add up to its change."""
    rest = new.rest_ms.get(one.name, 0.0) - base.rest_ms.get(one.name, 0.0)
    before = sum(pair.base.ms for pair in pairs if pair.base) + base.rest_ms.get(one.name, 0.0)
    after = sum(pair.new.ms for pair in pairs if pair.new) + new.rest_ms.get(one.name, 0.0)
    rate_before, rate_after = _rates(one.base_ms, before, one.new_ms, after)
    rate = rate_after if after >= before else rate_before
    named, others = _named(_alike(pairs), rate, _NAMED_ABOVE * base.mean_ms)
    causes = [_of_ops(one.name, group, rate) for group in named]
    unnamed = rate * (sum(_change(group) for group in others) + rest)
    overlap = min(before, after) * (rate_after - rate_before)
    unexplained = one.change_ms - sum(cause.change_ms for cause in causes) - unnamed - overlap
    if unnamed:
        causes.append(Cause(one.name, "other ops", "other ops", unnamed, None, None, None))
    if abs(overlap + unexplained) > 0:
        causes.append(Cause(one.name, "overlap", "overlap", overlap + unexplained, None, None, None))
    return causes


def _rates(base_ms: float, before: float, new_ms: float, after: float) -> tuple[float, float]:
    """Time of the class over time of its ops, on both sides; where one side has no ops, as on the other."""
    first = base_ms / before if before > 0 else None
    second = new_ms / after if after > 0 else None
    first, second = first if first is not None else second, second if second is not None else first
    return (first, second) if first is not None and second is not None else (0.0, 0.0)


def _alike(pairs: Sequence[Pair]) -> list[list[Pair]]:
    """Ops that only one side has are told together when their names differ in numbers only; every other op by itself."""
    groups: dict[object, list[Pair]] = {}
    for number, pair in enumerate(pairs):
        one_sided = pair.new or pair.base if not (pair.base and pair.new) else None
        key = (one_sided.kind, stem(one_sided.name), pair.new is None) if one_sided else number
        groups.setdefault(key, []).append(pair)
    return list(groups.values())


def _named(groups: Sequence[list[Pair]], rate: float, enough_ms: float) -> tuple[list[list[Pair]], list[list[Pair]]]:
    ordered = sorted(groups, key=lambda group: -abs(_change(group)))
    number = sum(abs(rate * _change(group)) >= enough_ms for group in ordered[:_MOST_NAMED])
    return ordered[:number], ordered[number:]


def _of_ops(class_name: str, group: Sequence[Pair], rate: float) -> Cause:
    """The cause that an op is, or several of one kind that only one side has."""
    hottest = max(group, key=lambda pair: abs(_change([pair])))
    op = hottest.new or hottest.base
    assert op is not None
    change = OpChange(
        name=op.name if len(group) == 1 else stem(op.name),
        before=hottest.base.name if hottest.base and hottest.base.name != op.name else None,
        kind=op.kind,
        status="changed" if hottest.base and hottest.new else "new" if hottest.new else "gone",
        by=hottest.by,
        number=len(group),
        base_op_ms=sum(pair.base.ms for pair in group if pair.base),
        new_op_ms=sum(pair.new.ms for pair in group if pair.new),
        base_count=sum(pair.base.count for pair in group if pair.base),
        new_count=sum(pair.new.count for pair in group if pair.new),
        module=op.module,
        file=op.file,
        line=op.line,
    )
    before, after = rate * change.base_op_ms, rate * change.new_op_ms
    return Cause(class_name, "op", change.name, after - before, before, after, change)


def _change(group: Sequence[Pair]) -> float:
    return sum((pair.new.ms if pair.new else 0.0) - (pair.base.ms if pair.base else 0.0) for pair in group)


def _class(pair: Pair) -> str:
    op = pair.new or pair.base
    assert op is not None
    return class_of(op.kind)


def _error(base: Side, new: Side, name: str) -> float | None:
    """Standard error of the class's change, from the steps of both runs."""
    one, other = base.class_error_ms.get(name), new.class_error_ms.get(name)
    return float((one * one + other * other) ** 0.5) if one is not None and other is not None else None
