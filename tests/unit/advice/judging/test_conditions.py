"""Conditions in three values: true, false, and unknown with the reason."""

from __future__ import annotations

import pytest

import tfadvisor.metrics  # noqa: F401
from tfadvisor.advice.judging.conditions import Compare, evaluate, parse_condition
from tfadvisor.advice.loading.yaml_marks import load
from tfadvisor.errors import RuleError
from tfadvisor.metrics.registry import Measured, Metrics
from tfadvisor.units import Unit

METRICS = Metrics(
    {
        "known": Measured(0.5, Unit.FRACTION, "", ""),
        "absent": Measured(None, Unit.FRACTION, "no GPU", ""),
    },
    {"word": ("tensorflow", ""), "missing": (None, "no pipeline")},
)


def truth(text: str) -> bool | None:
    return evaluate(
        parse_condition(load(text, "x.yaml"), "", load(text, "x.yaml").data), METRICS
    ).holds


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{metric: known, above: 0.5}", False),
        ("{metric: known, at_least: 0.5}", True),
        ("{metric: known, below: 0.5}", False),
        ("{metric: known, at_most: 0.5}", True),
        ("{metric: absent, above: 0}", None),
        ("{metric: absent, known: false}", True),
        ("{metric: known, known: true}", True),
        ("{fact: word, is: tensorflow}", True),
        ("{fact: word, in: [jax, pytorch]}", False),
        ("{fact: missing, is: jax}", None),
        ("{fact: missing, known: false}", True),
        ("{not: {metric: known, above: 0.1}}", False),
        ("{not: {metric: absent, above: 0.1}}", None),
        ("{all: [{metric: absent, above: 0}, {metric: known, above: 0.9}]}", False),
        ("{all: [{metric: absent, above: 0}, {metric: known, above: 0.1}]}", None),
        ("{any: [{metric: absent, above: 0}, {metric: known, above: 0.1}]}", True),
        ("{any: [{metric: absent, above: 0}, {metric: known, above: 0.9}]}", None),
        ("{any: [{metric: known, above: 0.8}, {metric: known, above: 0.9}]}", False),
    ],
)
def test_truth_table(text: str, expected: bool | None) -> None:
    assert truth(text) is expected


def test_a_bound_carries_its_reason() -> None:
    text = '{metric: known, above: 0.1, because: "XProf warns from here"}'

    condition = parse_condition(load(text, "x.yaml"), "", load(text, "x.yaml").data)

    assert condition == Compare("known", "above", 0.1, "XProf warns from here")


def test_unknown_carries_the_reason() -> None:
    text = "{all: [{metric: known, above: 0.1}, {metric: absent, above: 0}]}"
    condition = parse_condition(load(text, "x.yaml"), "", load(text, "x.yaml").data)

    assert evaluate(condition, METRICS).why == "no GPU"


@pytest.mark.parametrize(
    "text",
    [
        "[]",
        "{}",
        "{metric: a}",
        "{metric: a, above: b}",
        "{metric: a, above: true}",
        "{metric: a, over: 1}",
        "{metric: a, above: 1, below: 2}",
        "{metric: a, because: why}",
        "{metric: a, above: 1, because: 2}",
        '{metric: a, above: 1, because: " "}',
        "{metric: a, known: true, because: why}",
        "{fact: a, is: b, because: why}",
        "{fact: a, above: 1}",
        "{fact: a, in: word}",
        "{all: []}",
        "{all: [{metric: a, above: 1}], any: [{metric: a, above: 1}]}",
    ],
)
def test_wrong_conditions_are_refused(text: str) -> None:
    with pytest.raises(RuleError):
        parse_condition(load(text, "x.yaml"), "", load(text, "x.yaml").data)
