"""The change of the step time, split over causes that add up to it.

The breakdown gives every instant of a step to one class, so the changes of the classes
add up to the change of the mean step time by construction. Ops run at the same time, so
their times do not add up to their class: with S the sum of the ops' times and C the
time of the class, an op of t ms takes t · C / S of the step.

- Compute is split so, op by op. Ops whose work did not change are reported together:
  what slows them all alike is the machine rather than the program. An outlier among
  them is reported on its own.
- Causes are ordered by what is surely theirs: less what the steps' own scatter, the
  machine's speed and the scatter of the unchanged ops could have made of an unchanged
  program.
- Collectives and copies hide behind compute, and how much they do is its own cause.
  With r = C / S, and S' the side with more work, C' - C = r' · (S' - S) + S · (r' - r):
  the first term goes to the ops, the second is named overlap.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import log

import msgspec

from tfadvisor.comparison.ops import (
    Pair,
    match_ops,
    op_speed,
    same_work,
    scatter_of,
    times_of,
)
from tfadvisor.comparison.result import (
    Cause,
    ClassChange,
    Comparison,
    FindingChange,
    Head,
    OpChange,
    Speed,
)
from tfadvisor.comparison.side import Side, class_of, stem
from tfadvisor.vocabulary import TIME_CLASSES

_HIDING = ("collective", "transfer")
_NAMED_ABOVE = 0.005
"""An op is named when it changes the step by this share of the base; the rest of its
class is summed up.
"""
_MOST_NAMED = 20
_STANDS_OUT = 4.0
_STANDS_OUT_AT_LEAST = 0.05
_WORTH_LEADING = 0.05


def split(
    base: Side, new: Side
) -> tuple[tuple[ClassChange, ...], tuple[Cause, ...], Speed | None]:
    """Changes of the classes, causes with the largest first, the machine's speed."""
    pairs = match_ops(base.ops, new.ops)
    speed = op_speed(pairs)
    classes = tuple(
        ClassChange(name, before, after, after - before, _error(base, new, name))
        for name, before, after in (
            (one, base.class_ms[one], new.class_ms[one]) for one in TIME_CLASSES
        )
    )
    machine = _Machine(
        speed,
        scatter_of([pair for pair in pairs if same_work(pair)], speed)
        if speed
        else 0.0,
    )
    causes: list[Cause] = []
    for one in classes:
        of_class = [pair for pair in pairs if _class(pair) == one.name]
        if one.name == "compute":
            causes += _computing(one, base, new, of_class, machine)
        elif one.name in _HIDING:
            causes += _hiding(one, base, new, of_class, machine)
        elif one.change_ms:
            sure = _sure(
                one.change_ms, machine.drift(one.base_ms) + 2 * (one.error_ms or 0.0)
            )
            causes.append(
                Cause(
                    one.name,
                    "class",
                    one.name,
                    one.change_ms,
                    sure,
                    one.base_ms,
                    one.new_ms,
                    None,
                )
            )
    return classes, _ordered(causes), speed


class _Machine(msgspec.Struct, frozen=True):
    """What the machine does to unchanged work: its speed, None when not known, and how
    ops scatter around it (log).
    """

    speed: Speed | None
    scatter: float

    def drift(self, ms: float) -> float:
        """By how much work of so many ms changes when the program does not."""
        return abs((self.speed.factor if self.speed else 1.0) - 1) * ms


def _sure(change: float, doubt: float) -> float:
    """What is left of a change, whatever its sign, when as much as is in doubt is taken
    off.
    """
    return max(abs(change) - doubt, 0.0)


def _ordered(causes: Sequence[Cause]) -> tuple[Cause, ...]:
    """The surest first; the unchanged ops last, unless nothing else comes near them."""
    ordered = sorted(causes, key=lambda cause: (-cause.sure_ms, -abs(cause.change_ms)))
    unchanged = [cause for cause in ordered if cause.kind == "unchanged ops"]
    others = [cause for cause in ordered if cause.kind != "unchanged ops"]
    largest = max((abs(cause.change_ms) for cause in others), default=0.0)
    lead = unchanged and largest < _WORTH_LEADING * abs(unchanged[0].change_ms)
    return tuple([*unchanged, *others] if lead else [*others, *unchanged])


def _computing(
    one: ClassChange, base: Side, new: Side, pairs: Sequence[Pair], machine: _Machine
) -> list[Cause]:
    """The causes of the compute class: ops, each for what it takes of the step on its
    side.
    """
    before, after = _work(one.name, base, new, pairs)
    rates = (
        one.base_ms / before if before > 0 else 0.0,
        one.new_ms / after if after > 0 else 0.0,
    )
    unchanged = [pair for pair in pairs if same_work(pair)] if machine.speed else []
    ordinary = {id(pair) for pair in unchanged} - {
        id(pair) for pair in _standing_out(unchanged, machine, rates, base)
    }
    rest = [pair for pair in pairs if id(pair) not in ordinary]
    named, others = _named(_alike(rest), rates, _NAMED_ABOVE * base.mean_ms)
    causes = [_of_ops(one.name, group, rates, machine) for group in named]
    together = _change([pair for pair in unchanged if id(pair) in ordinary], rates)
    if ordinary and together:
        causes.append(
            Cause(
                one.name,
                "unchanged ops",
                "unchanged ops",
                together,
                0.0,
                None,
                None,
                None,
            )
        )
    left = one.change_ms - sum(cause.change_ms for cause in causes)
    unlisted = base.rest_ms.get(one.name) or new.rest_ms.get(one.name)
    if others or unlisted or abs(left) > 1e-9 * max(one.base_ms, one.new_ms):
        causes.append(
            Cause(one.name, "other ops", "other ops", left, 0.0, None, None, None)
        )
    return causes


def _standing_out(
    unchanged: Sequence[Pair], machine: _Machine, rates: tuple[float, float], base: Side
) -> list[Pair]:
    """Unchanged ops that became slower or faster by more than the others scatter, and
    enough to matter.
    """
    found = []
    for pair in unchanged:
        if not (
            pair.base
            and pair.new
            and machine.speed
            and pair.base.ms_per_step > 0
            and pair.new.ms_per_step > 0
        ):
            continue
        ratio, factor = (
            pair.new.ms_per_step / pair.base.ms_per_step,
            machine.speed.factor,
        )
        far = abs(log(ratio / factor)) > max(
            _STANDS_OUT * machine.scatter, _STANDS_OUT_AT_LEAST
        )
        if (
            far
            and abs(ratio - factor) * pair.base.ms_per_step * max(rates)
            > _NAMED_ABOVE * base.mean_ms
        ):
            found.append(pair)
    return found


def _hiding(
    one: ClassChange, base: Side, new: Side, pairs: Sequence[Pair], machine: _Machine
) -> list[Cause]:
    """The causes of collectives or copies: ops, and how much of them is hidden."""
    before, after = _work(one.name, base, new, pairs)
    first = one.base_ms / before if before > 0 else None
    second = one.new_ms / after if after > 0 else None
    first, second = (
        first if first is not None else second or 0.0,
        second if second is not None else first or 0.0,
    )
    rate = second if after >= before else first
    named, others = _named(_alike(pairs), (rate, rate), _NAMED_ABOVE * base.mean_ms)
    causes = [_of_ops(one.name, group, (rate, rate), machine) for group in named]
    rest = new.rest_ms.get(one.name, 0.0) - base.rest_ms.get(one.name, 0.0)
    unnamed = sum(_change(group, (rate, rate)) for group in others) + rate * rest
    if unnamed:
        causes.append(
            Cause(one.name, "other ops", "other ops", unnamed, 0.0, None, None, None)
        )
    overlap = one.change_ms - sum(cause.change_ms for cause in causes)
    if abs(overlap) > 1e-9 * max(one.base_ms, one.new_ms):
        sure = _sure(overlap, 2 * (one.error_ms or 0.0))
        causes.append(
            Cause(one.name, "overlap", "overlap", overlap, sure, None, None, None)
        )
    return causes


def _work(
    name: str, base: Side, new: Side, pairs: Sequence[Pair]
) -> tuple[float, float]:
    """The ops' times of a class, those beyond the table included."""
    before, after = times_of(pairs)
    return before + base.rest_ms.get(name, 0.0), after + new.rest_ms.get(name, 0.0)


def _alike(pairs: Sequence[Pair]) -> list[list[Pair]]:
    """Ops that only one side has are reported together when their names differ in
    numbers only, else one by one.
    """
    groups: dict[object, list[Pair]] = {}
    for number, pair in enumerate(pairs):
        one_sided = pair.new or pair.base if not (pair.base and pair.new) else None
        key = (
            (one_sided.kind, stem(one_sided.name), pair.new is None)
            if one_sided
            else number
        )
        groups.setdefault(key, []).append(pair)
    return list(groups.values())


def _named(
    groups: Sequence[list[Pair]], rates: tuple[float, float], enough_ms: float
) -> tuple[list[list[Pair]], list[list[Pair]]]:
    ordered = sorted(groups, key=lambda group: -abs(_change(group, rates)))
    number = sum(
        abs(_change(group, rates)) >= enough_ms for group in ordered[:_MOST_NAMED]
    )
    return ordered[:number], ordered[number:]


def _of_ops(
    class_name: str,
    group: Sequence[Pair],
    rates: tuple[float, float],
    machine: _Machine,
) -> Cause:
    """The cause that an op is, or several of one kind that only one side has."""
    hottest = max(group, key=lambda pair: abs(_change([pair], rates)))
    op = hottest.new or hottest.base
    assert op is not None
    base_ms, new_ms = times_of(group)
    change = OpChange(
        name=op.name if len(group) == 1 else stem(op.name),
        before=hottest.base.name
        if hottest.base and hottest.base.name != op.name
        else None,
        kind=op.kind,
        status="changed"
        if hottest.base and hottest.new
        else "new"
        if hottest.new
        else "gone",
        by=hottest.by,
        number=len(group),
        base_op_ms=base_ms,
        new_op_ms=new_ms,
        base_count=sum(pair.base.count_per_step for pair in group if pair.base),
        new_count=sum(pair.new.count_per_step for pair in group if pair.new),
        module=op.module,
        file=op.file,
        line=op.line,
    )
    before, after = rates[0] * base_ms, rates[1] * new_ms
    doubt = machine.drift(before)
    if hottest.base and hottest.new:
        doubt += (
            (_STANDS_OUT if same_work(hottest) else 1.0)
            * machine.scatter
            * max(before, after)
        )
    return Cause(
        class_name,
        "op",
        change.name,
        after - before,
        _sure(after - before, doubt),
        before,
        after,
        change,
    )


def _change(group: Sequence[Pair], rates: tuple[float, float]) -> float:
    """What the ops take of the step more than before, ms."""
    before, after = times_of(group)
    return rates[1] * after - rates[0] * before


def _class(pair: Pair) -> str:
    op = pair.new or pair.base
    assert op is not None
    return class_of(op.kind)


def _error(base: Side, new: Side, name: str) -> float | None:
    """Standard error of the class's change, from the steps of both runs."""
    one, other = base.class_error_ms.get(name), new.class_error_ms.get(name)
    return (
        float((one * one + other * other) ** 0.5)
        if one is not None and other is not None
        else None
    )


# Two sides in, a comparison out.


def compare_sides(
    base: Side,
    new: Side,
    *,
    differences: Sequence[str] = (),
    same: bool = False,
    refused: Sequence[str] = (),
) -> Comparison:
    """The change of the mean step time and its causes."""
    classes, causes, speed = split(base, new)
    return Comparison(
        base=_head(base),
        new=_head(new),
        change_ms=new.mean_ms - base.mean_ms,
        classes=classes,
        causes=causes,
        findings=tuple(_findings(base, new)),
        speed=speed,
        differences=tuple(differences),
        same=same,
        refused=tuple(refused),
    )


def _head(side: Side) -> Head:
    return Head(
        side.name, side.steps, side.mean_ms, side.median_ms, side.median_error_ms
    )


def _findings(base: Side, new: Side) -> list[FindingChange]:
    appeared = [
        one
        for one in new.findings
        if not any(one.same_cause(other) for other in base.findings)
    ]
    gone = [
        one
        for one in base.findings
        if not any(one.same_cause(other) for other in new.findings)
    ]
    return [
        FindingChange(one.rule_id, one.category, one.title, one.place, one_side)
        for one_side, some in ((True, appeared), (False, gone))
        for one in some
    ]
