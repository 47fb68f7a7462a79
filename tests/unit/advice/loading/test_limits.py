"""The numbers of rules: how they are called, how they are changed, and what is said of changes that cannot be."""

from __future__ import annotations

import pytest
from support.outcome import outcome_of

import tfadvisor.metrics  # noqa: F401
from tfadvisor.advice.findings import ChangedLimit, Finding
from tfadvisor.advice.judging.conditions import Compare, Joined
from tfadvisor.advice.loading.catalogue import checked, load_catalogue
from tfadvisor.advice.loading.limits import LimitChange, changes_of, limits_of, with_limits
from tfadvisor.advice.loading.rule import Rule
from tfadvisor.advice.loading.yaml_marks import load
from tfadvisor.errors import SeveralMistakes, UsageError
from tfadvisor.metrics.registry import Measured, Metrics
from tfadvisor.units import Unit

RULE = """
id: slow-thing
category: host
title: A thing is slow
why: Because.
when:
  all:
    - {metric: step_time_spread, at_least: 0.3}
    - any:
        - {metric: kernels_per_step, below: 8}
        - all:
            - {metric: kernels_per_step, at_least: 8}
            - {metric: kernels_per_step, at_most: 100}
    - not: {metric: step_time_ms, above: 50}
    - {metric: input_bound_fraction, known: false}
summary: It is.
evidence: [step_time_spread]
severity: medium
fixes:
  - {kind: code, do: Do it., snippet: do(), valid_for: any, when: {metric: compute_capability, at_least: 8}}
source:
  - {doc: own, section: one, url: "https://example.org"}
"""
NO_LIMIT = (
    "id: other-thing"
    + RULE[RULE.index("\ncategory") : RULE.index("when:")]
    + ("when: {metric: step_time_ms, known: true}\n" + RULE[RULE.index("summary") :])
)


def rule(text: str = RULE) -> Rule:
    return checked(load(text, "slow-thing.yaml"))


def change(limit: str, value: object, rule_id: str = "slow-thing") -> LimitChange:
    return LimitChange(rule_id, limit, value, "here")


def told(*changes: LimitChange) -> list[str]:
    """What is said against these changes of the rule and of one without numbers."""
    with pytest.raises(UsageError) as error:
        with_limits([rule(), rule(NO_LIMIT)], changes)
    return [str(one) for one in error.value.each] if isinstance(error.value, SeveralMistakes) else [str(error.value)]


def test_limits_are_called_as_their_metrics_and_several_of_one_are_counted() -> None:
    """8 bounds the metric from both sides and is one limit. What a fix asks for is none."""
    named = {one.name: (one.bound, one.operators) for one in limits_of(rule())}

    assert named == {
        "step_time_spread": (0.3, ("at_least",)),
        "kernels_per_step-1": (8.0, ("below", "at_least")),
        "kernels_per_step-2": (100.0, ("at_most",)),
        "step_time_ms": (50.0, ("above",)),
    }


def test_a_changed_limit_holds_wherever_the_rule_compares_with_it() -> None:
    (changed, _), said = with_limits([rule(), rule(NO_LIMIT)], [change("kernels_per_step-1", 20)])

    assert isinstance(changed.when, Joined)
    either = changed.when.parts[1]
    assert isinstance(either, Joined)
    below, both = either.parts
    assert below == Compare("kernels_per_step", "below", 20.0)
    assert isinstance(both, Joined)
    assert both.parts[0] == Compare("kernels_per_step", "at_least", 20.0)
    assert both.parts[1] == Compare("kernels_per_step", "at_most", 100.0)
    assert said == (
        ChangedLimit(
            "slow-thing", "kernels_per_step-1", "kernels_per_step", "below or at least", 20, 8, "count", "here"
        ),
    )


def test_the_last_of_two_changes_holds_and_what_is_as_shipped_is_no_change() -> None:
    _, said = with_limits([rule()], [change("step_time_spread", "90%"), change("step_time_spread", "45%")])
    _, none = with_limits([rule()], [change("step_time_spread", 0.3)])

    assert [one.value for one in said] == [0.45]
    assert none == ()


@pytest.mark.parametrize(
    ("limit", "value", "fires"), [("step_time_spread", "19%", True), ("step_time_spread", 0.21, False)]
)
def test_a_rule_fires_by_its_changed_limit(limit: str, value: object, fires: bool) -> None:
    """Steps that vary by 20% are below the 30% that the rule is shipped with."""
    (changed,), _ = with_limits([rule()], [change(limit, value)])
    values = {"step_time_spread": 0.2, "kernels_per_step": 5, "step_time_ms": 10}
    absent = ("input_bound_fraction", "lost_runs_fraction", "lost_launches_fraction")
    metrics = Metrics(
        {
            **{name: Measured(float(number), Unit.COUNT, "", name) for name, number in values.items()},
            **{name: Measured(None, Unit.COUNT, "no", name) for name in absent},
            "compute_capability": Measured(9.0, Unit.COUNT, "", "x"),
            "steps_counted": Measured(10.0, Unit.COUNT, "", "x"),
            "step_confidence": Measured(1.0, Unit.FRACTION, "", "x"),
        },
        {"step_source": ("marker", "")},
    )

    assert isinstance(outcome_of(changed, metrics), Finding) is fires


def test_all_mistakes_are_told_at_once_with_what_was_meant() -> None:
    said = told(
        change("step_time_spread", "30%", "slow-thng"),
        change("step_time_sprad", 0.2),
        change("step_time_ms", 1, "other-thing"),
        change("step_time_spread", 30),
        change("step_time_spread", "a third"),
        change("step_time_ms", "5%"),
        change("step_time_ms", -1),
        change("step_time_ms", True),
        change("step_time_ms", float("nan")),
    )

    assert said == [
        "here: no rule has the id slow-thng. Did you mean slow-thing? `tfadvisor rules list` names them all.",
        "here: slow-thing has no limit step_time_sprad. Did you mean step_time_spread? "
        "It has: step_time_spread, kernels_per_step-1, kernels_per_step-2, step_time_ms.",
        "here: other-thing compares no metric with a number, so there is nothing to change.",
        'here: 30 is more than the whole. Did you mean "30%"?',
        "here: 'a third' is no number, nor a share such as 5%.",
        "here: '5%' is a share, and this limit is a number (ms).",
        "here: -1 is below 0.",
        "here: True is no number of ms.",
        "here: nan is no number of ms.",
    ]


def test_python_gives_them_as_the_configuration_does() -> None:
    assert changes_of({"slow-thing": {"step_time_ms": 3}}) == (
        LimitChange("slow-thing", "step_time_ms", 3, "limits['slow-thing']['step_time_ms']"),
    )
    assert changes_of(None) == ()
    assert told(*changes_of({"slow-thing": 3})) == [  # type: ignore[dict-item]
        "limits['slow-thing']['']: slow-thing has no limit without a name. "
        "It has: step_time_spread, kernels_per_step-1, kernels_per_step-2, step_time_ms."
    ]


def test_a_disabled_rule_may_have_limits_and_they_are_not_told() -> None:
    limits = changes_of({"input-made-in-loop": {"batch_python_fraction": "40%"}})

    assert [one.value for one in load_catalogue(limits=limits).changed] == [0.4]
    assert load_catalogue(disabled=["input-made-in-loop"], limits=limits).changed == ()


def test_every_limit_of_the_shipped_rules_has_a_name_of_its_own_and_takes_its_own_value() -> None:
    rules = load_catalogue().rules
    same = [LimitChange(one.id, limit.name, limit.bound, "here") for one in rules for limit in limits_of(one)]

    kept, said = with_limits(rules, same)

    assert len({(one.rule, one.limit) for one in same}) == len(same) > 150
    assert kept == rules
    assert said == ()
