"""The numbers by which rules fire.

A limit is a number that a rule compares a metric with. It is called as the metric;
where the rule compares the metric with several numbers, they are counted from the
smallest: `input_bound_fraction-1`, `input_bound_fraction-2`.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from tfadvisor.advice.judging.conditions import Compare, Condition, Joined
from tfadvisor.advice.loading.rule import Rule
from tfadvisor.units import Unit, limit_in_words


class Limit(msgspec.Struct, frozen=True):
    """One number of a rule."""

    name: str
    metric: str
    bound: float
    """In the metric's unit."""
    operators: tuple[str, ...]
    """How the rule compares with it: at_least, above, below, at_most; several where it
    does so in several places.
    """
    because: str = ""
    """Why this number."""

    @property
    def unit(self) -> Unit:
        """The metric's."""
        from tfadvisor.metrics.registry import (
            registered_metrics,
        )  # a build compiles rules without NumPy

        return registered_metrics()[self.metric].unit

    @property
    def words(self) -> str:
        """`at least 5%`, `at least or below 8`."""
        return (
            f"{' or '.join(one.replace('_', ' ') for one in self.operators)} "
            f"{limit_in_words(self.bound, self.unit)}"
        )


def limits_of(rule: Rule) -> tuple[Limit, ...]:
    """Every number of a rule's `when`, in the order of their metrics there. Conditions
    of fixes have none.
    """
    comparisons = list(_comparisons(rule.when))
    found = []
    for metric in dict.fromkeys(one.metric for one in comparisons):
        bounds = sorted({one.bound for one in comparisons if one.metric == metric})
        for number, bound in enumerate(bounds, start=1):
            how = (
                one.operator
                for one in comparisons
                if one.metric == metric and one.bound == bound
            )
            name = f"{metric}-{number}" if len(bounds) > 1 else metric
            why = (
                one.because
                for one in comparisons
                if one.metric == metric and one.bound == bound and one.because
            )
            found.append(
                Limit(name, metric, bound, tuple(dict.fromkeys(how)), next(why, ""))
            )
    return tuple(found)


def bounds_of(rule: Rule) -> list[Compare]:
    """Every comparison of a metric with a number: of the rule, of what bounds its
    severity, of its fixes.
    """
    conditions = [
        rule.when,
        rule.at_most.when if rule.at_most else None,
        *(one.when for one in rule.fixes),
    ]
    return [
        bound for one in conditions if one is not None for bound in _comparisons(one)
    ]


def _comparisons(condition: Condition) -> Iterator[Compare]:
    if isinstance(condition, Joined):
        for part in condition.parts:
            yield from _comparisons(part)
    elif isinstance(condition, Compare):
        yield condition
