"""The numbers of rules: how they are called."""

from __future__ import annotations

import tfadvisor.metrics  # noqa: F401
from tfadvisor.advice.loading.catalogue import checked, load_catalogue
from tfadvisor.advice.loading.rule import Rule
from tfadvisor.advice.loading.rule_limits import limits_of
from tfadvisor.advice.loading.yaml_marks import load

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
  - {kind: code, do: Do it., snippet: do(), valid_for: any, needs: {metric: compute_capability, at_least: 8}}
source:
  - {doc: own, section: one, url: "https://example.org"}
"""


def rule(text: str = RULE) -> Rule:
    return checked(load(text, "slow-thing.yaml"))


def test_limits_are_called_as_their_metrics_and_several_of_one_are_counted() -> None:
    """8 bounds the metric from both sides and is one limit. What a fix asks for is
    none.
    """
    named = {one.name: (one.bound, one.operators) for one in limits_of(rule())}

    assert named == {
        "step_time_spread": (0.3, ("at_least",)),
        "kernels_per_step-1": (8.0, ("below", "at_least")),
        "kernels_per_step-2": (100.0, ("at_most",)),
        "step_time_ms": (50.0, ("above",)),
    }


def test_every_limit_of_the_shipped_rules_has_a_name_of_its_own() -> None:
    named = [
        (one.id, limit.name)
        for one in load_catalogue().rules
        for limit in limits_of(one)
    ]

    assert len(set(named)) == len(named) > 150
