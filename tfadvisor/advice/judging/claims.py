"""Findings share out the step's time: what one of them could save, those behind it
cannot save again.

Every rule's saving comes out of some classes of the step's breakdown. The findings draw
on them in their order, each at most what is left; so their savings add up to no more
than the step holds of each class.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence

import msgspec
from msgspec.structs import replace

from tfadvisor.advice.findings import NotApplicable
from tfadvisor.advice.judging.judged import Judged
from tfadvisor.advice.loading.rule import Rule
from tfadvisor.metrics import Metrics
from tfadvisor.vocabulary import CATEGORIES, TimeClass

_TOLERANCE = 1e-9
_NOTHING = 0.01
"""A finding of whose saving less than this share of step time is left says nothing that
those above it do not.
"""
LESS_IS_LEFT = (
    "Other findings take part of the same time: less of it is left to this one."
)


def classes_of(rule: Rule) -> tuple[str, ...]:
    """The classes of time that a rule's saving comes from: those it names, else those
    of its category.

    A rule that saves nothing by itself is about the classes of its category, unless
    these are all: then about none.
    """
    if rule.saving is not None and rule.saving.of:
        return rule.saving.of
    usual = CATEGORIES[rule.category]
    if rule.saving is None and len(usual) == len(TimeClass):
        return ()
    return tuple(time_class.label for time_class in usual)


class SharedOut(msgspec.Struct, frozen=True):
    """Those that fired, in their order, and those to which nothing is left."""

    kept: tuple[Judged, ...]
    spent: tuple[NotApplicable, ...]


def shared_out(
    judged: Sequence[Judged], metrics: Metrics, proven: Collection[str] | None = None
) -> SharedOut:
    """Each with its saving cut to what those before it leave. It then claims the
    classes that it takes time from, and no others.

    proven: ids of the rules that draw first, None for all. Questions take no time, and
    are not asked about time that others have taken. Where the step's time is not known
    by class, all stay as they are.
    """
    if metrics.value(TimeClass.COMPUTE.metric) is None:
        return SharedOut(tuple(judged), ())
    left = {
        time_class.label: metrics.value(time_class.metric) or 0.0
        for time_class in TimeClass
    }
    in_turn = sorted(
        judged,
        key=lambda candidate: proven is not None and candidate.rule.id not in proven,
    )
    cut = {candidate.rule.id: _cut(candidate, left) for candidate in in_turn}
    ids = [candidate.rule.id for candidate in judged]
    reason = "other findings save the same time"
    return SharedOut(
        tuple(filter(None, map(cut.get, ids))),
        tuple(NotApplicable(rule, reason) for rule in ids if cut[rule] is None),
    )


def _cut(judged: Judged, left: dict[str, float]) -> Judged | None:
    """A finding with what `left` has for it, which loses that; None for nothing."""
    is_question = judged.rule.is_likely
    wanted = (judged.takes or 0.0) if is_question else judged.own.high
    parts = _taken(wanted, judged.claims, dict(left) if is_question else left)
    taken = math.fsum(parts.values())
    is_whole = taken >= wanted - _TOLERANCE
    if not is_whole and taken < _NOTHING:
        return None
    if is_question:
        return judged
    return _with_parts(judged, parts, None if is_whole else taken)


def _taken(
    wanted: float, claims: Sequence[str], left: dict[str, float]
) -> dict[str, float]:
    """What a finding gets of the classes that it claims, in their order; `left` loses
    it. Classes that give nothing are out.
    """
    parts: dict[str, float] = {}
    for name in claims:
        part = min(wanted - math.fsum(parts.values()), left[name])
        if part > 0:
            left[name] -= part
            parts[name] = part
    return parts


def _with_parts(
    judged: Judged, parts: Mapping[str, float], cut_to: float | None
) -> Judged:
    """cut_to: what is left of its saving at most, None for all."""
    claims = tuple(parts) or judged.claims
    if cut_to is None:
        return replace(judged, claims=claims)
    own = replace(judged.own, low=min(judged.own.low, cut_to), high=cut_to)
    caveat = " ".join(filter(None, (judged.caveat, LESS_IS_LEFT)))
    return replace(judged, claims=claims, own=own, caveat=caveat)
