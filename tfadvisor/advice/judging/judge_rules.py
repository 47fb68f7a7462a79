"""Rules on metrics: fired, quiet, not applicable (why) or broken (what)."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from msgspec.structs import replace

from tfadvisor.advice.findings import Broken, Fix, NotApplicable, Saving
from tfadvisor.advice.flags.prescribe import fit_flags
from tfadvisor.advice.judging.claims import classes_of
from tfadvisor.advice.judging.conditions import (
    Condition,
    FactIs,
    Joined,
    evaluate,
    fill,
    is_given,
    names_in,
    placeholders,
    without,
)
from tfadvisor.advice.judging.judged import (
    NO_SAVING,
    Judged,
    is_few,
    is_guessed,
    work_lost,
)
from tfadvisor.advice.loading.rule import FixRule, Rule
from tfadvisor.metrics import Metrics
from tfadvisor.units import percent
from tfadvisor.vocabulary import TimeClass

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
    """What all rules came to, each by itself, before they are ranked."""

    judged: tuple[Judged, ...]
    not_applicable: tuple[NotApplicable, ...]
    broken: tuple[Broken, ...]
    quiet: tuple[Rule, ...] = ()
    """What they look for is not the case."""


def run_rules(rules: Sequence[Rule], metrics: Metrics) -> Fired:
    """Every rule by itself."""
    judged: list[Judged] = []
    absent: list[NotApplicable] = []
    broken: list[Broken] = []
    quiet: list[Rule] = []
    for rule in rules:
        try:
            outcome = judge(rule, metrics)
        except Exception as error:
            broken.append(broken_by(rule, error))
            continue
        if isinstance(outcome, Judged):
            judged.append(outcome)
        elif isinstance(outcome, NotApplicable):
            absent.append(outcome)
        else:
            quiet.append(rule)
    return Fired(tuple(judged), tuple(absent), tuple(broken), tuple(quiet))


def broken_by(rule: Rule, error: Exception) -> Broken:
    """A rule that failed."""
    return Broken(rule.id, f"{type(error).__name__}: {error}")


def judge(rule: Rule, metrics: Metrics) -> Judged | NotApplicable | None:
    """One rule alone: fired, NotApplicable with the reason, or None for quiet."""
    truth = evaluate(rule.when, metrics)
    if truth.holds is None:
        return NotApplicable(rule.id, truth.why)
    if not truth.holds:
        return _of_other_devices(rule, metrics)
    if rule.category == "host" and not _can_vouch(rule, metrics):
        return NotApplicable(rule.id, _ONCE)

    saving = _own_saving(rule, metrics)
    if isinstance(saving, NotApplicable):
        return saving
    fixes = _fixes(rule, metrics)
    if not fixes:
        return NotApplicable(rule.id, "none of its fixes applies to this run")
    version = _fact(metrics, "framework_version")
    fitted = fit_flags(fixes, _fact(metrics, _FRAMEWORK), version)

    caveat = _caveat(rule, metrics)
    is_sure = not caveat or _holds_all_the_same(rule, metrics)
    return Judged(
        rule=rule,
        takes=_takes(rule, metrics),
        own=saving,
        claims=classes_of(rule),
        is_sure=is_sure,
        caveat=caveat,
        fixes=fitted.fixes,
        left_out=fitted.left_out,
        is_capped=_is_capped(rule, metrics) or _waits_for_launches(rule, metrics),
        is_of_one_step=_is_of_one_step(rule, metrics, is_sure=is_sure),
    )


_MOST_OF_IT = 0.5
"""A share of the only step from which it is most of what was recorded, whatever other
steps do.
"""


def _is_of_one_step(rule: Rule, metrics: Metrics, *, is_sure: bool) -> bool:
    if is_sure or metrics.value("steps_counted") != 1:
        return False
    takes = _takes(rule, metrics)
    is_most = takes is not None and takes >= _MOST_OF_IT
    return not is_most or _fragment(metrics) is not None


def _can_vouch(rule: Rule, metrics: Metrics) -> bool:
    """Whether this trace can show what the host does in every step."""
    if is_guessed(metrics):
        return False
    return rule.every_call or not is_few(metrics)


def _own_saving(rule: Rule, metrics: Metrics) -> Saving | NotApplicable:
    """What could go, by the rule's own factors; NotApplicable where its metric is
    absent.
    """
    if rule.saving is None:
        return NO_SAVING
    measured = metrics[rule.saving.metric]
    if measured.value is None:
        return NotApplicable(rule.id, measured.reason)
    may_be_work = work_lost(metrics) and _MISTAKEN & set(classes_of(rule))
    if _fragment(metrics) or may_be_work:
        return NO_SAVING
    share = as_share(measured.value)
    basis = fill(rule.saving.basis, metrics)
    return Saving(share * rule.saving.low, share * rule.saving.high, basis)


def _of_other_devices(rule: Rule, metrics: Metrics) -> NotApplicable | None:
    """Why a rule says nothing of the devices of this run, whatever else it looks at;
    None where it is about them too.
    """
    every: Sequence[Condition] = (rule.when,)
    if isinstance(rule.when, Joined) and rule.when.how == "all":
        every = rule.when.parts
    used = _fact(metrics, "device_kind")
    if not used:
        return None
    for condition in every:
        if not isinstance(condition, FactIs) or condition.fact != "device_kind":
            continue
        if used not in condition.words:
            about = " and ".join(f"{word.upper()}s" for word in condition.words)
            reason = f"it is about {about}, and this run used a {used.upper()}"
            return NotApplicable(rule.id, reason)
    return None


def _fragment(metrics: Metrics) -> str | None:
    """Why only a part of each step was recorded: what a change saves of the whole step,
    nobody knows then.
    """
    return _fact(metrics, "step_fragment")


def _fact(metrics: Metrics, name: str) -> str | None:
    return metrics.fact(name) if metrics.has_fact(name) else None


def _takes(rule: Rule, metrics: Metrics) -> float | None:
    """By the metric that the rule names for it, else by that of its saving."""
    saved = rule.saving.metric if rule.saving is not None else ""
    for name in (rule.takes, saved):
        value = metrics.value(name) if name else None
        if value is not None:
            return as_share(value)
    return None


def as_share(value: float) -> float:
    """Within 0..1."""
    return min(max(value, 0.0), 1.0)


def _is_capped(rule: Rule, metrics: Metrics) -> bool:
    """Whether what bounds the rule's severity holds here."""
    cap = rule.at_most
    if cap is None:
        return False
    return cap.when is None or bool(evaluate(cap.when, metrics).holds)


def _waits_for_launches(rule: Rule, metrics: Metrics) -> bool:
    """Whether faster kernels would wait for the next launch: another precision launches
    as many, and launching takes more of the step than they do.
    """
    if rule.category != "precision":
        return False
    launch = metrics.value(TimeClass.LAUNCH.metric) or 0.0
    return launch > (metrics.value(TimeClass.COMPUTE.metric) or launch)


def _holds_all_the_same(rule: Rule, metrics: Metrics) -> bool:
    """Whether a finding with a caveat is as large as it seems: what a device does in
    one step, it does in every step.
    """
    if is_guessed(metrics) or work_lost(metrics) or _fragment(metrics):
        return False
    if not is_few(metrics):  # kernels in turn: what is exposed may be hidden otherwise
        return False
    return rule.every_call or not _MAY_HAPPEN_ONCE & set(classes_of(rule))


def _caveat(rule: Rule, metrics: Metrics) -> str:
    """Why to trust shares of step time less; "" for nothing."""
    if rule.category == "capture":
        return ""
    return _about_steps(metrics) or _about_work(rule, metrics)


def _about_steps(metrics: Metrics) -> str:
    """Steps that are not the program's, were guessed badly, or are too few."""
    if fragment := _fragment(metrics):
        return (
            f"The steps of the trace are not the program's ({fragment}): these shares "
            "are of what was recorded."
        )
    if is_guessed(metrics):
        return (
            "The trace does not show where steps begin, so these shares refer to the "
            "whole trace."
        )
    if is_few(metrics):
        steps = metrics.value("steps_counted")
        plural = "s" if steps != 1 else ""
        return (
            f"The trace holds only {steps:.0f} whole step{plural}: other steps may "
            "differ."
        )
    return ""


def _about_work(rule: Rule, metrics: Metrics) -> str:
    """Work that was not recorded, or that the profiler put in turn."""
    if lost := work_lost(metrics):
        return (
            f"Of the work that was launched {percent(lost)} left nothing in the trace: "
            "these shares are about the rest."
        )
    if rule.category == "collective" and metrics.value("kernels_in_turn_fraction"):
        return (
            "The profiler let no two kernels run at the same time: computation may "
            "hide "
            "this otherwise."
        )
    return ""


# Its fixes.

_FRAMEWORK = "framework"
_WITH_CODE = ("tensorflow", "jax")
"""Frameworks in whose words fixes are written."""
_SETTINGS = ("env", "flag")
"""Kinds of fixes that say little without the framework that reads them."""


def _fixes(rule: Rule, metrics: Metrics) -> tuple[Fix, ...]:
    """Those that apply. For another framework, or where nobody knows it, what to do
    stands in words and once, since every snippet would be one of another framework.
    """
    if _fact(metrics, _FRAMEWORK) in _WITH_CODE:
        every = [_fix(fix, metrics) for fix in rule.fixes if _applies(fix, metrics)]
        return tuple(every)
    in_words: dict[str, Fix] = {}
    for fix in sorted(rule.fixes, key=_is_setting_of_a_framework):
        needs = without(fix.needs, _FRAMEWORK)
        if not _applies(replace(fix, needs=needs), metrics):
            continue
        found = _fix(fix, metrics)
        if needs != fix.needs:
            found = _words_of(found)
        in_words.setdefault(found.do, found)
    return tuple(in_words.values())


def _is_setting_of_a_framework(fix: FixRule) -> bool:
    needs = [] if fix.needs is None else names_in(fix.needs)
    return fix.kind in _SETTINGS and _FRAMEWORK in needs


def _words_of(fix: Fix) -> Fix:
    """Without code and variables, which another framework does not have."""
    return replace(
        fix, before=msgspec.UNSET, snippet="", env={}, valid_for="any framework"
    )


def _applies(fix: FixRule, metrics: Metrics) -> bool:
    """A fix is for this run when what it needs is shown, nothing that forbids it is,
    and the trace has the numbers that it is filled with.
    """
    if fix.needs is not None and not evaluate(fix.needs, metrics).holds:
        return False
    if fix.never is not None and evaluate(fix.never, metrics).holds:
        return False
    texts = (fix.do, fix.before, fix.snippet, fix.side_effect, *fix.env.values())
    names = (name for text in texts for name in placeholders(text))
    return all(is_given(name, metrics) for name in names)


def _fix(fix: FixRule, metrics: Metrics) -> Fix:
    return Fix(
        fix.kind,
        fill(fix.do, metrics),
        fill(fix.snippet, metrics),
        {name: fill(value, metrics) for name, value in fix.env.items()},
        fix.valid_for,
        fill(fix.side_effect, metrics),
        fix.cures or msgspec.UNSET,
        fill(fix.before, metrics) or msgspec.UNSET,
    )
