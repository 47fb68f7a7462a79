"""Findings with the savings that a replay of the step gives them, each on top of those before it, and the plan they make."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from tfadvisor.engine.judging.judge_rules import Outcomes
from tfadvisor.engine.loading.rule import Rule
from tfadvisor.engine.savings.calibration import Calibration, room
from tfadvisor.engine.savings.parts import Parts, parts_of, taken
from tfadvisor.engine.savings.replay import FaultTime, without
from tfadvisor.metrics.registry import Metrics
from tfadvisor.report.model import Finding, Saving

MEASURED = "With it goes other time of the step, as in {pairs} programs measured with and without such a fault."
NOT_MEASURED = "What goes with it besides was measured without accelerators only, and is left out."


def foresee(outcomes: Outcomes, rules: Sequence[Rule], metrics: Metrics, known: Calibration) -> Outcomes:
    """The outcomes with other savings. On devices that nothing was measured on, and where the step's time is not known by
    class, they stay what the rules say."""
    if metrics.fact("device_kind") not in known.devices:
        return replace(outcomes, findings=tuple(_told(one, NOT_MEASURED) for one in outcomes.findings))
    parts = parts_of(metrics)
    if parts is None:
        return outcomes
    by_id = {rule.id: rule for rule in rules}
    findings: list[Finding] = []
    remains: Parts = parts
    for one in outcomes.findings:
        rule, fault = by_id.get(one.rule_id), known.fault_of(one.category)
        share = None if rule is None or rule.saving is None else metrics.value(rule.saving.metric)
        if fault is None or share is None:
            findings.append(one)
            continue
        then = without(remains, taken(remains, share, one.claims), fault)
        most = 1 - sum(before.saving.high for before in findings)
        findings.append(replace(one, saving=_saving(one, remains, then, fault, most)))
        remains = then
    return replace(outcomes, findings=tuple(findings))


def _saving(finding: Finding, now: Parts, then: Mapping[str, float], fault: FaultTime, most: float) -> Saving:
    """As shares of the recorded step. most: what the findings before it leave at the least."""
    whole = sum(now.values())
    saved = 1 - sum(then.values()) / whole if whole else 0.0
    high = min(whole * min(saved + fault.above * room(saved), 1.0), max(most, 0.0))
    low = min(whole * max(saved - fault.below * room(saved), 0.0), high)
    return Saving(low, high, f"{finding.saving.basis} {MEASURED.format(pairs=fault.pairs)}")


def _told(finding: Finding, words: str) -> Finding:
    """Of a finding that saves something."""
    if not finding.saving.high:
        return finding
    return replace(finding, saving=replace(finding.saving, basis=f"{finding.saving.basis} {words}".lstrip()))
