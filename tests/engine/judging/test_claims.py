"""No two findings save the same time: each draws on what those before it leave."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

import tfadvisor.metrics  # noqa: F401
from tfadvisor.engine.judging.claims import LESS_IS_LEFT, SHARES, classes_of
from tfadvisor.engine.judging.judge_rules import Outcomes, run_rules
from tfadvisor.engine.loading.catalogue import load_catalogue
from tfadvisor.engine.loading.rule import TIME_CLASSES, SavingRule
from tfadvisor.metrics.registry import Measured, Metrics, registered_facts, registered_metrics
from tfadvisor.vocabulary import Severity

RULES = {rule.id: rule for rule in load_catalogue().rules}


def run(*rules, **values: float) -> Outcomes:
    facts = {"framework": "jax", "steps_per_execution": "4"}
    metrics = Metrics(
        {
            n: Measured(values.get(n), m.unit, "" if n in values else "absent", m.about)
            for n, m in registered_metrics().items()
        },
        {n: (facts.get(n), "" if n in facts else "absent") for n in registered_facts()},
    )
    return run_rules(rules, metrics)


def drawing(name: str, metric: str, high: float, *of: str):
    """A rule that fires on host time and saves a part of another metric."""
    return replace(RULES["host-work-in-loop"], id=name, saving=SavingRule(metric, high / 2, high, "", of))


HOST = {"host_fraction": 0.4, "loop_python_fraction": 0.4, "dispatches_per_step": 1, "compute_fraction": 0.6}


def test_the_second_gets_what_the_first_leaves() -> None:
    """Of 40 % host time the first saves 24, so 16 are left of the 20 that the second would save."""
    outcomes = run(drawing("first", "host_fraction", 0.6), drawing("second", "host_fraction", 0.5), **HOST)
    first, second = outcomes.findings

    assert (first.rule_id, first.saving.high, first.caveat) == ("first", pytest.approx(0.24), "")
    assert (second.saving.low, second.saving.high) == (pytest.approx(0.1), pytest.approx(0.16))
    assert second.caveat == LESS_IS_LEFT
    assert (first.severity, second.severity) == (Severity.HIGH, Severity.MEDIUM)


def test_the_one_that_saves_most_comes_first_whatever_the_order_of_rules() -> None:
    outcomes = run(drawing("less", "host_fraction", 0.5), drawing("more", "host_fraction", 0.75), **HOST)

    assert [one.rule_id for one in outcomes.findings] == ["more", "less"]


def test_a_finding_of_which_nothing_is_left_gives_way_with_the_reason() -> None:
    outcomes = run(drawing("first", "host_fraction", 1.0), drawing("second", "host_fraction", 0.5), **HOST)

    assert [one.rule_id for one in outcomes.findings] == ["first"]
    assert [(one.rule_id, "findings above" in one.reason) for one in outcomes.not_applicable] == [("second", True)]


def test_other_classes_of_time_are_left_alone() -> None:
    outcomes = run(
        drawing("host", "host_fraction", 1.0), drawing("compute", "compute_fraction", 0.5, "compute"), **HOST
    )

    assert [one.caveat for one in outcomes.findings] == ["", ""]


def test_several_classes_are_drawn_on_in_their_order() -> None:
    """The first takes 40 % host and 10 % idle; the second finds 10 of the 20 % idle."""
    values = {
        "host_fraction": 0.4,
        "loop_python_fraction": 0.4,
        "idle_fraction": 0.2,
        "wait_fraction": 0.5,
        "dispatches_per_step": 1,
    }
    rules = drawing("first", "wait_fraction", 1.0, "host", "idle"), drawing("second", "idle_fraction", 1.0, "idle")

    outcomes = run(*rules, compute_fraction=0.4, **values)

    assert [one.saving.high for one in outcomes.findings] == [pytest.approx(0.5), pytest.approx(0.1)]


def test_where_classes_are_not_known_savings_stay() -> None:
    values = {"host_fraction": 0.4, "loop_python_fraction": 0.4, "dispatches_per_step": 1}
    outcomes = run(drawing("first", "host_fraction", 1.0), drawing("second", "host_fraction", 0.5), **values)

    assert [one.saving.high for one in outcomes.findings] == [0.4, 0.2]


def test_every_rule_draws_on_classes_of_the_breakdown() -> None:
    assert set(SHARES) == set(TIME_CLASSES)
    assert set(SHARES.values()) <= set(registered_metrics())
    for rule in RULES.values():
        assert set(classes_of(rule)) <= set(TIME_CLASSES), rule.id
