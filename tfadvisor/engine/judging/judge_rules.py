"""Rules on metrics: fired, quiet, not applicable (why) or broken (what)."""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec
from msgspec.structs import replace

from tfadvisor.engine.judging.claims import classes_of, explained_by, shared_out
from tfadvisor.engine.judging.conditions import evaluate
from tfadvisor.engine.judging.few_steps import is_few, is_guessed
from tfadvisor.engine.judging.fit_flags import fit_flags
from tfadvisor.engine.judging.wording import fill, is_given, placeholders
from tfadvisor.engine.loading.rule import FixRule, Rule
from tfadvisor.metrics.registry import Metrics
from tfadvisor.report.model import Broken, Evidence, Finding, Fix, Location, NotApplicable, Saving
from tfadvisor.vocabulary import Severity

_SEVERITY_BY_SAVING = ((0.5, Severity.CRITICAL), (0.2, Severity.HIGH), (0.1, Severity.MEDIUM), (0.03, Severity.LOW))
"""Shares of step time from which a possible saving is critical, high, medium or low. 20% is where XProf calls a run
highly input-bound, 10% is the launch gap that TensorFlow's guide calls worth fixing, 3% is where XProf starts to warn."""
_UNEXPLAINED = {
    Severity.CRITICAL: Severity.MEDIUM,
    Severity.HIGH: Severity.MEDIUM,
    Severity.MEDIUM: Severity.LOW,
    Severity.LOW: Severity.INFO,
    Severity.INFO: Severity.INFO,
}
"""A rule that only names what takes the time, and no fault, is one level less severe, and never more than medium."""
_MAY_HAPPEN_ONCE = frozenset({"input", "launch", "compile", "host", "idle"})
"""Classes of time that a single step cannot vouch for. What a device computes, it computes in every step."""
_ONCE = "fewer than three steps cannot show whether the host does this in every step"
_PLACE = re.compile(r"^(?P<function>.*) \((?P<file>[^()]+):(?P<line>\d+)\)$")


class Outcomes(msgspec.Struct, frozen=True):
    """What all rules came to; quiet: the ids of those that looked and found nothing."""

    findings: tuple[Finding, ...]
    quiet: tuple[str, ...]
    not_applicable: tuple[NotApplicable, ...]
    broken: tuple[Broken, ...]


def run_rules(rules: Sequence[Rule], metrics: Metrics) -> Outcomes:
    """Findings come with the largest saving first; equal ones by severity, then by id. None saves what another does.

    From few or guessed steps the more severe ones come first.
    """
    found: list[tuple[Rule, Finding]] = []
    quiet, absent, broken = [], [], []
    for rule in rules:
        try:
            outcome = judge(rule, metrics)
        except Exception as error:
            broken.append(Broken(rule.id, f"{type(error).__name__}: {error}"))
            continue
        if isinstance(outcome, Finding):
            found.append((rule, outcome))
        elif isinstance(outcome, NotApplicable):
            absent.append(outcome)
        else:
            quiet.append(rule.id)
    found, unneeded = _without_explained(found, metrics)
    absent += unneeded
    by_severity = is_few(metrics) or is_guessed(metrics)
    found.sort(key=lambda one: _rank(one[1], by_severity))
    shared, spent = shared_out(found, metrics)
    absent += spent
    findings = [replace(finding, severity=_severity(rule, finding.saving, metrics)) for rule, finding in shared]
    return Outcomes(
        tuple(sorted(findings, key=lambda one: _rank(one, by_severity))), tuple(quiet), tuple(absent), tuple(broken)
    )


def _without_explained(
    found: Sequence[tuple[Rule, Finding]], metrics: Metrics
) -> tuple[list[tuple[Rule, Finding]], list[NotApplicable]]:
    """Rules that only say what no other says (`unless_claimed`) give way where another finding explains the time."""
    others = [finding for rule, finding in found if not rule.unless_claimed]
    kept, unneeded = [], []
    for rule, finding in found:
        by = explained_by(rule, others, metrics) if rule.unless_claimed else None
        if by is None:
            kept.append((rule, finding))
        else:
            unneeded.append(NotApplicable(rule.id, f"{by.rule_id} explains this time"))
    return kept, unneeded


def _rank(one: Finding, by_severity: bool) -> tuple[int, float, float, int, str]:
    """by_severity: what a few steps prove comes before what they only suggest, whatever that would save."""
    first = -one.severity.rank if by_severity else 0
    return first, -one.saving.high, -one.saving.low, -one.severity.rank, one.rule_id


def judge(rule: Rule, metrics: Metrics) -> Finding | NotApplicable | None:
    """One rule: a finding, NotApplicable with the reason, or None for quiet."""
    truth = evaluate(rule.when, metrics)
    if truth.holds is None:
        return NotApplicable(rule.id, truth.why)
    if not truth.holds:
        return None
    of_one_step = rule.every_call or (rule.unless_claimed and rule.saving is None)
    if rule.category == "host" and (is_guessed(metrics) or (is_few(metrics) and not of_one_step)):
        return NotApplicable(rule.id, _ONCE)
    saving = Saving(0.0, 0.0, "")
    if rule.saving is not None:
        measured = metrics[rule.saving.metric]
        if measured.value is None:
            return NotApplicable(rule.id, measured.reason)
        share = min(max(measured.value, 0.0), 1.0)
        saving = Saving(share * rule.saving.low, share * rule.saving.high, fill(rule.saving.basis, metrics))
    fixes = tuple(_fix(fix, metrics) for fix in rule.fixes if _applies(fix, metrics))
    if not fixes:
        return NotApplicable(rule.id, "none of its fixes applies to this run")
    fitted = fit_flags(fixes, metrics)
    return Finding(
        rule_id=rule.id,
        category=rule.category,
        severity=_severity(rule, saving, metrics),
        title=fill(rule.title, metrics),
        summary=f"{fill(rule.summary, metrics)} {fitted.left_out}".rstrip(),
        evidence=tuple(one for name in rule.evidence if (one := _evidence(name, metrics)) is not None),
        saving=saving,
        fixes=fitted.fixes,
        locations=tuple(place for name in rule.locations if (place := _location(name, metrics)) is not None),
        source=rule.source,
        caveat=_caveat(rule, metrics),
        claims=classes_of(rule),
    )


def _severity(rule: Rule, saving: Saving, metrics: Metrics) -> Severity:
    if rule.severity is not None:
        return rule.severity
    reached = next((severity for bound, severity in _SEVERITY_BY_SAVING if saving.high >= bound), Severity.INFO)
    if rule.unless_claimed:
        reached = _UNEXPLAINED[reached]
    if rule.at_most is not None and (rule.at_most.when is None or evaluate(rule.at_most.when, metrics).holds):
        reached = min(reached, rule.at_most.severity, key=lambda severity: severity.rank)
    if rule.is_likely:
        reached = min(reached, Severity.LOW, key=lambda severity: severity.rank)
    if not _caveat(rule, metrics):
        return reached
    may_happen_once = _MAY_HAPPEN_ONCE & set(classes_of(rule)) and not (rule.every_call and not is_guessed(metrics))
    highest = Severity.LOW if may_happen_once else Severity.MEDIUM
    return min(reached, highest, key=lambda severity: severity.rank)


def _caveat(rule: Rule, metrics: Metrics) -> str:
    """Why to trust shares of step time less: steps that were guessed badly, or too few of them."""
    if rule.category == "capture":
        return ""
    if is_guessed(metrics):
        return "The trace does not show where steps begin, so these shares refer to the whole trace."
    if is_few(metrics):
        steps = metrics.value("steps_counted")
        return f"The trace holds only {steps:.0f} whole step{'s' if steps != 1 else ''}: other steps may differ."
    return ""


def _applies(fix: FixRule, metrics: Metrics) -> bool:
    """A fix is for this run when its condition holds and the trace has the numbers that it is filled with."""
    if fix.when is not None and not evaluate(fix.when, metrics).holds:
        return False
    texts = (fix.do, fix.snippet, fix.side_effect, *fix.env.values())
    return all(is_given(name, metrics) for text in texts for name in placeholders(text))


def _fix(fix: FixRule, metrics: Metrics) -> Fix:
    return Fix(
        fix.kind,
        fill(fix.do, metrics),
        fill(fix.snippet, metrics),
        {name: fill(value, metrics) for name, value in fix.env.items()},
        fix.valid_for,
        fill(fix.side_effect, metrics),
    )


def _evidence(name: str, metrics: Metrics) -> Evidence | None:
    if metrics.has_fact(name):
        text = metrics.fact(name)
        return None if text is None else Evidence(None, name.replace("_", " "), text, "text")
    measured = metrics[name]
    if measured.value is None:
        return None
    return Evidence(name, measured.about, measured.value, measured.unit.value)


def _location(name: str, metrics: Metrics) -> Location | None:
    place = _PLACE.match(metrics.fact(name) or "")
    if place is None:
        return None
    return Location(place.group("file"), int(place.group("line")), place.group("function"))
