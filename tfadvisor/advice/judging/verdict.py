"""The one sentence: what costs most, and whether anything is worth changing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import filterfalse

import msgspec
from msgspec.structs import replace

from tfadvisor.advice.findings import Finding, Verdict
from tfadvisor.advice.judging.cause import (
    BESIDE_STEPS,
    EXPLAINED,
    LOSSES,
    OF_HOST,
    WORTH_NAMING,
    Cause,
    Kind,
    is_seldom,
)
from tfadvisor.advice.judging.distance import distance_of
from tfadvisor.advice.judging.judged import is_few, is_guessed, work_lost
from tfadvisor.advice.measured import is_measured_part
from tfadvisor.metrics import Metrics
from tfadvisor.units import counted, percent
from tfadvisor.vocabulary import VERDICTS, Severity, TimeClass

LARGE = 0.1
"""From this share of the step on a class is no small cost where a finding that is worth
a change claims it, as savings.
"""
_MOSTLY, _THOUSANDS = 0.5, 1000
"""From this share of the step on, in so many kernels, those that are tiny are what the
step does.
"""
_IN_VAIN = 0.05
"""From this share of the step on, work that may be in vain leaves no run healthy."""
_ASKED_OF = 0.3
"""From this share of the step on, a question about it leaves no run healthy: whoever
has the answer may save most of it.
"""
_STEPS_THAT_TELL = 5
"""Fewer steps are too few to say that nothing is worth a change."""
_COMPUTED = ("compute", "kernel")
"""Categories of findings about what the devices compute."""


class Seen(msgspec.Struct, frozen=True):
    """What "Where the step goes" adds to a verdict's words."""

    idle_in: str | None = None
    """What runs in most of the idle time: `most of it during poll.`"""
    largest: str | None = None
    """What computes most: `the line train.py:42 takes 30% of the step`."""


def verdict_of(
    cause: Cause,
    breakdown: Mapping[str, float],
    metrics: Metrics,
    findings: Sequence[Finding],
    seen: Seen,
) -> Verdict:
    """findings: those that a verdict may rest on, as they are reported."""
    measured = list(filter(is_measured_part, findings))
    by_trace = list(filterfalse(is_measured_part, findings))
    cause = _or_needless_computing(cause, breakdown, by_trace)
    traced = _by_trace(cause, breakdown, metrics, by_trace, seen)
    return _by_experiment(traced, measured)


def _or_needless_computing(
    cause: Cause, breakdown: Mapping[str, float], findings: Sequence[Finding]
) -> Cause:
    """Computing, where the first finding shows more of it to be needless than what the
    largest loss takes: else the verdict would send to the smaller of both.
    """
    first = findings[0] if findings else None
    if cause.kind is not Kind.LOSS or first is None or first.category != "compute":
        return cause
    is_larger = (first.takes or 0.0) > cause.fraction
    if not is_larger or first.severity.rank < Severity.MEDIUM.rank:
        return cause
    share = breakdown["compute"]
    return replace(cause, kind=Kind.COMPUTE, bottleneck="compute", fraction=share)


def _by_trace(
    cause: Cause,
    breakdown: Mapping[str, float],
    metrics: Metrics,
    findings: Sequence[Finding],
    seen: Seen,
) -> Verdict:
    seems_sound = _is_sound(cause, breakdown, metrics, findings)
    distance = distance_of(metrics)
    is_sound = seems_sound and not distance.is_far
    computes = is_sound and cause.kind is Kind.COMPUTE
    healthy = computes and not distance.is_dark and _enough_steps(metrics)
    summary = _unused(metrics) + _outside(findings)
    summary += _sentence(cause, metrics, findings, seen)
    if cause.losses:
        summary += _weakness(metrics, is_sound, findings)
        if seems_sound and cause.kind is Kind.COMPUTE:
            is_said = distance.is_far or distance.is_dark or healthy
            summary += distance.words if is_said else ""
            summary += _doubt(findings, seen.largest)
    return Verdict(cause.bottleneck, cause.fraction, healthy, summary)


def unless_asked(verdict: Verdict, findings: Sequence[Finding]) -> Verdict:
    """A verdict rests on no question, and none is healthy over a large one, nor over
    several that are large together.
    """
    asked = _asked(findings)
    if not verdict.healthy or sum(asked) < _ASKED_OF:
        return verdict
    words = f"One question, below, is about {percent(asked[0])} of the step."
    if asked[0] < _ASKED_OF:
        words = f"Questions, below, are together about {percent(sum(asked))} of it."
    summary = f"{verdict.summary} {words}"
    return Verdict(verdict.bottleneck, verdict.fraction, False, summary)


def _asked(findings: Sequence[Finding]) -> list[float]:
    """The large shares of the step that questions are about, the largest first: of
    several about one place, or about none that is known, the largest alone.
    """
    takes: dict[tuple[str, int | None] | None, float] = {}
    for finding in findings:
        share = finding.takes or 0.0
        if finding.is_question and share >= LARGE:
            first = finding.locations[0] if finding.locations else None
            place = (first.file, first.line) if first else None
            takes[place] = max(takes.get(place, 0.0), share)
    return sorted(takes.values(), reverse=True)


def _by_experiment(verdict: Verdict, measured: Sequence[Finding]) -> Verdict:
    """A part that was measured to take more than what the trace calls the limit is the
    limit; what is worth a change leaves no run healthy.
    """
    first = max(measured, key=lambda finding: finding.saves, default=None)
    if first is None or first.saves < LARGE:
        return verdict

    is_part, takes = first.claims and not first.fixes, first.takes or 0.0
    if is_part and (verdict.healthy or takes > verdict.fraction):
        return Verdict(first.category, takes, False, f"{first.title}.")

    by_trace = "" if verdict.healthy else f" By the trace: {verdict.summary}"
    summary = f"{first.title}.{by_trace}"
    return Verdict(verdict.bottleneck, verdict.fraction, False, summary)


# What the cause is.


_SENTENCES = {
    Kind.NOTHING_RECORDED: "The trace holds no steps and no devices.",
    Kind.DEVICE_NOT_RECORDED: (
        "The GPU's work was not recorded, although {proof}: the trace cannot show "
        "where the step goes.{remedy}"
    ),
    Kind.FRAGMENTS: ("The steps of the trace are not the program's: {fragment}."),
    Kind.TOO_LITTLE_WORK: (
        "The devices work for {rest} of this trace, too little to show what slows them "
        "down."
    ),
    Kind.WORK_LOST: (
        "{work_lost} of the work that the host launched left nothing in the trace: "
        "what "
        "seems to be idle time of the devices may be work."
    ),
    Kind.GAPS_OF_RECORDING: (
        "{share} of step time is gaps between kernels that the recording makes: XLA "
        "launches its CUDA graphs kernel by kernel while it is profiled."
    ),
    Kind.LOSS: "{share} of step time is {lost}{open}.",
    Kind.IDLE: "The devices are idle for {share} of the time{silent}, {why}",
    Kind.COMPUTE: "The devices compute for {share} of step time; {beside}.",
    Kind.NO_COMPUTE: "No device computes anything in this trace.",
}


def _sentence(
    cause: Cause, metrics: Metrics, findings: Sequence[Finding], seen: Seen
) -> str:
    words = {"share": percent(cause.fraction), "rest": percent(1 - cause.fraction)}
    match cause.kind:
        case Kind.DEVICE_NOT_RECORDED:
            words["proof"] = str(metrics.fact("unrecorded_device"))
            words["remedy"] = _remedy(metrics)
        case Kind.FRAGMENTS:
            words["fragment"] = str(metrics.fact("step_fragment"))
        case Kind.WORK_LOST:
            words["work_lost"] = percent(work_lost(metrics))
        case Kind.LOSS:
            few = _in_few_steps(cause, metrics)
            if few:
                return f"{words['share']} of the recorded time is {few}."
            words["lost"] = _lost(cause, metrics)
            words["open"] = _left_open(cause, metrics, findings)
        case Kind.IDLE:
            words["silent"] = _counted_as_host(cause)
            words["why"] = seen.idle_in or "and the trace does not show why."
        case Kind.COMPUTE:
            words["beside"] = _beside(cause, metrics, findings)
    return _SENTENCES[cause.kind].format_map(words)


def _unused(metrics: Metrics) -> str:
    """That a GPU stands unused beside the cores that compute; "" where none does."""
    device = metrics.fact("unused_device")
    if device is None:
        return ""
    return (
        f"This run computed on the CPU although the machine has a GPU ({device}): "
        'TensorFlow does not see it, as `tf.config.list_physical_devices("GPU")` '
        "shows. "
    )


_OUTSIDE = "calls-outside-steps"


def _outside(findings: Sequence[Finding]) -> str:
    """What lies in no step, where that is much; "" where nothing does."""
    for finding in findings:
        if finding.rule_id == _OUTSIDE:
            return f"{finding.summary} In the steps: "
    return ""


_REMEDIES = {
    "privilege": (
        " The driver lets only administrators profile: allow it for all users, or "
        "give a "
        "container SYS_ADMIN."
    ),
    "profiler": " Another profiler holds CUPTI: stop it and record again.",
    "library": (
        " CUPTI was not found: put extras/CUPTI/lib64 of CUDA on LD_LIBRARY_PATH and "
        "record again."
    ),
}
_ON_WINDOWS = (
    " CUPTI was not found: put extras\\CUPTI\\lib64 of CUDA on PATH and record "
    "again, or "
    "record on Linux."
)


def _remedy(metrics: Metrics) -> str:
    """How the GPU's work can be recorded on this system; "" where no message says what
    was in the way.
    """
    obstacle = str(metrics.fact("recording_obstacle"))
    if obstacle == "library" and metrics.fact("recorded_on") == "windows":
        return _ON_WINDOWS
    return _REMEDIES.get(obstacle, "")


def _lost(cause: Cause, metrics: Metrics) -> str:
    if cause.bottleneck == "imbalance":
        return _awaited(metrics)
    return VERDICTS[cause.bottleneck].lost


def _in_few_steps(cause: Cause, metrics: Metrics) -> str:
    """What is lost and where, if that is in few steps; "" for each step."""
    name = f"{cause.bottleneck}_in_few_steps"
    few = metrics.fact(name) if metrics.has_fact(name) else None
    if few is None:
        return ""
    words = f"{_lost(cause, metrics)}, nearly all of it in {few}"
    since = metrics.fact("recompiled_since")
    if cause.bottleneck != "compile" or since is None:
        return words
    return f"{words}: {metrics.fact('recompiled_function')}, since {since}"


def _left_open(cause: Cause, metrics: Metrics, findings: Sequence[Finding]) -> str:
    """What the trace cannot show of the host's part: whether that of few steps comes
    back, or what Python does beside memory from the driver; "" where a finding is about
    it, and of what the devices run.
    """
    is_known = any(cause.bottleneck in finding.claims for finding in findings)
    if is_known or cause.bottleneck not in OF_HOST:
        return ""
    if is_few(metrics):
        return "; so few steps cannot show whether that recurs"
    if cause.bottleneck == "host" and metrics.value("memory_call_fraction"):
        return "; the trace cannot show whether it gives memory back to the driver"
    return ""


def _awaited(metrics: Metrics) -> str:
    """Whom the others wait for."""
    host = metrics.value("late_host_fraction") or 0.0
    device = metrics.value("late_device_fraction") or 0.0
    if not (host or device):
        return "devices waiting for the busiest one"
    who, late = "devices", "late_device"
    if host >= device:
        who, late = "all hosts", "late_host"
    return f"{who} waiting for {metrics.fact(late)}, which counts as collective below"


def _beside(cause: Cause, metrics: Metrics, findings: Sequence[Finding]) -> str:
    """What else takes time where the devices are the limit: launch time that is not the
    limit, if there is enough to name and no finding is about it, then what a finding
    says is worth a change, then time in which they are idle.
    """
    claimed = _claimed(findings)
    if cause.recorded:
        return (
            f"recording takes about {percent(cause.recorded)}, as part of what the "
            "host does meanwhile"
        )
    if cause.queued >= WORTH_NAMING and "launch" not in claimed:
        lost = f"{percent(cause.queued)} of {VERDICTS['launch'].lost}"
        return (
            f"most kernels were queued when they began, so the {lost} is not the limit"
        )
    losses = {**cause.losses, "launch": cause.losses["launch"] + cause.queued}
    large = [name for name in claimed if losses.get(name, 0.0) >= LARGE]
    if large:
        worst = max(large, key=losses.__getitem__)
        return f"{percent(losses[worst])} is {VERDICTS[worst].lost}"
    return _beside_unclaimed(cause, metrics)


def _beside_unclaimed(cause: Cause, metrics: Metrics) -> str:
    """As _beside, of what no finding is about."""
    top = cause.largest_loss
    lost = f"{percent(cause.losses[top])} of {VERDICTS[top].lost}"
    if cause.losses[top] >= WORTH_NAMING and is_few(metrics):
        return f"so few steps cannot show whether the {lost} recurs"
    share, seldom = _seldom(metrics)
    if cause.idle >= max(WORTH_NAMING, share):
        return f"they are idle for {percent(cause.idle)}{_counted_as_host(cause)}"
    if cause.losses[top] >= max(WORTH_NAMING, share):
        return f"{percent(cause.losses[top])} is {VERDICTS[top].lost}"
    return seldom or "no other cost is large"


def _seldom(metrics: Metrics) -> tuple[float, str]:
    """(share, words) of what few steps lose, if that is worth naming; "" for
    nothing.
    """
    for name in BESIDE_STEPS:
        share = metrics.value(TimeClass[name.upper()].metric) or 0.0
        if share >= WORTH_NAMING and is_seldom(name, metrics):
            few = metrics.fact(f"{name}_in_few_steps")
            words = f"{percent(share)} is {VERDICTS[name].lost}, nearly all in {few}"
            return share, words
    return 0.0, ""


def _counted_as_host(cause: Cause) -> str:
    """Why the breakdown shows less idle time; "" where it does not."""
    if percent(cause.idle - cause.silent) == percent(cause.idle):
        return ""
    if percent(cause.silent) == percent(cause.idle):
        return ", which counts as host below"
    return f", of which {percent(cause.silent)} counts as host below"


def _claimed(findings: Sequence[Finding]) -> list[str]:
    """The classes of time that findings say are worth a change."""
    worth = [
        finding for finding in findings if finding.severity.rank >= Severity.MEDIUM.rank
    ]
    return sorted({name for finding in worth for name in finding.claims})


# Whether anything is worth a change.


def _is_sound(
    cause: Cause,
    breakdown: Mapping[str, float],
    metrics: Metrics,
    findings: Sequence[Finding],
) -> bool:
    """Whether nothing in the steps that were seen is worth a change: no finding saves
    much, and compute, the devices' memory included, explains nearly all of the time.
    """
    rest = max(breakdown[name] for name in (*LOSSES, "idle"))
    if breakdown["compute"] < EXPLAINED or rest >= WORTH_NAMING:
        return False
    if is_guessed(metrics) or _tiny(metrics):
        return False
    if _in_vain(metrics):
        return False
    return not any(map(_is_worth_it, findings))


def _is_worth_it(finding: Finding) -> bool:
    if finding.severity.rank >= Severity.MEDIUM.rank:
        return True
    return finding.severity is Severity.LOW and finding.saves >= LARGE


def _tiny(metrics: Metrics) -> float:
    """The share of the step in kernels of a GPU shorter than 20 µs, where a step has
    thousands and they are most of it: such a device is busy, and that is no proof that
    it is well used; else 0.
    """
    kernels = metrics.value("kernels_per_step") or 0.0
    if metrics.fact("device_kind") != "gpu" or kernels < _THOUSANDS:
        return 0.0
    share = metrics.value("tiny_kernel_fraction") or 0.0
    return share if share >= _MOSTLY else 0.0


def _worth(metrics: Metrics, name: str, least: float) -> float:
    """A share of the step, 0 where it is too little to act on."""
    share = metrics.value(name) or 0.0
    return share if share >= least else 0.0


def _enough_steps(metrics: Metrics) -> bool:
    """Whether so many steps were seen that a sound run may be called healthy."""
    return (metrics.value("steps_counted") or 0) >= _STEPS_THAT_TELL


def _weakness(metrics: Metrics, is_sound: bool, findings: Sequence[Finding]) -> str:
    if is_guessed(metrics):
        return " Where steps begin is a guess, so this is about the whole trace."
    if is_sound and not _enough_steps(metrics):
        steps = metrics.value("steps_counted") or 0
        seen = counted(f"{steps:.0f}", "step", "steps")
        verb = "is" if seen.startswith("1 ") else "are"
        return (
            f" {seen} {verb} too few to tell whether anything is worth changing: "
            "`tfadvisor run -- python train.py` records more."
        )
    if is_sound:
        return " No finding is worth acting on."
    if tiny := _tiny(metrics):
        number = f"{metrics.value('kernels_per_step') or 0:,.0f}"
        return (
            f" Kernels shorter than 20 µs are {percent(tiny)} of it, of {number} in "
            "each "
            "step: could rounds of a loop run at once, as one batch?"
        )
    return _worth_changing(metrics, findings)


def _worth_changing(metrics: Metrics, findings: Sequence[Finding]) -> str:
    most = _saves_most(findings)
    if most:
        return f" One change could save up to {percent(most)}."
    return _in_vain(metrics)


def _in_vain(metrics: Metrics) -> str:
    """What the devices compute, perhaps in vain, that is worth a look; "" for
    nothing.
    """
    picked = _worth(metrics, "picked_row_fraction", _IN_VAIN)
    if picked:
        used = metrics.fact("picked_rows")
        return (
            f" {percent(picked)} of the step makes a result of which {used}, is used."
        )
    numbers = _worth(metrics, "number_only_fraction", LARGE)
    if numbers:
        which = metrics.fact("number_only_results")
        return f" {percent(numbers)} of the step is computed only for {which}."
    repeated = _worth(metrics, "repeated_pass_fraction", _IN_VAIN)
    if not repeated:
        return ""
    again, once = metrics.fact("repeating_program"), metrics.fact("repeated_program")
    is_same = metrics.fact("repeated_on") == "the same batch"
    batch = " on the same batch." if is_same else ": do both get the same batch?"
    share = percent(repeated)
    return f" {share} of the step is {again}, whose lines {once} runs too{batch}"


def _saves_most(findings: Sequence[Finding]) -> float:
    """What the finding that saves most saves at most; 0 where another one, no less
    severe, takes more and nothing bears out what that saves.
    """
    best = max(findings, key=lambda finding: finding.saves, default=None)
    if best is None:
        return 0.0
    rivals = (
        finding for finding in findings if finding.severity.rank >= best.severity.rank
    )
    is_largest = all(rival.size <= best.saves for rival in rivals)
    return best.saves if is_largest else 0.0


def _doubt(findings: Sequence[Finding], largest: str | None) -> str:
    """What is computed, and perhaps in vain, though nothing proves how much of it: a
    first finding that promises nothing; else what no trace can judge, and where to look
    first.
    """
    first = findings[0] if findings else None
    if first is None or not _may_be_in_vain(first):
        if not largest:
            return ""
        return (
            f" Whether the model needs all that it computes, no trace shows; {largest}."
        )
    place = ""
    if first.locations:
        place = f" ({first.locations[0].file}:{first.locations[0].line})"
    return f" One thing to check: {first.title[0].lower()}{first.title[1:]}{place}."


def _may_be_in_vain(finding: Finding) -> bool:
    is_minor = finding.severity is Severity.LOW and finding.saving is None
    return is_minor and finding.category in _COMPUTED
