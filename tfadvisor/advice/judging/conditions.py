"""Conditions of rules in three values, and the values of metrics in their texts.

A comparison with an absent metric or fact is neither true nor false but unknown, with
the reason. `all` is false as soon as one part is, `any` true as soon as one is;
otherwise an unknown part makes the whole unknown.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import msgspec

from tfadvisor.advice.loading.yaml_marks import Marked
from tfadvisor.units import counted, in_words

if TYPE_CHECKING:
    from tfadvisor.metrics import Metrics

_COMPARISONS: dict[str, Callable[[float, float], bool]] = {
    "above": lambda value, bound: value > bound,
    "at_least": lambda value, bound: value >= bound,
    "below": lambda value, bound: value < bound,
    "at_most": lambda value, bound: value <= bound,
}


class Truth(msgspec.Struct, frozen=True):
    """holds: True, False, or None for unknown; why: the reason when unknown."""

    holds: bool | None
    why: str = ""


class Compare(msgspec.Struct, frozen=True, tag=True):
    """A metric against a number. because: why this number and no other, empty where the
    rule gives no reason.
    """

    metric: str
    operator: str
    bound: float
    because: str = ""


class FactIs(msgspec.Struct, frozen=True, tag=True):
    """A fact against the words it may equal."""

    fact: str
    words: tuple[str, ...]


class Known(msgspec.Struct, frozen=True, tag=True):
    """Whether a metric or fact is present at all."""

    name: str
    known: bool


class Joined(msgspec.Struct, frozen=True, tag=True):
    """all, any, or not (of one part)."""

    how: str
    parts: tuple[Condition, ...]


Condition = Compare | FactIs | Known | Joined


def evaluate(condition: Condition, metrics: Metrics) -> Truth:
    """Whether a condition holds for these metrics."""
    if isinstance(condition, Compare):
        measured = metrics[condition.metric]
        if measured.value is None:
            return Truth(None, measured.reason)
        return Truth(_COMPARISONS[condition.operator](measured.value, condition.bound))
    if isinstance(condition, FactIs):
        text = metrics.fact(condition.fact)
        if text is None:
            return Truth(None, metrics.why_no_fact(condition.fact))
        return Truth(text in condition.words)
    if isinstance(condition, Known):
        present = (
            metrics.fact(condition.name)
            if metrics.has_fact(condition.name)
            else metrics.value(condition.name)
        ) is not None
        return Truth(present == condition.known)
    return _joined(condition, metrics)


def _joined(condition: Joined, metrics: Metrics) -> Truth:
    parts = [evaluate(part, metrics) for part in condition.parts]
    if condition.how == "not":
        return parts[0] if parts[0].holds is None else Truth(not parts[0].holds)
    decisive = condition.how == "any"
    if any(part.holds is decisive for part in parts):
        return Truth(decisive)
    unknown = next((part for part in parts if part.holds is None), None)
    return unknown if unknown is not None else Truth(not decisive)


def names_in(condition: Condition) -> list[str]:
    """Every metric and fact that a condition looks at, in order."""
    if isinstance(condition, Joined):
        return [name for part in condition.parts for name in names_in(part)]
    if isinstance(condition, Compare):
        return [condition.metric]
    return [condition.fact] if isinstance(condition, FactIs) else [condition.name]


def without(condition: Condition | None, name: str) -> Condition | None:
    """A condition without what it asks of a metric or fact; None for nothing left."""
    if condition is None:
        return None
    if not isinstance(condition, Joined):
        return None if names_in(condition) == [name] else condition
    parts = [without(part, name) for part in condition.parts]
    kept = tuple(part for part in parts if part is not None)
    return Joined(condition.how, kept) if kept else None


def parse_condition(marked: Marked, path: str, data: Any) -> Condition:
    """From the YAML of a rule. Raises RuleError that points at the wrong line."""
    if not isinstance(data, dict):
        raise marked.error(
            path,
            "must be a condition: all, any, not, or a comparison with `metric` or "
            "`fact`",
        )
    joins = [how for how in ("all", "any", "not") if how in data]
    if joins:
        return _parse_joined(marked, path, data, joins[0])
    if "metric" in data:
        return _parse_comparison(marked, path, data)
    if "fact" in data:
        return _parse_fact(marked, path, data)
    raise marked.error(path, "needs one of all, any, not, metric or fact")


def _parse_joined(marked: Marked, path: str, data: dict[str, Any], how: str) -> Joined:
    if len(data) > 1:
        raise marked.error(
            path, f"`{how}` stands alone; nest conditions to combine them"
        )
    below = f"{path}.{how}"
    if how == "not":
        return Joined(how, (parse_condition(marked, below, data[how]),))
    if not isinstance(data[how], list) or not data[how]:
        raise marked.error(below, "must be a list of conditions")
    parts = tuple(
        parse_condition(marked, f"{below}.{index}", part)
        for index, part in enumerate(data[how])
    )
    return Joined(how, parts)


def _parse_comparison(marked: Marked, path: str, data: dict[str, Any]) -> Condition:
    name = data["metric"]
    rest = {
        key: value for key, value in data.items() if key not in ("metric", "because")
    }
    if not isinstance(name, str) or len(rest) != 1:
        raise marked.error(
            path,
            f"a comparison has a metric and one of {', '.join(_COMPARISONS)} or "
            "known, and `because` with a bound",
        )
    operator, bound = next(iter(rest.items()))
    if operator == "known" and isinstance(bound, bool):
        if "because" in data:
            raise marked.error(
                f"{path}.because", "gives the reason of a bound, and `known` has none"
            )
        return Known(name, bound)
    if operator not in _COMPARISONS:
        raise marked.error(
            f"{path}.{operator}",
            f"is not a comparison; known are {', '.join(_COMPARISONS)} and known",
        )
    if isinstance(bound, bool) or not isinstance(bound, int | float):
        raise marked.error(
            f"{path}.{operator}", "must be a number; arithmetic belongs in a metric"
        )
    because = data.get("because", "")
    if not isinstance(because, str) or ("because" in data and not because.strip()):
        raise marked.error(
            f"{path}.because", "must be text: why this bound and no other"
        )
    return Compare(name, operator, float(bound), because.strip())


def _parse_fact(marked: Marked, path: str, data: dict[str, Any]) -> Condition:
    name = data["fact"]
    rest = {key: value for key, value in data.items() if key != "fact"}
    if not isinstance(name, str) or len(rest) != 1:
        raise marked.error(path, "a fact is compared by one of is, in or known")
    operator, words = next(iter(rest.items()))
    if operator == "known" and isinstance(words, bool):
        return Known(name, words)
    if operator == "is" and isinstance(words, str):
        return FactIs(name, (words,))
    if (
        operator == "in"
        and isinstance(words, list)
        and all(isinstance(word, str) for word in words)
    ):
        return FactIs(name, tuple(words))
    raise marked.error(
        path, "a fact is compared by `is: word`, `in: [words]` or `known: true`"
    )


# Placeholders in a rule's text: `{metric_or_fact}` becomes the measured value in words;
# `{fact|load_batch}` the function that the fact names, else the one of the example.
# Nothing is ever evaluated.

_PLACEHOLDER = re.compile(r"\{([a-z][a-z0-9_]*)(?:\|([^{}|\n]+)(?:\|([^{}|\n]+))?)?\}")


def fill(text: str, metrics: Metrics) -> str:
    """Replaces the placeholders that name a metric or fact; other braces, as in code,
    stay as they are.
    """

    def words(match: re.Match[str]) -> str:
        name, one, many = match.groups()
        if one is not None and many is None and metrics.has_fact(name):
            return _function(name, metrics) or one
        value = _value(name, metrics)
        if value is None:
            return match.group(0)
        return value if many is None else counted(value, one, many)

    return _PLACEHOLDER.sub(words, text)


def _function(fact: str, metrics: Metrics) -> str:
    """The bare name of the function that a fact gives with its place; "" for none that
    a program can call by its name alone.
    """
    name = (metrics.fact(fact) or "").partition(" (")[0]
    return name if name.isidentifier() and not name.startswith("__") else ""


def _value(name: str, metrics: Metrics) -> str | None:
    """A metric or fact in words; None where no metric or fact has this name."""
    if metrics.has_fact(name):
        return metrics.fact(name) or "unknown"
    if name in metrics:
        measured = metrics[name]
        return (
            "unknown"
            if measured.value is None
            else in_words(measured.value, measured.unit)
        )
    return None


def as_example(text: str) -> str:
    """With the functions of its example, as the pages about a rule have it."""
    return _PLACEHOLDER.sub(
        lambda match: match[2] if match[2] and not match[3] else match[0], text
    )


def as_pattern(text: str) -> str:
    """With <name> for what a report fills in, for readers of the rule itself; other
    braces, as in code, stay as they are.
    """

    def words(match: re.Match[str]) -> str:
        name, word, plural = match.groups()
        if plural is not None:
            return f"<{name}> {plural}"
        if word is not None:
            return word
        return f"<{name}>" if is_known(name) else match[0]

    return _PLACEHOLDER.sub(words, text)


def placeholders(text: str) -> list[str]:
    """The names in braces that stand for nothing else where they are not known."""
    found = _PLACEHOLDER.findall(text)
    return [name for name, word, many in found if many or not word]


def is_given(name: str, metrics: Metrics) -> bool:
    """Whether the trace has what a placeholder names; True for braces that name no
    metric or fact, as in code.
    """
    if metrics.has_fact(name):
        return metrics.fact(name) is not None
    return name not in metrics or metrics.value(name) is not None


def is_known(name: str) -> bool:
    """Whether a metric or fact of this name is registered."""
    from tfadvisor.metrics import (
        registered_facts,
        registered_metrics,
    )  # a build compiles rules without NumPy

    return name in registered_metrics() or name in registered_facts()
