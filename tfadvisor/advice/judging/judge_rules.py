"""Rules on metrics: fired, quiet, not applicable (why) or broken (what)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec
from msgspec.structs import replace

from tfadvisor.advice.findings import Broken, Finding, Fix, NotApplicable, Saving
from tfadvisor.advice.flags.prescribe import fit_flags
from tfadvisor.advice.judging.claims import classes_of, shared_out
from tfadvisor.advice.judging.conditions import (
    FactIs,
    Joined,
    evaluate,
    fill,
    is_given,
    placeholders,
)
from tfadvisor.advice.judging.judged import (
    NO_SAVING,
    Judged,
    finding_of,
    in_order,
    is_few,
    is_guessed,
    work_lost,
)
from tfadvisor.advice.loading.rule import FixRule, Rule
from tfadvisor.metrics.registry import Metrics
from tfadvisor.units import percent
from tfadvisor.vocabulary import Severity

_SEVERITIES = (
    (0.5, Severity.CRITICAL),
    (0.2, Severity.HIGH),
    (0.1, Severity.MEDIUM),
    (0.03, Severity.LOW),
)
"""Shares of step time from which a possible saving is critical, high, medium or low.
20% is where XProf calls a run highly input-bound, 10% is the launch gap that
TensorFlow's guide calls worth fixing, 3% is where XProf starts to warn."""
_MAY_HAPPEN_ONCE = frozenset({"input", "launch", "compile", "host", "idle"})
"""Classes of time that a single step cannot vouch for. What a device computes, it
computes in every step.
"""
_MISTAKEN = frozenset({"launch", "host", "idle"})
"""Classes that a device's time falls into while it does what the trace lacks: no change
can be promised that time.
"""
_ONCE = "fewer than three steps cannot show whether the host does this in every step"


class Fired(msgspec.Struct, frozen=True):
    """What all rules came to before any finding is written."""

    judged: tuple[Judged, ...]
    not_applicable: tuple[NotApplicable, ...]
    broken: tuple[Broken, ...]


class Outcomes(msgspec.Struct, frozen=True):
    """The same with the findings, in the order of the report."""

    findings: tuple[Finding, ...]
    not_applicable: tuple[NotApplicable, ...]
    broken: tuple[Broken, ...]


def run_rules(
    rules: Sequence[Rule],
    metrics: Metrics,
    promised: Callable[[Sequence[Judged], Metrics], Sequence[Judged]] = in_order,
) -> Outcomes:
    """Every rule, and a finding for each that fired. promised: puts them in order, and
    may give them other savings.
    """
    fired = fired_rules(rules, metrics)
    findings, broken = [], list(fired.broken)
    for one in map(_within, promised(fired.judged, metrics)):
        try:
            findings.append(finding_of(one, metrics))
        except Exception as error:
            broken.append(_broken(one.rule, error))
    return Outcomes(tuple(findings), fired.not_applicable, tuple(broken))


def fired_rules(rules: Sequence[Rule], metrics: Metrics) -> Fired:
    """None of those that fired saves what another does. What is not proven yet takes
    nothing from what is.
    """
    judged: list[Judged] = []
    absent, broken = [], []
    for rule in rules:
        try:
            outcome = judge(rule, metrics)
        except Exception as error:
            broken.append(_broken(rule, error))
            continue
        if isinstance(outcome, Judged):
            judged.append(outcome)
        elif isinstance(outcome, NotApplicable):
            absent.append(outcome)
    shared, spent = shared_out(in_order(judged, metrics), metrics)
    weighed = tuple(replace(one, severity=_standing(one, metrics)) for one in shared)
    return Fired(weighed, tuple(absent + spent), tuple(broken))


def _broken(rule: Rule, error: Exception) -> Broken:
    return Broken(rule.id, f"{type(error).__name__}: {error}")


def judge(rule: Rule, metrics: Metrics) -> Judged | NotApplicable | None:
    """One rule alone: fired, NotApplicable with the reason, or None for quiet."""
    truth = evaluate(rule.when, metrics)
    if truth.holds is None:
        return NotApplicable(rule.id, truth.why)
    if not truth.holds:
        return _of_other_devices(rule, metrics)
    if rule.category == "host" and (
        is_guessed(metrics) or (is_few(metrics) and not rule.every_call)
    ):
        return NotApplicable(rule.id, _ONCE)
    saving = NO_SAVING
    if rule.saving is not None:
        measured = metrics[rule.saving.metric]
        if measured.value is None:
            return NotApplicable(rule.id, measured.reason)
        share = _share(measured.value)
        if not _fragment(metrics) and not (
            work_lost(metrics) and _MISTAKEN & set(classes_of(rule))
        ):
            saving = Saving(
                share * rule.saving.low,
                share * rule.saving.high,
                fill(rule.saving.basis, metrics),
            )
    fixes = tuple(_fix(fix, metrics) for fix in rule.fixes if _applies(fix, metrics))
    if not fixes:
        return NotApplicable(rule.id, "none of its fixes applies to this run")
    fitted = fit_flags(
        fixes, *(_fact(metrics, name) for name in ("framework", "framework_version"))
    )
    return Judged(
        rule=rule,
        severity=_severity(rule, saving, metrics),
        saving=NO_SAVING if rule.is_likely else saving,
        takes=_takes(rule, metrics),
        claims=classes_of(rule),
        caveat=_caveat(rule, metrics),
        fixes=fitted.fixes,
        left_out=fitted.left_out,
    )


def _of_other_devices(rule: Rule, metrics: Metrics) -> NotApplicable | None:
    """Why a rule says nothing of the devices of this run, whatever else it looks at;
    None where it is about them too.
    """
    every = (
        rule.when.parts
        if isinstance(rule.when, Joined) and rule.when.how == "all"
        else (rule.when,)
    )
    used = _fact(metrics, "device_kind")
    for one in every:
        if (
            isinstance(one, FactIs)
            and one.fact == "device_kind"
            and used
            and used not in one.words
        ):
            about = " and ".join(f"{word.upper()}s" for word in one.words)
            return NotApplicable(
                rule.id, f"it is about {about}, and this run used a {used.upper()}"
            )
    return None


def _fragment(metrics: Metrics) -> str | None:
    """Why only a part of each step was recorded: what a change saves of the whole step,
    nobody knows then.
    """
    return _fact(metrics, "step_fragment")


def _fact(metrics: Metrics, name: str) -> str | None:
    return metrics.fact(name) if metrics.has_fact(name) else None


def _takes(rule: Rule, metrics: Metrics) -> float | None:
    """The first of what the rule names for it that the trace gives: its own metric, the
    whole fault, what could be saved.
    """
    saving = rule.saving
    names = (rule.takes, *((saving.whole, saving.metric) if saving is not None else ()))
    return next(
        (
            _share(value)
            for name in names
            if name and (value := metrics.value(name)) is not None
        ),
        None,
    )


def _share(value: float) -> float:
    return min(max(value, 0.0), 1.0)


def _within(one: Judged) -> Judged:
    """A minor finding promises no more than it takes: what else goes with a large fault
    is not measured for small ones. Where large ones would save more than that for sure,
    nothing says how much of it goes."""
    most = one.takes
    if one.severity.rank > Severity.LOW.rank or most is None or one.saving.high <= most:
        return one
    low = one.saving.low if one.saving.low < most else 0.0
    return replace(one, saving=replace(one.saving, low=low, high=most))


def _standing(one: Judged, metrics: Metrics) -> Severity:
    """By what is left of its saving. A rule that is not proven yet is never more than
    low, whatever it would save.
    """
    severity = (
        one.severity if one.rule.is_likely else _severity(one.rule, one.saving, metrics)
    )
    return _lower(severity, Severity.LOW) if one.rule.is_preview else severity


def severity_of(saving: float) -> Severity:
    """Of a finding that could save this share of step time, where nothing else
    speaks.
    """
    return next(
        (severity for bound, severity in _SEVERITIES if saving >= bound), Severity.INFO
    )


def _severity(rule: Rule, saving: Saving, metrics: Metrics) -> Severity:
    if rule.severity is not None:
        return rule.severity
    reached = severity_of(saving.high)
    if rule.at_most is not None and (
        rule.at_most.when is None or evaluate(rule.at_most.when, metrics).holds
    ):
        reached = _lower(reached, rule.at_most.severity)
    if rule.is_likely:
        reached = _lower(reached, Severity.LOW)
    if not _caveat(rule, metrics):
        return reached
    vouched = rule.every_call and not is_guessed(metrics) and not work_lost(metrics)
    may_happen_once = _MAY_HAPPEN_ONCE & set(classes_of(rule)) and not vouched
    return _lower(reached, Severity.LOW if may_happen_once else Severity.MEDIUM)


def _lower(one: Severity, other: Severity) -> Severity:
    return min(one, other, key=lambda severity: severity.rank)


def _caveat(rule: Rule, metrics: Metrics) -> str:
    """Why to trust shares of step time less: steps that were guessed badly, too few of
    them, work that was not recorded.
    """
    if rule.category == "capture":
        return ""
    if fragment := _fragment(metrics):
        return (
            f"The steps are fragments ({fragment}): these shares are of the part "
            "that was recorded."
        )
    if is_guessed(metrics):
        return (
            "The trace does not show where steps begin, so these shares refer to the "
            "whole trace."
        )
    if is_few(metrics):
        steps = metrics.value("steps_counted")
        return (
            f"The trace holds only {steps:.0f} whole "
            f"step{'s' if steps != 1 else ''}: other steps may differ."
        )
    if lost := work_lost(metrics):
        return (
            f"Of the work that was launched {percent(lost)} left nothing in the "
            "trace: these shares are about the rest."
        )
    serial = rule.category == "collective" and metrics.value("kernels_in_turn_fraction")
    return (
        "The profiler let no two kernels run at the same time: computation may hide "
        "this otherwise."
        if serial
        else ""
    )


def _applies(fix: FixRule, metrics: Metrics) -> bool:
    """A fix is for this run when its condition holds and the trace has the numbers that
    it is filled with.
    """
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
