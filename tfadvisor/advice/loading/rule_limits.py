"""The numbers by which rules fire.

A limit is a number that a rule compares a metric with. It is called as the metric;
where the rule compares the metric with several numbers, they are counted from the
smallest: `input_bound_fraction-1`, `input_bound_fraction-2`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from tfadvisor.advice.judging.conditions import Compare, Condition, Joined
from tfadvisor.advice.loading.rule import Rule
from tfadvisor.tallies import listed
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
        from tfadvisor.metrics import (
            registered_metrics,
        )  # a build compiles rules without NumPy

        return registered_metrics()[self.metric].unit

    @property
    def words(self) -> str:
        """`at least 5%`, `at least or below 8`."""
        how = " or ".join(operator.replace("_", " ") for operator in self.operators)
        return f"{how} {limit_in_words(self.bound, self.unit)}"


def limits_of(rule: Rule) -> tuple[Limit, ...]:
    """Every number of a rule's `when`, in the order of their metrics there. Conditions
    of fixes have none.
    """
    by_metric = listed(
        (comparison.metric, comparison) for comparison in comparisons(rule.when)
    )
    found: list[Limit] = []
    for metric, compared in by_metric.items():
        found += _limits_of_metric(metric, compared)
    return tuple(found)


def _limits_of_metric(metric: str, compared: Sequence[Compare]) -> Iterator[Limit]:
    """One for each number, from the smallest."""
    bounds = sorted({comparison.bound for comparison in compared})
    for number, bound in enumerate(bounds, start=1):
        here = [comparison for comparison in compared if comparison.bound == bound]
        operators = dict.fromkeys(comparison.operator for comparison in here)
        reasons = [comparison.because for comparison in here if comparison.because]
        yield Limit(
            name=f"{metric}-{number}" if len(bounds) > 1 else metric,
            metric=metric,
            bound=bound,
            operators=tuple(operators),
            because=reasons[0] if reasons else "",
        )


def comparisons(condition: Condition | None) -> Iterator[Compare]:
    """Of metrics with numbers, all that a condition is made of."""
    if isinstance(condition, Joined):
        for part in condition.parts:
            yield from comparisons(part)
    elif isinstance(condition, Compare):
        yield condition
