"""Findings share out the step's time: what one of them could save, those behind it cannot save again.

Every rule's saving comes out of some classes of the step's breakdown. The findings draw on them in their order, each at
most what is left; so their savings add up to no more than the step holds of each class.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from msgspec.structs import replace

from tfadvisor.engine.loading.rule import Rule
from tfadvisor.metrics.registry import Metrics
from tfadvisor.report.model import Finding, NotApplicable, Saving
from tfadvisor.vocabulary import CATEGORIES, Severity, TimeClass

_TOLERANCE = 1e-9
_NOTHING = 0.01
"""A finding of whose saving less than this share of step time is left says nothing that those above it do not."""
_EXPLAINS = 0.25
"""A finding that could save at least this part of a class's time explains that class."""
LESS_IS_LEFT = "Findings above save part of the same time; this saving is what remains."


def classes_of(rule: Rule) -> tuple[str, ...]:
    """The classes of time that a rule's saving comes from: those it names, else those of its category.

    A rule that saves nothing by itself is about the classes of its category, unless these are all: then about none.
    """
    if rule.saving is not None and rule.saving.of:
        return rule.saving.of
    usual = CATEGORIES[rule.category]
    return () if rule.saving is None and len(usual) == len(TimeClass) else tuple(one.label for one in usual)


def explained_by(rule: Rule, others: Sequence[Finding], metrics: Metrics) -> Finding | None:
    """The finding that says what the time is spent on that a rule with `unless_claimed` is about; None where none does.

    It is of severity `low` or more, claims one of the classes, and saves a good part of it or names no saving at all.
    """
    classes = set(classes_of(rule))
    share = math.fsum(metrics.value(one.metric) or 0.0 for one in TimeClass if one.label in classes)
    for one in others:
        saves = one.saving.high >= _EXPLAINS * share or not one.saving.high
        if one.severity.rank >= Severity.LOW.rank and classes.intersection(one.claims) and saves:
            return one
    return None


def shared_out(
    found: Sequence[tuple[Rule, Finding]], metrics: Metrics
) -> tuple[list[tuple[Rule, Finding]], list[NotApplicable]]:
    """The findings in their order, with savings cut to what those before them leave, and those to which nothing is left.

    A finding then claims the classes that it takes time from, and no others. Severities stay to be worked out. Where the
    step's time is not known by class, all stay as they are.
    """
    if metrics.value(TimeClass.COMPUTE.metric) is None:
        return list(found), []
    spent = []
    left = {one.label: metrics.value(one.metric) or 0.0 for one in TimeClass}
    out = []
    for rule, finding in found:
        wanted = finding.saving.high
        parts = _taken(wanted, finding.claims, left)
        taken = math.fsum(parts.values())
        if parts:
            finding = replace(finding, claims=tuple(parts))  # noqa: PLW2901
        if taken >= wanted - _TOLERANCE:
            out.append((rule, finding))
        elif taken >= _NOTHING:
            out.append((rule, _cut(finding, taken)))
        else:
            spent.append(NotApplicable(rule.id, "the findings above it save the same time"))
    return out, spent


def _taken(wanted: float, claims: Sequence[str], left: dict[str, float]) -> dict[str, float]:
    """What a finding gets of the classes that it claims, in their order; `left` loses it. Classes that give nothing are out."""
    parts: dict[str, float] = {}
    for name in claims:
        part = min(wanted - math.fsum(parts.values()), left[name])
        if part > 0:
            left[name] -= part
            parts[name] = part
    return parts


def _cut(finding: Finding, high: float) -> Finding:
    saving = Saving(min(finding.saving.low, high), high, finding.saving.basis)
    return replace(finding, saving=saving, caveat=" ".join(filter(None, (finding.caveat, LESS_IS_LEFT))))
