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

from collections.abc import Callable, Iterable, Iterator, Sequence
from math import log
from typing import NamedTuple

import msgspec

from tfadvisor.comparison.change import (
    ChangeCause,
    ClassChange,
    Comparison,
    FindingChange,
    Head,
    MachineSpeed,
    OpChange,
)
from tfadvisor.comparison.ops import (
    Pair,
    match_ops,
    op_speed,
    same_work,
    scatter_of,
    times_of,
)
from tfadvisor.comparison.side import KnownFinding, Side, class_of, stem
from tfadvisor.report import Op
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
_UNCHANGED = "unchanged ops"
_OTHERS = "other ops"


def split(
    base: Side,
    new: Side,
) -> tuple[tuple[ClassChange, ...], tuple[ChangeCause, ...], MachineSpeed | None]:
    """Changes of the classes, causes with the largest first, the machine's speed."""
    pairs = match_ops(base.ops, new.ops)
    machine = _machine(pairs)
    classes = tuple(_class_change(name, base, new) for name in TIME_CLASSES)

    causes: list[ChangeCause] = []
    for class_ in classes:
        mine = [pair for pair in pairs if class_of(pair.op.kind) == class_.name]
        if class_.name == "compute":
            causes += _computing(class_, base, new, mine, machine)
        elif class_.name in _HIDING:
            causes += _hiding(class_, base, new, mine, machine)
        elif class_.change_ms:
            causes.append(_waiting(class_, machine))
    return classes, _ordered(causes), machine.speed


class _Machine(msgspec.Struct, frozen=True):
    """What the machine does to unchanged work."""

    speed: MachineSpeed | None
    """None when not known."""
    scatter: float
    """How ops scatter around it (log)."""

    def drift(self, ms: float) -> float:
        """By how much work of so many ms changes when the program does not."""
        factor = self.speed.factor if self.speed else 1.0
        return abs(factor - 1) * ms


def _machine(pairs: Sequence[Pair]) -> _Machine:
    speed = op_speed(pairs)
    if speed is None:
        return _Machine(None, 0.0)
    unchanged = [pair for pair in pairs if same_work(pair)]
    return _Machine(speed, scatter_of(unchanged, speed))


class _Rates(NamedTuple):
    """What an op takes of the step for each ms that it runs, on either side."""

    before: float
    after: float

    def change(self, group: Sequence[Pair]) -> float:
        """What the ops take of the step more than before, ms."""
        before, after = times_of(group)
        return self.after * after - self.before * before


def _class_change(
    name: str,
    base: Side,
    new: Side,
) -> ClassChange:
    before = base.class_ms[name]
    after = new.class_ms[name]
    return ClassChange(
        name=name,
        base_ms=before,
        new_ms=after,
        change_ms=after - before,
        error_ms=_error(base, new, name),
    )


def _error(
    base: Side,
    new: Side,
    name: str,
) -> float | None:
    """Standard error of the class's change, from the steps of both runs."""
    before = base.class_error_ms.get(name)
    after = new.class_error_ms.get(name)
    if before is None or after is None:
        return None
    return float((before * before + after * after) ** 0.5)


def _sure(change: float, doubt: float) -> float:
    """What is left of a change, whatever its sign, when as much as is in doubt is taken
    off.
    """
    return max(abs(change) - doubt, 0.0)


def _ordered(causes: Sequence[ChangeCause]) -> tuple[ChangeCause, ...]:
    """The surest first; the unchanged ops last, unless nothing else comes near them."""
    ordered = sorted(causes, key=lambda cause: (-cause.sure_ms, -abs(cause.change_ms)))
    unchanged = [cause for cause in ordered if cause.kind == _UNCHANGED]
    others = [cause for cause in ordered if cause.kind != _UNCHANGED]
    if not unchanged:
        return tuple(others)

    largest = max((abs(cause.change_ms) for cause in others), default=0.0)
    if largest < _WORTH_LEADING * abs(unchanged[0].change_ms):
        return (*unchanged, *others)
    return (*others, *unchanged)


def _whole(
    change: ClassChange,
    kind: str,
    change_ms: float,
    sure_ms: float = 0.0,
) -> ChangeCause:
    """A cause that is no op, called as its kind."""
    return ChangeCause(
        class_name=change.name,
        kind=kind,
        name=kind,
        change_ms=change_ms,
        sure_ms=sure_ms,
        base_ms=None,
        new_ms=None,
        op=None,
    )


def _waiting(change: ClassChange, machine: _Machine) -> ChangeCause:
    """The cause that a class is in which no device works."""
    doubt = machine.drift(change.base_ms) + 2 * (change.error_ms or 0.0)
    return ChangeCause(
        class_name=change.name,
        kind="class",
        name=change.name,
        change_ms=change.change_ms,
        sure_ms=_sure(change.change_ms, doubt),
        base_ms=change.base_ms,
        new_ms=change.new_ms,
        op=None,
    )


def _computing(
    change: ClassChange,
    base: Side,
    new: Side,
    pairs: Sequence[Pair],
    machine: _Machine,
) -> list[ChangeCause]:
    """The causes of the compute class: ops, each for what it takes of the step on its
    side.
    """
    before, after = _work(change.name, base, new, pairs)
    rates = _Rates(
        change.base_ms / before if before > 0 else 0.0,
        change.new_ms / after if after > 0 else 0.0,
    )
    enough_ms = _NAMED_ABOVE * base.mean_ms

    rest: list[Pair] = []
    ordinary: list[Pair] = []
    for pair in pairs:
        is_ordinary = _is_unchanged(pair, machine, rates, enough_ms)
        (ordinary if is_ordinary else rest).append(pair)

    named, others = _named(rest, rates, enough_ms)
    causes = [_of_ops(change.name, group, rates, machine) for group in named]
    together = rates.change(ordinary)
    if ordinary and together:
        causes.append(_whole(change, _UNCHANGED, together))

    left = change.change_ms - _sum(causes)
    unlisted = base.rest_ms.get(change.name) or new.rest_ms.get(change.name)
    if others or unlisted or not _is_nothing(left, change):
        causes.append(_whole(change, _OTHERS, left))
    return causes


def _is_unchanged(
    pair: Pair,
    machine: _Machine,
    rates: _Rates,
    enough_ms: float,
) -> bool:
    """Whether an op does the same work, and became neither slower nor faster by more
    than the others scatter and by enough to matter.
    """
    if machine.speed is None or not same_work(pair):
        return False
    before, after = times_of([pair])
    if before <= 0 or after <= 0:
        return True

    factor = machine.speed.factor
    ratio = after / before
    usual = max(_STANDS_OUT * machine.scatter, _STANDS_OUT_AT_LEAST)
    is_far = abs(log(ratio / factor)) > usual
    beyond_ms = abs(ratio - factor) * before * max(rates)
    return not (is_far and beyond_ms > enough_ms)


def _hiding(
    change: ClassChange,
    base: Side,
    new: Side,
    pairs: Sequence[Pair],
    machine: _Machine,
) -> list[ChangeCause]:
    """The causes of collectives or copies: ops, and how much of them is hidden."""
    rate = _rate_of_more(change, *_work(change.name, base, new, pairs))
    rates = _Rates(rate, rate)
    named, others = _named(
        pairs,
        rates,
        _NAMED_ABOVE * base.mean_ms,
    )
    causes = [_of_ops(change.name, group, rates, machine) for group in named]

    rest = new.rest_ms.get(change.name, 0.0) - base.rest_ms.get(change.name, 0.0)
    unnamed = sum(rates.change(group) for group in others) + rate * rest
    if unnamed:
        causes.append(_whole(change, _OTHERS, unnamed))

    overlap = change.change_ms - _sum(causes)
    if not _is_nothing(overlap, change):
        sure = _sure(overlap, 2 * (change.error_ms or 0.0))
        causes.append(_whole(change, "overlap", overlap, sure))
    return causes


def _rate_of_more(
    change: ClassChange,
    before: float,
    after: float,
) -> float:
    """The rate of the side with more work. before, after: the ops' times."""
    if after >= before:
        return change.new_ms / after if after > 0 else 0.0
    return change.base_ms / before


def _sum(causes: Sequence[ChangeCause]) -> float:
    return sum(cause.change_ms for cause in causes)


def _is_nothing(change_ms: float, change: ClassChange) -> bool:
    """Whether it is rounding."""
    return abs(change_ms) <= 1e-9 * max(change.base_ms, change.new_ms)


def _work(
    name: str,
    base: Side,
    new: Side,
    pairs: Sequence[Pair],
) -> tuple[float, float]:
    """The ops' times of a class, those beyond the table included."""
    before, after = times_of(pairs)
    before += base.rest_ms.get(name, 0.0)
    after += new.rest_ms.get(name, 0.0)
    return before, after


def _grouped(
    groups: Sequence[list[Pair]], key_of: Callable[[Pair], str | None]
) -> list[list[Pair]]:
    """Groups of ops that only one side has, of one kind and key, as one group."""
    found: dict[object, list[Pair]] = {}
    for number, group in enumerate(groups):
        first = group[0]
        key: object = number
        if first.status != "changed":
            key = (first.op.kind, key_of(first), first.status)
        found.setdefault(key, []).extend(group)
    return list(found.values())


def _named(
    pairs: Sequence[Pair],
    rates: _Rates,
    enough_ms: float,
) -> tuple[list[list[Pair]], list[list[Pair]]]:
    """(the groups that are named, those that are summed up). What only one side has is
    put together by names without numbers, then what is still too small by what it
    computes, then by its program, before it is given up.
    """
    named: list[list[Pair]] = []
    left = [[pair] for pair in pairs]
    for key_of in _WIDER:
        left = _grouped(left, key_of)
        left.sort(key=lambda group: -abs(rates.change(group)))
        most = _MOST_NAMED - len(named)
        number = sum(abs(rates.change(group)) >= enough_ms for group in left[:most])
        named, left = [*named, *left[:number]], left[number:]
    return named, left


_WIDER: tuple[Callable[[Pair], str | None], ...] = (
    lambda pair: stem(pair.op.name),
    lambda pair: f"{pair.op.opcode} {pair.op.shape} {pair.op.module}",
    lambda pair: pair.op.module,
)
"""What ops that only one side has have in common, the narrowest first."""


def _of_ops(
    class_name: str,
    group: Sequence[Pair],
    rates: _Rates,
    machine: _Machine,
) -> ChangeCause:
    """The cause that an op is, or several of one kind that only one side has."""
    hottest = max(group, key=lambda pair: abs(rates.change([pair])))
    change = _op_change(hottest, group)
    before = rates.before * change.base_op_ms
    after = rates.after * change.new_op_ms

    doubt = machine.drift(before)
    if change.status == "changed":
        times = _STANDS_OUT if same_work(hottest) else 1.0
        doubt += times * machine.scatter * max(before, after)

    return ChangeCause(
        class_name=class_name,
        kind="op",
        name=change.name or "ops",
        change_ms=after - before,
        sure_ms=_sure(after - before, doubt),
        base_ms=before,
        new_ms=after,
        op=change,
    )


def _name_of(group: Sequence[Pair], op: Op) -> str:
    """Of several ops what their names share; "" for nothing."""
    if len(group) == 1:
        return op.name
    names = {stem(pair.op.name) for pair in group}
    return names.pop() if len(names) == 1 else ""


def _op_change(
    hottest: Pair,
    group: Sequence[Pair],
) -> OpChange:
    op = hottest.op
    was = hottest.base.name if hottest.base else op.name
    base_ms, new_ms = times_of(group)
    return OpChange(
        name=_name_of(group, op),
        before=was if was != op.name else None,
        kind=op.kind,
        status=hottest.status,
        by=hottest.by,
        number=len(group),
        base_op_ms=base_ms,
        new_op_ms=new_ms,
        base_count=sum(pair.base.count_per_step for pair in group if pair.base),
        new_count=sum(pair.new.count_per_step for pair in group if pair.new),
        module=op.module,
        file=op.file,
        line=op.line,
        base_shape=hottest.base.shape if hottest.base and len(group) == 1 else None,
        new_shape=hottest.new.shape if hottest.new and len(group) == 1 else None,
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
        name=side.name,
        steps=side.steps,
        mean_ms=side.mean_ms,
        median_ms=side.median_ms,
        error_ms=side.median_error_ms,
    )


def _findings(
    base: Side,
    new: Side,
) -> list[FindingChange]:
    """Those of the new side alone, then those of the base alone."""
    appeared = _without_cause_in(new.findings, base.findings)
    gone = _without_cause_in(base.findings, new.findings)
    changes = [_finding_change(finding, appeared=True) for finding in appeared]
    changes += [_finding_change(finding, appeared=False) for finding in gone]
    return changes


def _without_cause_in(
    findings: Iterable[KnownFinding],
    others: Sequence[KnownFinding],
) -> Iterator[KnownFinding]:
    for finding in findings:
        if not any(finding.same_cause(other) for other in others):
            yield finding


def _finding_change(finding: KnownFinding, *, appeared: bool) -> FindingChange:
    return FindingChange(
        rule_id=finding.rule_id,
        category=finding.category,
        title=finding.title,
        place=finding.place,
        appeared=appeared,
    )
