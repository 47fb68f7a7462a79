"""Holm's procedure with weights: several questions, one promised rate of false alarms."""

from __future__ import annotations

from collections.abc import Mapping


def levels(p_values: Mapping[str, float], weights: Mapping[str, float], rate: float) -> dict[str, float]:
    """The level at which each p-value is judged; a value at or below its level is significant.

    Sorted by p over weight, each is allowed its weight's share of what is still open, until one is above its level. The
    probability that any of several true null hypotheses is rejected stays at or below the rate, whatever they share
    (Holm 1979, section 3). Equal weights give the usual rate / (m - i).
    """
    order = sorted(p_values, key=lambda name: (p_values[name] / weights[name], name))
    open_weight = sum(weights[name] for name in order)
    found: dict[str, float] = {}
    stopped = False
    for name in order:
        level = rate * weights[name] / open_weight
        found[name] = level
        stopped = stopped or p_values[name] > level
        if not stopped:
            open_weight -= weights[name]
    return found


def first_level(name: str, weights: Mapping[str, float], rate: float) -> float:
    """The strictest level that Holm's procedure may ask of this question: the one before anything is known."""
    return rate * weights[name] / sum(weights.values())
