"""What a metric or a fact of a report means."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from tfadvisor.advice.explaining.explained import Known, Paragraph, first_sentence
from tfadvisor.advice.loading.rule import Rule
from tfadvisor.advice.loading.rule_limits import limits_of
from tfadvisor.metrics import (
    Fact,
    Metric,
    registered_facts,
    registered_metrics,
)

METRIC, FACT = "metric", "fact"


def metrics(rules: Sequence[Rule]) -> Iterator[Known]:
    """Every metric, sorted."""
    known = registered_metrics()
    for name in sorted(known):
        about = first_sentence(known[name].about)
        paragraphs = partial(_about_metric, known[name], rules)
        yield Known((name,), METRIC, about, paragraphs)


def _about_metric(metric: Metric, rules: Sequence[Rule]) -> tuple[Paragraph, ...]:
    facts = (
        f"Unit: {metric.unit.value}; better: {metric.better.value}; between runs: "
        f"{metric.scatter.value}."
    )
    compared = [
        Paragraph(f"{rule.id} compares it: {limit.words}", indent=2)
        for rule in rules
        for limit in limits_of(rule)
        if limit.metric == metric.name
    ]
    return (Paragraph(metric.about), Paragraph(facts), *compared)


def facts() -> Iterator[Known]:
    """Every fact, sorted."""
    known = registered_facts()
    for name in sorted(known):
        about = first_sentence(known[name].about)
        yield Known((name,), FACT, about, partial(_about_fact, known[name]))


def _about_fact(fact: Fact) -> tuple[Paragraph, ...]:
    return (Paragraph(fact.about),)
