"""The one sentence: what costs most, and whether anything is worth changing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tfadvisor.engine.judging.few_steps import is_few, is_guessed
from tfadvisor.metrics.registry import Metrics
from tfadvisor.metrics.time.lost_time import UNNAMED
from tfadvisor.report.model import Finding, Verdict
from tfadvisor.units import percent
from tfadvisor.vocabulary import VERDICTS, Severity

_WORTH_NAMING = 0.15
"""A class of lost time below this share is not what a step is bound by."""
_RUNS = 0.02
"""Devices that work for less than this share of a trace without steps ran no program that could be judged."""
_LOSSES = ("input", "host", "launch", "compile", "transfer", "collective")


def give_verdict(breakdown: Mapping[str, float], metrics: Metrics, findings: Sequence[Finding]) -> Verdict:
    """Bottleneck: the largest loss when it is large enough, else compute; unknown when the trace cannot tell."""
    healthy = not any(one.severity.rank >= Severity.MEDIUM.rank for one in findings) and not _loses(breakdown, metrics)
    guessed = is_guessed(metrics)
    if not any(breakdown.values()):
        return Verdict("unknown", 0.0, False, "The trace holds nothing that could be told apart into steps or devices.")
    proof = metrics.fact("unrecorded_device")
    if proof is not None:
        return Verdict(
            "unknown",
            1.0,
            False,
            f"The GPU's work was not recorded, although {proof}: nothing can be said of the step.",
        )
    losses = {name: breakdown[name] for name in _LOSSES}
    if metrics.fact("device_kind") is None:
        losses |= {"host": 0.0, "launch": 0.0}  # without device work nobody waits for the host
    losses |= _imbalance(losses["collective"], metrics) | _memory(losses, metrics)
    top = max(losses, key=lambda name: losses[name])
    compute, idle = breakdown["compute"], breakdown["idle"]
    works = sum(breakdown[name] for name in ("compute", "collective", "transfer"))
    if guessed and 0 < works < _RUNS:
        bottleneck, fraction = "unknown", 1 - works
        summary = f"The devices work for {percent(works)} of this trace, too little to say what holds them up."
    elif losses[top] >= _WORTH_NAMING and losses[top] >= idle and not (is_few(metrics) and losses[top] < works):
        bottleneck, fraction = top, losses[top]
        summary = (
            f"{percent(fraction)} of step time is {_awaited(metrics) if top == 'imbalance' else VERDICTS[top].lost}."
        )
    elif idle > max(compute, _WORTH_NAMING):
        bottleneck, fraction = "unknown", idle
        summary = f"The devices are idle for {percent(idle)} of the time, {_meanwhile(metrics)}."
    elif compute > 0:
        bottleneck, fraction = "compute", compute
        summary = f"The devices compute for {percent(compute)} of step time; {_beside(top, losses[top], metrics)}."
    else:
        bottleneck, fraction = "unknown", 0.0
        summary = "No device computes anything in this trace."
    return Verdict(
        bottleneck,
        fraction,
        healthy and bottleneck != "unknown" and not (guessed and bottleneck != "compute"),
        summary + _weakness(metrics, healthy, findings),
    )


def _loses(breakdown: Mapping[str, float], metrics: Metrics) -> bool:
    """Whether any class but compute takes enough of steady steps that nobody may call the run healthy."""
    if metrics.value("steps_counted") is None or is_few(metrics) or is_guessed(metrics):
        return False
    return any(breakdown[name] >= _WORTH_NAMING for name in (*_LOSSES, "idle"))


def _meanwhile(metrics: Metrics) -> str:
    """What the trace says of idle time."""
    activity = metrics.fact("idle_activity")
    if activity is None or activity.startswith(UNNAMED):
        return "and the trace does not say why"
    return f"most of it during {activity}"


def _beside(top: str, loss: float, metrics: Metrics) -> str:
    """What else takes time where the devices are the limit."""
    if loss < _WORTH_NAMING or not is_few(metrics):
        return "no other cost is large"
    return f"whether the {percent(loss)} of {VERDICTS[top].lost} beside it recurs, so few steps cannot tell"


def _imbalance(collective: float, metrics: Metrics) -> dict[str, float]:
    """Waiting for a straggler is imbalance, and no fault of the collective in which the others wait."""
    late = [metrics.value("late_host_fraction"), metrics.value("late_device_fraction")]
    if any(late):
        waiting = metrics.value("collective_wait_fraction") or 0.0
        return {"imbalance": max(one or 0.0 for one in late), "collective": max(collective - waiting, 0.0)}
    met = any(one is not None for one in late)
    return {"imbalance": 0.0 if met else metrics.value("device_skew_fraction") or 0.0}


def _memory(losses: Mapping[str, float], metrics: Metrics) -> dict[str, float]:
    """Allocating while no device works is memory's fault, and neither the dispatch's nor Python's, as which it shows."""
    memory = metrics.value("memory_call_fraction") or 0.0
    from_launch = min(memory, losses["launch"])
    host = max(losses["host"] - (memory - from_launch), 0.0)
    return {"memory": memory, "launch": losses["launch"] - from_launch, "host": host}


def _awaited(metrics: Metrics) -> str:
    """Whom the others wait for."""
    host, device = metrics.value("late_host_fraction") or 0.0, metrics.value("late_device_fraction") or 0.0
    if host >= device and host:
        return f"all hosts waiting for {metrics.fact('late_host')}"
    return f"devices waiting for {metrics.fact('late_device') if device else 'the busiest one'}"


def _weakness(metrics: Metrics, healthy: bool, findings: Sequence[Finding]) -> str:
    if is_guessed(metrics):
        return " No steps could be told apart, so this is about the whole trace."
    if healthy:
        return " Nothing found is worth acting on."
    saving = findings[0].saving.high if findings else 0.0
    return f" Up to {percent(saving)} could be saved by one change." if percent(saving) != percent(0.0) else ""
