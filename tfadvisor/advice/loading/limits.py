"""The numbers by which rules fire, and how a user changes them without writing a rule.

A limit is a number that a rule compares a metric with. It is called as the metric; where the rule compares the metric with
several numbers, they are counted from the smallest: `input_bound_fraction-1`, `input_bound_fraction-2`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

import msgspec
from msgspec.structs import replace

from tfadvisor.advice.findings import ChangedLimit
from tfadvisor.advice.judging.conditions import Compare, Condition, Joined
from tfadvisor.advice.loading.rule import Rule
from tfadvisor.did_you_mean import did_you_mean
from tfadvisor.errors import SeveralMistakes, UsageError
from tfadvisor.units import Unit, limit_in_words

_PERCENT = re.compile(r"^\s*(\d+(?:\.\d+)?)\s*%\s*$")
_HUGE = 1e300


class Limit(msgspec.Struct, frozen=True):
    """One number of a rule."""

    name: str
    metric: str
    bound: float
    """In the metric's unit."""
    operators: tuple[str, ...]
    """How the rule compares with it: at_least, above, below, at_most; several where it does so in several places."""
    because: str = ""
    """Why this number."""

    @property
    def unit(self) -> Unit:
        """The metric's."""
        from tfadvisor.metrics.registry import registered_metrics  # a build compiles rules without NumPy

        return registered_metrics()[self.metric].unit

    @property
    def words(self) -> str:
        """`at least 5%`, `at least or below 8`."""
        return f"{' or '.join(one.replace('_', ' ') for one in self.operators)} {limit_in_words(self.bound, self.unit)}"


def limits_of(rule: Rule) -> tuple[Limit, ...]:
    """Every number of a rule's `when`, in the order of their metrics there. Conditions of fixes have none."""
    comparisons = list(_comparisons(rule.when))
    found = []
    for metric in dict.fromkeys(one.metric for one in comparisons):
        bounds = sorted({one.bound for one in comparisons if one.metric == metric})
        for number, bound in enumerate(bounds, start=1):
            how = (one.operator for one in comparisons if one.metric == metric and one.bound == bound)
            name = f"{metric}-{number}" if len(bounds) > 1 else metric
            why = (one.because for one in comparisons if one.metric == metric and one.bound == bound and one.because)
            found.append(Limit(name, metric, bound, tuple(dict.fromkeys(how)), next(why, "")))
    return tuple(found)


def bounds_of(rule: Rule) -> list[Compare]:
    """Every comparison of a metric with a number: of the rule, of what bounds its severity, of its fixes."""
    conditions = [rule.when, rule.at_most.when if rule.at_most else None, *(one.when for one in rule.fixes)]
    return [bound for one in conditions if one is not None for bound in _comparisons(one)]


def with_limits(
    rules: Sequence[Rule], changes: Sequence[LimitChange]
) -> tuple[tuple[Rule, ...], tuple[ChangedLimit, ...]]:
    """The rules with these numbers, and what changed. Of two changes of one limit the later holds.

    Raises UsageError for a rule, limit or value that cannot be, SeveralMistakes for more than one.
    """
    mistakes = [UsageError(f"{one.said}: {cause}") for one in changes if (cause := wrong_change(rules, one))]
    by_rule: dict[str, dict[str, LimitChange]] = {}
    for change in changes:
        by_rule.setdefault(change.rule, {})[change.limit] = change
    if mistakes:
        raise SeveralMistakes(mistakes) if len(mistakes) > 1 else mistakes[0]
    changed = [one for rule in rules for one in _changed(rule, by_rule.get(rule.id, {}))]
    return tuple(_with(rule, by_rule[rule.id]) if rule.id in by_rule else rule for rule in rules), tuple(changed)


def wrong_change(rules: Sequence[Rule], change: LimitChange) -> str:
    """What is wrong with a change, as the end of a sentence; "" for nothing."""
    rule = next((one for one in rules if one.id == change.rule), None)
    if rule is None:
        meant = did_you_mean(change.rule, [one.id for one in rules])
        return f"no rule has the id {change.rule}.{meant} `tfadvisor rules list` names them all."
    limits = {one.name: one for one in limits_of(rule)}
    if not limits:
        return f"{rule.id} compares no metric with a number, so there is nothing to change."
    if change.limit not in limits:
        meant = did_you_mean(change.limit, limits)
        return f"{rule.id} has no limit {change.limit or 'without a name'}.{meant} It has: {', '.join(limits)}."
    return _wrong_value(change.value, limits[change.limit].unit)


def _wrong_value(value: object, unit: Unit) -> str:
    number = _number(value)
    shown = f"{value!r:.60}"
    if number is None:
        return f"{shown} is no number{', nor a share such as 5%' if unit is Unit.FRACTION else f' of {unit.value}'}."
    if isinstance(value, str) and unit is not Unit.FRACTION and "%" in value:
        return f"{shown} is a share, and this limit is a number ({unit.value})."
    if number < 0:
        return f"{shown} is below 0."
    if unit is Unit.FRACTION and number > 1:
        return f'{shown} is more than the whole. Did you mean "{number:g}%"?'
    return ""


def _number(value: object) -> float | None:
    """A finite number, also of a text, and of a percentage the share."""
    if isinstance(value, str):
        share = _PERCENT.match(value)
        if share:
            return float(share.group(1)) / 100
        try:
            value = float(value)
        except ValueError:
            return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not -_HUGE < value < _HUGE:
        return None
    return float(value)


def _bound(limit: Limit, changes: dict[str, LimitChange]) -> float:
    """As changed, else as shipped."""
    if limit.name not in changes:
        return limit.bound
    number = _number(changes[limit.name].value)
    assert number is not None  # checked before
    return number


def _changed(rule: Rule, changes: dict[str, LimitChange]) -> Iterator[ChangedLimit]:
    for limit in limits_of(rule) if changes else ():
        bound = _bound(limit, changes)
        if bound != limit.bound:
            said = changes[limit.name].said
            how = " or ".join(one.replace("_", " ") for one in limit.operators)
            yield ChangedLimit(rule.id, limit.name, limit.metric, how, bound, limit.bound, limit.unit.value, said)


def _with(rule: Rule, changes: dict[str, LimitChange]) -> Rule:
    bounds = {(one.metric, one.bound): _bound(one, changes) for one in limits_of(rule)}

    def changed(condition: Condition) -> Condition:
        if isinstance(condition, Joined):
            return Joined(condition.how, tuple(map(changed, condition.parts)))
        if isinstance(condition, Compare):
            return replace(condition, bound=bounds[condition.metric, condition.bound])
        return condition

    return replace(rule, when=changed(rule.when))


def _comparisons(condition: Condition) -> Iterator[Compare]:
    if isinstance(condition, Joined):
        for part in condition.parts:
            yield from _comparisons(part)
    elif isinstance(condition, Compare):
        yield condition


# A limit of a rule that the user wants otherwise, as it was written.


class LimitChange(msgspec.Struct, frozen=True):
    """Nothing of it is checked before the rules are known."""

    rule: str
    """The rule's id."""
    limit: str
    """The limit's name, as `tfadvisor rules show` lists it."""
    value: object
    """A number, or a share as text: `5%`."""
    said: str
    """Where it stands, to begin a message with: `tfadvisor.toml:12`."""


def changes_of(limits: Mapping[str, Mapping[str, object]] | None) -> tuple[LimitChange, ...]:
    """Of what Python programs give: rule -> limit -> value, as the `[rules]` of a tfadvisor.toml."""
    return tuple(
        LimitChange(rule, name, value, f"limits[{rule!r}][{name!r}]")
        for rule, named in (limits or {}).items()
        for name, value in (named.items() if isinstance(named, Mapping) else [("", named)])
    )
