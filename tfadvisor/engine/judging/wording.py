"""Placeholders in a rule's text: `{metric_or_fact}` becomes the measured value in words. Nothing is ever evaluated.

`{metric|step|steps}` becomes the value with the word that fits it: `1 step`, `2.5 steps`.
"""

from __future__ import annotations

import re

from tfadvisor.metrics.registry import Metrics, registered_facts, registered_metrics
from tfadvisor.units import counted, in_words

_PLACEHOLDER = re.compile(r"\{([a-z][a-z0-9_]*)(?:\|([^{}|\n]+)\|([^{}|\n]+))?\}")


def fill(text: str, metrics: Metrics) -> str:
    """Replaces the placeholders that name a metric or fact; other braces, as in code, stay as they are."""

    def words(match: re.Match[str]) -> str:
        name, one, many = match.groups()
        value = _value(name, metrics)
        if value is None:
            return match.group(0)
        return value if one is None else counted(value, one, many)

    return _PLACEHOLDER.sub(words, text)


def _value(name: str, metrics: Metrics) -> str | None:
    """A metric or fact in words; None where no metric or fact has this name."""
    if metrics.has_fact(name):
        return metrics.fact(name) or "unknown"
    if name in metrics:
        measured = metrics[name]
        return "unknown" if measured.value is None else in_words(measured.value, measured.unit)
    return None


def placeholders(text: str) -> list[str]:
    """The names in braces."""
    return [name for name, _, _ in _PLACEHOLDER.findall(text)]


def is_given(name: str, metrics: Metrics) -> bool:
    """Whether the trace has what a placeholder names; True for braces that name no metric or fact, as in code."""
    if metrics.has_fact(name):
        return metrics.fact(name) is not None
    return name not in metrics or metrics.value(name) is not None


def is_known(name: str) -> bool:
    """Whether a metric or fact of this name is registered."""
    return name in registered_metrics() or name in registered_facts()
