"""The one sentence: what costs most, and whether anything is worth changing."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import permutations

from tfadvisor.advice.findings import Finding, Verdict
from tfadvisor.advice.judging.judged import is_few, is_guessed, work_lost
from tfadvisor.metrics.registry import Metrics
from tfadvisor.units import counted, percent
from tfadvisor.vocabulary import VERDICTS, Severity

_WORTH_NAMING = 0.15
"""A class of lost time below this share is not what a step is bound by."""
LARGE = 0.1
"""From this share of the step on a class is no small cost where a finding that is worth
a change claims it, as savings.
"""
_RUNS = 0.02
"""Devices that work for less than this share of a trace without steps ran no program
that could be judged, unless compiling explains nearly all of it."""
_HOST_IS_AHEAD = 0.5
"""From this share of the kernels' time in kernels that queued, the devices are what is
waited for.
"""
_WAITING = 0.05
"""At this share of step time a host that blocks in every step is not ahead at the
step's end, as in the rules.
"""
_EXPLAINED = 0.8
"""Compute below this share of the step leaves too much to other causes to call the run
healthy.
"""
_MOSTLY, _THOUSANDS = 0.5, 1000
"""From this share of the step on, in so many kernels, those that are tiny are what the
step does.
"""
_STEPS_THAT_TELL = 5
"""Fewer steps are too few to say that nothing is worth a change."""
_COMPUTED = ("compute", "kernel")
"""Categories of findings about what the devices compute."""
_LOSSES = ("input", "host", "launch", "compile", "transfer", "collective")


def give_verdict(
    breakdown: Mapping[str, float],
    metrics: Metrics,
    findings: Sequence[Finding],
    idle_in: str | None = None,
    largest: str | None = None,
    unseen: float = 0.0,
) -> Verdict:
    """Bottleneck: the largest loss when it is large enough, else compute; unknown when
    the trace cannot tell.

    idle_in: what runs in most of the idle time. largest: what computes most, `the line
    train.py:42 takes 30% of the step`. unseen: share of the step that counts as Python
    although nothing of it is recorded. Between steps a silent thread runs Python; where
    no steps were found it may do anything.
    """
    sound = _sound(breakdown, metrics, findings)
    healthy = sound and _enough_steps(metrics)
    guessed = is_guessed(metrics)
    if not any(breakdown.values()):
        return Verdict(
            "unknown", 0.0, False, "The trace holds no steps and no devices."
        )
    proof = metrics.fact("unrecorded_device")
    if (
        proof is not None and breakdown["idle"] == 1
    ):  # where other hosts' devices were recorded, some time is known
        return Verdict(
            "unknown",
            1.0,
            False,
            f"The GPU's work was not recorded, although {proof}: the trace cannot "
            "show where the step goes.",
        )
    fragment = metrics.fact("step_fragment")
    if fragment is not None:
        return Verdict(
            "unknown",
            1.0,
            False,
            f"The steps are fragments: {fragment}. What takes the rest was not "
            "recorded.",
        )
    losses = {name: breakdown[name] for name in _LOSSES}
    if metrics.fact("device_kind") is None:
        losses |= {
            "host": 0.0,
            "launch": 0.0,
        }  # without device work nobody waits for the host
    losses |= _imbalance(losses["collective"], metrics) | _memory(losses, metrics)
    compute, idle = breakdown["compute"], breakdown["idle"]
    if guessed:
        unseen = min(unseen, losses["host"])
        losses["host"], idle = losses["host"] - unseen, idle + unseen
    works = math.fsum(breakdown[name] for name in ("compute", "collective", "transfer"))
    queued = _explained_by_queues(losses["launch"], works, metrics)
    losses["launch"] -= queued
    recordings = _made_by_recording(losses["launch"], metrics)
    losses["launch"] -= recordings
    top = max(losses, key=lambda name: losses[name])
    if guessed and 0 < works < _RUNS and losses["compile"] < _EXPLAINED:
        bottleneck, fraction = "unknown", 1 - works
        summary = (
            f"The devices work for {percent(works)} of this trace, too little to "
            "show what slows them down."
        )
    elif (missing := work_lost(metrics)) and max(
        losses["launch"], losses["host"], idle
    ) >= max(losses[top], works):
        bottleneck, fraction = "unknown", 1 - works
        summary = (
            f"{percent(missing)} of the work that the host launched left nothing in "
            "the trace: what seems to be idle time of the "
            "devices may be work."
        )
    elif recordings >= _WORTH_NAMING and recordings >= max(losses[top], idle, works):
        bottleneck, fraction = "unknown", recordings
        summary = (
            f"{percent(recordings)} of step time is gaps between kernels that the "
            "recording makes: XLA launches its CUDA graphs "
            "kernel by kernel while it is profiled."
        )
    elif (
        losses[top] >= _WORTH_NAMING
        and losses[top] >= idle
        and not (is_few(metrics) and losses[top] < works)
    ):
        bottleneck, fraction = top, losses[top]
        lost = _awaited(metrics) if top == "imbalance" else VERDICTS[top].lost
        summary = f"{percent(fraction)} of step time is {lost}."
    elif idle > max(compute, _WORTH_NAMING):
        bottleneck, fraction = "unknown", idle
        why = (
            f"most of it during {idle_in}"
            if idle_in
            else "and the trace does not show why"
        )
        summary = f"The devices are idle for {percent(idle)} of the time, {why}."
    elif compute > 0:
        bottleneck, fraction = "compute", compute
        summary = (
            f"The devices compute for {percent(compute)} of step time; "
            f"{_beside(queued, losses, metrics, findings)}."
        )
    else:
        bottleneck, fraction = "unknown", 0.0
        summary = "No device computes anything in this trace."
    return Verdict(
        bottleneck,
        fraction,
        healthy and bottleneck == "compute",
        summary
        + _weakness(metrics, sound, findings)
        + (_doubt(findings, largest) if sound and bottleneck == "compute" else ""),
    )


def led_by(
    verdict: Verdict, findings: Sequence[Finding], metrics: Metrics
) -> tuple[Finding, ...]:
    """What explains the verdict's lost time comes first where findings of few or
    guessed steps come by severity. Otherwise one does that may save as much as the
    first: neither's range leaves out what the other is expected to save.
    """
    own = [
        one for one in findings if verdict.bottleneck in one.claims and one.saves > 0
    ]
    if verdict.bottleneck not in _LOSSES or not (
        is_few(metrics) or is_guessed(metrics)
    ):
        own = [one for one in own[:1] if one.bears_verdict and _tied(one, findings[0])]
    return (*own, *(one for one in findings if one not in own))


def _tied(one: Finding, other: Finding) -> bool:
    if one.saving is None or other.saving is None:
        return False
    return all(
        a.low <= b.middle <= a.high for a, b in permutations((one.saving, other.saving))
    )


def _sound(
    breakdown: Mapping[str, float], metrics: Metrics, findings: Sequence[Finding]
) -> bool:
    """Whether nothing in the steps that were seen is worth a change: no finding saves
    much, and compute, the devices' memory included, explains nearly all of the time."""
    rest = max(breakdown[name] for name in (*_LOSSES, "idle"))
    if (
        is_guessed(metrics)
        or breakdown["compute"] < _EXPLAINED
        or rest >= _WORTH_NAMING
        or _tiny(metrics)
    ):
        return False
    worth = (one for one in findings if one.severity.rank >= Severity.LOW.rank)
    return not any(
        one.severity.rank >= Severity.MEDIUM.rank or one.saves >= LARGE for one in worth
    )


def _tiny(metrics: Metrics) -> float:
    """The share of the step in kernels of a GPU shorter than 20 µs, where a step has
    thousands and they are most of it: such a device is busy, and that is no proof that
    it is well used; else 0."""
    if (
        metrics.fact("device_kind") != "gpu"
        or (metrics.value("kernels_per_step") or 0.0) < _THOUSANDS
    ):
        return 0.0
    share = metrics.value("tiny_kernel_fraction") or 0.0
    return share if share >= _MOSTLY else 0.0


def _enough_steps(metrics: Metrics) -> bool:
    """Whether so many steps were seen that a sound run may be called healthy."""
    return (metrics.value("steps_counted") or 0) >= _STEPS_THAT_TELL


def _beside(
    queued: float,
    losses: Mapping[str, float],
    metrics: Metrics,
    findings: Sequence[Finding],
) -> str:
    """What else takes time where the devices are the limit: launch time that is not the
    limit, if there is enough to name, then what a finding says is worth a change."""
    if queued >= _WORTH_NAMING:
        lost = f"{percent(queued)} of {VERDICTS['launch'].lost}"
        return (
            f"most kernels were queued when they began, so the {lost} is not the limit"
        )
    claimed = {
        name
        for one in findings
        if one.severity.rank >= Severity.MEDIUM.rank
        for name in one.claims
    }
    worst = max(
        (name for name in losses if name in claimed),
        key=lambda name: losses[name],
        default=None,
    )
    if worst is not None and losses[worst] >= LARGE:
        return f"{percent(losses[worst])} is {VERDICTS[worst].lost}"
    top = max(losses, key=lambda name: losses[name])
    if losses[top] < _WORTH_NAMING or not is_few(metrics):
        return "no other cost is large"
    return (
        f"so few steps cannot show whether the {percent(losses[top])} of "
        f"{VERDICTS[top].lost} recurs"
    )


def _explained_by_queues(launch: float, works: float, metrics: Metrics) -> float:
    """The launch time that cannot be the limit, because the host launches ahead of
    devices that work for longer.

    Where the host blocks in every step it is not ahead at the step's end, so the way
    back to the next launch stays.
    """
    if (
        metrics.value("queued_kernel_fraction") or 0.0
    ) < _HOST_IS_AHEAD or launch >= works:
        return 0.0
    waits = (metrics.value("waits_per_step") or 0.0) >= 1 and (
        metrics.value("wait_fraction") or 0.0
    ) >= _WAITING
    turnaround = (metrics.value("turnaround_fraction") or 0.0) if waits else 0.0
    return max(launch - turnaround, 0.0)


def _made_by_recording(launch: float, metrics: Metrics) -> float:
    """The launch time that is the recording's: XLA launches one by one what a CUDA
    graph launches at once.
    """
    off = (
        metrics.fact("graphs_while_recording") == "off"
        and metrics.value("kernel_launch_gap_fraction") is None
    )
    return launch if off else 0.0


def _imbalance(collective: float, metrics: Metrics) -> dict[str, float]:
    """Waiting for a straggler is imbalance, and no fault of the collective in which the
    others wait.
    """
    late = [metrics.value("late_host_fraction"), metrics.value("late_device_fraction")]
    if any(late):
        waiting = metrics.value("collective_wait_fraction") or 0.0
        return {
            "imbalance": max(one or 0.0 for one in late),
            "collective": max(collective - waiting, 0.0),
        }
    met = any(one is not None for one in late)
    return {"imbalance": 0.0 if met else metrics.value("device_skew_fraction") or 0.0}


def _memory(losses: Mapping[str, float], metrics: Metrics) -> dict[str, float]:
    """Allocating while no device works is memory's fault, and neither the dispatch's
    nor Python's, as which it shows.
    """
    memory = metrics.value("memory_call_fraction") or 0.0
    from_launch = min(memory, losses["launch"])
    host = max(losses["host"] - (memory - from_launch), 0.0)
    return {"memory": memory, "launch": losses["launch"] - from_launch, "host": host}


def _awaited(metrics: Metrics) -> str:
    """Whom the others wait for."""
    host, device = (
        metrics.value("late_host_fraction") or 0.0,
        metrics.value("late_device_fraction") or 0.0,
    )
    if not (host or device):
        return "devices waiting for the busiest one"
    who, late = (
        ("all hosts", "late_host") if host >= device else ("devices", "late_device")
    )
    return f"{who} waiting for {metrics.fact(late)}, which counts as collective below"


def _weakness(metrics: Metrics, sound: bool, findings: Sequence[Finding]) -> str:
    if is_guessed(metrics):
        return " Where steps begin is a guess, so this is about the whole trace."
    if sound and not _enough_steps(metrics):
        seen = counted(f"{metrics.value('steps_counted') or 0:.0f}", "step", "steps")
        return (
            f" {seen} {'is' if seen.startswith('1 ') else 'are'} too few to tell "
            "whether anything is worth changing: "
            "`tfadvisor run -- python train.py` records more."
        )
    if sound:
        return " No finding is worth acting on."
    if tiny := _tiny(metrics):
        number = f"{metrics.value('kernels_per_step') or 0:,.0f}"
        return (
            f" Kernels shorter than 20 µs are {percent(tiny)} of it, of {number} in "
            "each step: could rounds of a loop run at "
            "once, as one batch?"
        )
    saving = max((one.saves for one in findings), default=0.0)
    return (
        f" One change could save up to {percent(saving)}."
        if percent(saving) != percent(0.0)
        else ""
    )


def _doubt(findings: Sequence[Finding], largest: str | None) -> str:
    """What is computed, and perhaps in vain, though nothing proves how much of it: a
    first finding that promises nothing; else what no trace can judge, and where to look
    first."""
    one = findings[0] if findings else None
    if (
        one is None
        or one.severity is not Severity.LOW
        or one.saving is not None
        or one.category not in _COMPUTED
    ):
        return (
            f" Whether the model needs all that it computes, no trace shows; {largest}."
            if largest
            else ""
        )
    place = (
        f" ({one.locations[0].file}:{one.locations[0].line})" if one.locations else ""
    )
    return f" One thing to check: {one.title[0].lower()}{one.title[1:]}{place}."
