"""Findings with the savings that a replay of the step gives them, each on top of those before it, and the plan they make."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from tfadvisor.engine.judging.judge_rules import Outcomes
from tfadvisor.engine.loading.rule import Rule
from tfadvisor.engine.savings.calibration import Calibration, moved
from tfadvisor.engine.savings.parts import parts_of, taken, unrecorded
from tfadvisor.engine.savings.replay import FaultTime, that_could_go, without
from tfadvisor.metrics.registry import Metrics
from tfadvisor.report.model import Finding, Saving

MEASURED = "With it goes other time of the step, as in {pairs} programs measured with and without such a fault."
NOT_MEASURED = "What goes with it besides was measured without accelerators only, and is left out."


def foresee(outcomes: Outcomes, rules: Sequence[Rule], metrics: Metrics, known: Calibration) -> Outcomes:
    """The outcomes with other savings, in the same order. On devices that nothing was measured on, and where the step's time
    is not known by class, they stay what the rules say."""
    if metrics.fact("device_kind") not in known.devices:
        return replace(outcomes, findings=tuple(_told(one, NOT_MEASURED) for one in outcomes.findings))
    recorded = parts_of(metrics)
    if recorded is None:
        return outcomes
    step = unrecorded(recorded, metrics.value("tracer_fraction") or 0.0)
    by_id = {rule.id: rule for rule in rules}
    findings: list[Finding] = []
    remains = step
    for one in outcomes.findings:
        most = max(1 - sum(before.saving.high for before in findings), 0.0)
        rule, fault = by_id.get(one.rule_id), known.fault_of(one.category)
        if rule is None or rule.saving is None or rule.unless_claimed or fault is None:
            findings.append(_at_most(one, most))  # what names no fault says nothing of what goes with it
            continue
        seen = taken(recorded, metrics.value(rule.saving.metric) or 0.0, one.claims)
        own = {name: min(share * step[name] / recorded[name], remains[name]) for name, share in seen.items() if share}
        then = without(remains, own, fault)
        most = min(most, that_could_go(remains, own, fault))
        findings.append(replace(one, saving=_saving(one, sum(remains.values()), sum(then.values()), fault, most)))
        remains = then
    return replace(outcomes, findings=tuple(findings))


def _saving(finding: Finding, now: float, then: float, fault: FaultTime, most: float) -> Saving:
    """Between two lengths of the step, as shares of the recorded one. most: what it can be at most."""
    saved = 1 - then / now if now else 0.0
    high = min(now * moved(saved, fault.above), most)
    low = min(now * moved(saved, -fault.below), high)
    return Saving(low, high, f"{finding.saving.basis} {MEASURED.format(pairs=fault.pairs)}")


def _at_most(finding: Finding, most: float) -> Finding:
    if finding.saving.high <= most:
        return finding
    return replace(finding, saving=Saving(min(finding.saving.low, most), most, finding.saving.basis))


def _told(finding: Finding, words: str) -> Finding:
    """Of a finding that saves something."""
    if not finding.saving.high:
        return finding
    return replace(finding, saving=replace(finding.saving, basis=f"{finding.saving.basis} {words}".lstrip()))
