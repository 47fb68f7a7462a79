"""A rule that fired, until its finding is written: what it saves and how severe it is
may still change.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import msgspec

from tfadvisor.advice.findings import Evidence, Finding, Fix, Location, Saving
from tfadvisor.advice.judging.conditions import fill
from tfadvisor.advice.loading.rule import Rule
from tfadvisor.metrics.registry import Metrics
from tfadvisor.vocabulary import Severity

NO_SAVING = Saving(0.0, 0.0, "")
_PLACE = re.compile(r"^(?P<function>.*) \((?P<file>[^()]+):(?P<line>\d{1,9})\)$")
_LINE = re.compile(r"^(?P<function>)(?P<file>[^()\s]+\.py):(?P<line>\d{1,9})$")
"""Of a script, outside of all functions: `train.py:42`, but not the op
`dense/MatMul:0`.
"""


class Judged(msgspec.Struct, frozen=True):
    """One rule that fired."""

    rule: Rule
    severity: Severity
    saving: Saving
    """0 to 0 where it saves nothing by itself, and of a rule that is only likely."""
    takes: float | None
    """The share of step time that it is about, None where the trace does not give one.
    """
    claims: tuple[str, ...]
    """Classes of time."""
    caveat: str
    fixes: tuple[Fix, ...]
    left_out: str
    """What is said of fixes that this version does not take."""


def in_order(
    judged: Sequence[Judged],
    metrics: Metrics,
    saves: Callable[[Judged], float] = lambda one: one.saving.high,
) -> list[Judged]:
    """What the trace shows, then rules that are not proven yet, then questions; of each
    kind the largest saving first, equal ones by severity, then by id. From few or
    guessed steps the more severe ones come first: what those prove comes before what
    they only suggest.
    """
    by_severity = is_few(metrics) or is_guessed(metrics)

    def key(one: Judged) -> tuple[int, float, float, float, int, str]:
        kind = 2 if one.rule.is_likely else 1 if one.rule.is_preview else 0
        first = -one.severity.rank if by_severity else -saves(one)
        return (
            kind,
            first,
            -one.saving.high,
            -one.saving.low,
            -one.severity.rank,
            one.rule.id,
        )

    return sorted(judged, key=key)


def finding_of(one: Judged, metrics: Metrics) -> Finding:
    """The finding, in words."""
    rule = one.rule
    return Finding(
        rule_id=rule.id,
        category=rule.category,
        severity=one.severity,
        title=fill(rule.title, metrics),
        summary=f"{fill(rule.summary, metrics)} {one.left_out}".rstrip(),
        evidence=tuple(
            seen
            for name in rule.evidence
            if (seen := _evidence(name, metrics)) is not None
        ),
        saving=one.saving if one.saving.high > 0 else None,
        fixes=one.fixes,
        locations=tuple(
            place
            for name in rule.locations
            if (place := _location(name, metrics)) is not None
        ),
        source=rule.source,
        caveat=one.caveat,
        claims=one.claims,
        proof=rule.proof,
        takes=one.takes,
        ask=fill(rule.ask, metrics) if rule.is_likely else msgspec.UNSET,
        tier=rule.tier if rule.is_preview else msgspec.UNSET,
    )


def _evidence(name: str, metrics: Metrics) -> Evidence | None:
    if metrics.has_fact(name):
        text = metrics.fact(name)
        return (
            None
            if text is None
            else Evidence(None, name.replace("_", " "), text, "text")
        )
    measured = metrics[name]
    if measured.value is None:
        return None
    return Evidence(name, measured.about, measured.value, measured.unit.value)


def _location(name: str, metrics: Metrics) -> Location | None:
    text = metrics.place(name)
    place = _PLACE.match(text) or _LINE.match(text)
    if place is None:
        return None
    return Location(
        place.group("file"), int(place.group("line")), place.group("function")
    )


# What a trace of one or two steps cannot tell: whether something happens in every step.

TELLING_STEPS = 3
"""From fewer whole steps nobody can say what happens in every one."""
WEAK_CONFIDENCE = 0.5
"""Below this confidence the steps themselves are a guess."""


def is_few(metrics: Metrics) -> bool:
    """Whether fewer steps were counted."""
    steps = metrics.value("steps_counted")
    return steps is not None and steps < TELLING_STEPS


def is_guessed(metrics: Metrics) -> bool:
    """Whether the steps could hardly be distinguished."""
    confidence = metrics.value("step_confidence")
    return confidence is not None and confidence < WEAK_CONFIDENCE


_MOST = 0.5
"""Where so much of what was launched left nothing in the trace, shares of the step are
about the rest.
"""


def work_lost(metrics: Metrics) -> float:
    """The share of launches, or of runs of programs, that no device shows where it is
    most of them; else 0.
    """
    lost = max(
        metrics.value(f"lost_{of}_fraction") or 0.0 for of in ("runs", "launches")
    )
    return lost if lost >= _MOST else 0.0
