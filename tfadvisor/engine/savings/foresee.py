"""Findings with the savings that a replay of the step gives them, each on top of those before it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from msgspec.structs import replace

from tfadvisor.engine.judging.few_steps import is_few, is_guessed
from tfadvisor.engine.judging.judge_rules import Outcomes
from tfadvisor.engine.loading.rule import Rule
from tfadvisor.engine.savings.calibration import Calibration
from tfadvisor.engine.savings.parts import Parts, parts_of
from tfadvisor.engine.savings.promises import Claim, Promise, promises
from tfadvisor.metrics.registry import Metrics
from tfadvisor.report.model import Finding, Saving

_UNSURE = 0.5
"""Of the saving of a rule that only names what takes the time, in the order of findings."""
MEASURED = "With it goes other time of the step, as in {pairs} measured with such a fault and without."
ESTIMATED = "With it goes other time of the step; no program was measured with such a fault and without, so that is an estimate."
NOT_MEASURED = "What goes with it besides was measured without accelerators only, and is left out."


def foresee(outcomes: Outcomes, rules: Sequence[Rule], metrics: Metrics, known: Calibration) -> Outcomes:
    """The outcomes with other savings, the largest first. On devices that nothing was measured on, and where the step's time
    is not known by class, they stay what the rules say, in their order."""
    if metrics.fact("device_kind") not in known.devices:
        return replace(outcomes, findings=tuple(_not_measured(one) for one in outcomes.findings))
    parts = parts_of(metrics)
    if parts is None:
        return outcomes
    tracer = metrics.value("tracer_fraction") or 0.0
    findings = list(outcomes.findings)
    if not (is_few(metrics) or is_guessed(metrics)):
        findings.sort(key=_alone(findings, claims_of(findings, rules, metrics), parts, tracer, known))
    found = promises(parts, tracer, claims_of(findings, rules, metrics), known)
    return replace(outcomes, findings=tuple(map(_told, findings, found)))


def _alone(
    findings: Sequence[Finding], claims: Sequence[Claim], parts: Parts, tracer: float, known: Calibration
) -> Callable[[Finding], float]:
    """Orders findings by what each would save without the others. Time that no rule explains counts half: another finding
    may be its cause."""
    saves = {
        one.rule_id: promises(parts, tracer, [claim], known)[0].high * (1.0 if claim.is_fault else _UNSURE)
        for one, claim in zip(findings, claims, strict=True)
    }
    return lambda one: -saves[one.rule_id]


def claims_of(findings: Sequence[Finding], rules: Sequence[Rule], metrics: Metrics) -> list[Claim]:
    """One for each finding."""
    by_id = {rule.id: rule for rule in rules}
    return [_claim(one, by_id, metrics) for one in findings]


def _claim(finding: Finding, rules: Mapping[str, Rule], metrics: Metrics) -> Claim:
    rule = rules[finding.rule_id]
    share = 0.0
    if rule.saving is not None:
        share = (metrics.value(rule.saving.metric) or 0.0) * rule.saving.high
    if rule.saving is not None and rule.saving.whole:
        share = max(share, metrics.value(rule.saving.whole) or 0.0)
    reach = metrics.value(rule.saving.reach) if rule.saving is not None and rule.saving.reach else None
    return Claim(
        rule=finding.rule_id,
        category=finding.category,
        share=min(max(share, 0.0), 1.0),
        classes=finding.claims,
        range=(finding.saving.low, finding.saving.high),
        reach=1.0 if reach is None else min(max(reach, 0.0), 1.0),
        is_fault=rule.saving is not None and not rule.unless_claimed,
    )


def _told(finding: Finding, promise: Promise) -> Finding:
    basis = finding.saving.basis
    if promise.pairs is not None:
        basis = f"{basis} {_measured(promise.pairs)}"
    return replace(finding, saving=Saving(promise.low, promise.high, basis))


def _measured(pairs: int) -> str:
    return MEASURED.format(pairs=f"{pairs} program{'s' if pairs > 1 else ''}") if pairs else ESTIMATED


def _not_measured(finding: Finding) -> Finding:
    """Of a finding that saves something."""
    if not finding.saving.high:
        return finding
    return replace(finding, saving=replace(finding.saving, basis=f"{finding.saving.basis} {NOT_MEASURED}".lstrip()))
