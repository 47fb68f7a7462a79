"""The findings together, worked out on paper."""

from __future__ import annotations

import pytest

from tfadvisor.advice.findings import Finding, Saving
from tfadvisor.advice.savings import plan_of
from tfadvisor.vocabulary import Severity


def finding(name: str, low: float, high: float) -> Finding:
    return Finding(
        name, "host", Severity.HIGH, "t", "s", (), Saving(low, high, ""), (), (), (), ""
    )


def test_each_change_leaves_less_and_the_plan_stops_before_what_nobody_notices() -> (
    None
):
    """40±3 and 20±4 points save 60±5 together: three, four, five. The third's middle is
    2%.
    """
    plan = plan_of(
        [finding("a", 0.37, 0.43), finding("b", 0.16, 0.24), finding("c", 0.01, 0.03)]
    )

    assert plan is not None
    assert [(one.rule_id, one.worth) for one in plan.changes] == [
        ("a", True),
        ("b", True),
        ("c", False),
    ]
    first, second, _ = plan.changes
    assert (first.remains_low, first.remains_high) == pytest.approx((0.57, 0.63))
    assert (second.low, second.high) == (0.16, 0.24)
    assert (second.remains_low, second.remains_high) == pytest.approx((0.35, 0.45))
    assert (plan.low, plan.high) == pytest.approx((0.55, 0.65))


def test_a_small_change_before_a_large_one_is_worth_making() -> None:
    plan = plan_of([finding("a", 0.01, 0.03), finding("b", 0.3, 0.5)])

    assert plan is not None
    assert [one.worth for one in plan.changes] == [True, True]


def test_one_finding_is_no_plan_and_one_that_saves_nothing_is_no_change() -> None:
    assert plan_of([finding("a", 0.2, 0.4), finding("b", 0.0, 0.0)]) is None


def test_what_remains_is_never_below_nothing_and_never_above_the_step() -> None:
    plan = plan_of(
        [finding("a", 0.0, 0.9), finding("b", 0.0, 0.9), finding("c", 0.0, 0.9)]
    )

    assert plan is not None
    assert all(0 <= one.remains_low <= one.remains_high <= 1 for one in plan.changes)
