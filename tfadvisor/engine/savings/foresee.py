"""What a replay of the step without each fault gives for its saving, each on top of those before it."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from tfadvisor.engine.judging.judged import Judged, in_order
from tfadvisor.engine.savings.calibration import Calibration
from tfadvisor.engine.savings.parts import parts_of
from tfadvisor.engine.savings.promises import Claim, Promise, promises
from tfadvisor.metrics.registry import Metrics
from tfadvisor.report.model import Saving

MEASURED = "With it goes other time of the step, as in {pairs} measured with such a fault and without."
ESTIMATED = "With it goes other time of the step; no program was measured with such a fault and without, so that is an estimate."
NOT_MEASURED = "What goes with it besides was measured without accelerators only, and is left out."


def foresee(judged: Sequence[Judged], metrics: Metrics, known: Calibration) -> list[Judged]:
    """Those that fired, in the order of what each would save without the others, with other savings.

    On devices that nothing was measured on, and where the step's time is not known by class, savings stay what the rules say.
    """
    if metrics.fact("device_kind") not in known.devices:
        return in_order([_not_measured(one) for one in judged], metrics)
    parts = parts_of(metrics)
    if parts is None:
        return in_order(judged, metrics)
    tracer = metrics.value("tracer_fraction") or 0.0

    ordered = in_order(judged, metrics, lambda one: promises(parts, tracer, [claim_of(one, metrics)], known)[0].high)
    sure = [one for one in ordered if not one.rule.is_likely]
    found = promises(parts, tracer, [claim_of(one, metrics) for one in sure], known)
    return [*map(_promised, sure, found), *ordered[len(sure) :]]


def claim_of(one: Judged, metrics: Metrics) -> Claim:
    """What is known of a fault before the replay."""
    share, reach = 0.0, None
    if (saving := one.rule.saving) is not None and not one.rule.is_likely:
        share = (metrics.value(saving.metric) or 0.0) * saving.high
        share = max(share, metrics.value(saving.whole) or 0.0) if saving.whole else share
        reach = metrics.value(saving.reach) if saving.reach else None
    return Claim(
        rule=one.rule.id,
        category=one.rule.category,
        share=min(max(share, 0.0), 1.0),
        classes=one.claims,
        range=(one.saving.low, one.saving.high),
        reach=1.0 if reach is None else min(max(reach, 0.0), 1.0),
        is_fault=saving is not None,
    )


def _promised(one: Judged, promise: Promise) -> Judged:
    basis = one.saving.basis
    if promise.pairs is not None:
        basis = f"{basis} {_measured(promise.pairs)}"
    return replace(one, saving=Saving(promise.low, promise.high, basis))


def _measured(pairs: int) -> str:
    return MEASURED.format(pairs=f"{pairs} program{'s' if pairs > 1 else ''}") if pairs else ESTIMATED


def _not_measured(one: Judged) -> Judged:
    if not one.saving.high:
        return one
    return replace(one, saving=replace(one.saving, basis=f"{one.saving.basis} {NOT_MEASURED}".lstrip()))
