"""What a run is bound by: one cause out of a closed list, apart from its words."""

from __future__ import annotations

import math
from collections.abc import Mapping
from enum import Enum

import msgspec

from tfadvisor.advice.judging.judged import (
    TRACER,
    is_few,
    is_guessed,
    own_part,
    work_lost,
)
from tfadvisor.metrics import Metrics

WORTH_NAMING = 0.15
"""A class of lost time below this share is not what a step is bound by."""
LOSSES = ("input", "host", "launch", "compile", "transfer", "collective")
"""Classes of time in which the devices do not compute, and that have a name."""
_WORKS = ("compute", "collective", "transfer")
_ON_DEVICES = ("collective", "transfer")
"""Losses that the devices' own events show. The program runs them in every step, so few
steps show them as well as many, unlike what the host does once.
"""
OF_HOST = ("input", "host", "launch", "compile")
"""Losses to what may happen once."""
BESIDE_STEPS = ("input", "host", "launch")
"""Losses that few steps may hold beside what the others do."""
_BY_CHANCE = 2.0
"""Times its share of the run that a short window may hold of what is seldom."""
_RUNS = 0.02
"""Devices that work for less than this share of a trace without steps ran no program
that could be judged, unless compiling explains nearly all of it.
"""
_HOST_IS_AHEAD = 0.5
"""From this share of the kernels' time in kernels that queued, the devices are what is
waited for.
"""
_WAITING = 0.05
"""At this share of step time a host that blocks in every step is not ahead at the
step's end, as in the rules.
"""
EXPLAINED = 0.8
"""Compute below this share of the step leaves too much to other causes to call the run
healthy.
"""


class Kind(Enum):
    """The closed list."""

    NOTHING_RECORDED = "nothing recorded"
    DEVICE_NOT_RECORDED = "device not recorded"
    FRAGMENTS = "fragments of steps"
    TOO_LITTLE_WORK = "too little work"
    WORK_LOST = "work lost"
    GAPS_OF_RECORDING = "gaps that recording makes"
    LOSS = "loss"
    IDLE = "idle"
    COMPUTE = "compute"
    NO_COMPUTE = "no compute"


class Cause(msgspec.Struct, frozen=True):
    """What takes most of a run's time, or why that is not known."""

    kind: Kind
    bottleneck: str
    """As in the verdict."""
    fraction: float
    """Of step time, 0..1."""
    losses: Mapping[str, float] = {}
    """Lost time by what it is lost to, less what is not the limit."""
    idle: float = 0.0
    """Time in which nothing is known to happen."""
    silent: float = 0.0
    """What of `idle` counts as Python in the breakdown, though nothing of it is
    recorded.
    """
    queued: float = 0.0
    """Launching that is not the limit, since kernels queued."""
    recorded: float = 0.0
    """What recording takes of what the host drives, where both are much."""

    @property
    def largest_loss(self) -> str:
        """Its name; only where losses are known."""
        return max(self.losses, key=lambda name: self.losses[name])


def cause_of(
    breakdown: Mapping[str, float],
    metrics: Metrics,
    unseen: float = 0.0,
    outside: float = 0.0,
) -> Cause:
    """The largest loss when it is large enough, else compute; unknown when the trace
    cannot tell.

    unseen: share of the step that counts as Python although nothing of it is recorded.
    Between steps a silent thread runs Python; where no steps were found it may do
    anything. outside: share of the whole run that is no step.
    """
    nothing_to_see = _nothing_to_see(breakdown, metrics)
    if nothing_to_see is not None:
        return nothing_to_see
    time = _Time.of(breakdown, metrics, unseen, outside)
    return time.unclear(metrics) or time.bound_by(metrics)


def _nothing_to_see(breakdown: Mapping[str, float], metrics: Metrics) -> Cause | None:
    """Why the trace shows no whole step of any device; None where it does."""
    if not any(breakdown.values()):
        return Cause(Kind.NOTHING_RECORDED, "unknown", 0.0)
    is_blind = metrics.fact("unrecorded_device") is not None
    if is_blind and breakdown["idle"] == 1:  # else other hosts' devices were recorded
        return Cause(Kind.DEVICE_NOT_RECORDED, "unknown", 1.0)
    if metrics.fact("step_fragment") is not None:
        return Cause(Kind.FRAGMENTS, "unknown", 1.0)
    return None


class _Time(msgspec.Struct, frozen=True):
    """Where the time goes, with each loss at what is truly waited for."""

    compute: float
    works: float
    """The devices compute, exchange or copy."""
    idle: float
    silent: float
    losses: Mapping[str, float]
    queued: float
    recordings: float
    """Gaps between kernels that recording makes."""
    tracer: float
    """What recording takes of the driving thread's part, where that is much."""

    @classmethod
    def of(
        cls,
        breakdown: Mapping[str, float],
        metrics: Metrics,
        unseen: float,
        outside: float,
    ) -> _Time:
        losses = {name: breakdown[name] for name in LOSSES}
        losses |= dict.fromkeys(_of_the_run(losses, metrics, outside), 0.0)
        silent = 0.0
        if metrics.fact("device_kind") is None:
            losses["host"] = losses["launch"] = 0.0  # nobody waits for the host
        losses |= _imbalance(losses["collective"], metrics)
        losses |= _memory(losses, metrics)
        if is_guessed(metrics):
            silent = min(unseen, losses["host"])
            losses["host"] -= silent
        works = math.fsum(breakdown[name] for name in _WORKS)
        queued = _explained_by_queues(losses["launch"], works, metrics)
        losses["launch"] -= queued
        recordings = _made_by_recording(losses["launch"], metrics)
        losses["launch"] -= recordings
        return cls(
            compute=breakdown["compute"],
            works=works,
            idle=breakdown["idle"] + silent,
            silent=silent,
            losses=losses,
            queued=queued,
            recordings=recordings,
            tracer=_recording(metrics),
        )

    def _as(self, kind: Kind, bottleneck: str, fraction: float) -> Cause:
        return Cause(
            kind,
            bottleneck,
            fraction,
            losses=self.losses,
            idle=self.idle,
            silent=self.silent,
            queued=self.queued,
            recorded=self.tracer if self._of_host >= WORTH_NAMING else 0.0,
        )

    @property
    def _top(self) -> str:
        return max(self.losses, key=lambda name: self.losses[name])

    @property
    def _of_host(self) -> float:
        """The largest of what the host's thread drives."""
        return max(self.losses[name] for name in OF_HOST)

    def _without_recording(self, name: str) -> float:
        """The share that a loss has of the step without what recording takes: that goes
        from what the driving thread does, of each part alike.
        """
        driven = math.fsum(self.losses[loss] for loss in OF_HOST)
        if not self.tracer or name not in OF_HOST or not driven:
            return self.losses[name]
        kept = own_part(self.tracer, driven)
        return self.losses[name] * kept / (1 - driven * (1 - kept))

    def unclear(self, metrics: Metrics) -> Cause | None:
        """Why this trace cannot tell; None where it can."""
        largest = self.losses[self._top]
        explained = self.losses["compile"] >= EXPLAINED
        if is_guessed(metrics) and 0 < self.works < _RUNS and not explained:
            return self._as(Kind.TOO_LITTLE_WORK, "unknown", 1 - self.works)

        waits = max(self.losses["launch"], self.losses["host"], self.idle)
        if work_lost(metrics) and waits >= max(largest, self.works):
            return self._as(Kind.WORK_LOST, "unknown", 1 - self.works)

        others = max(largest, self.idle, self.works)
        if self.recordings >= WORTH_NAMING and self.recordings >= others:
            return self._as(Kind.GAPS_OF_RECORDING, "unknown", self.recordings)
        return None

    def bound_by(self, metrics: Metrics) -> Cause:
        """What takes most of the time."""
        top = self._top
        if is_few(metrics) and self.losses[top] < self.works:
            top = max(_ON_DEVICES, key=lambda name: self.losses[name])
        largest = self.losses[top]
        own = self._without_recording(top)
        if own >= WORTH_NAMING and largest >= self.idle:
            return self._as(Kind.LOSS, top, largest)
        if self.idle > max(self.compute, WORTH_NAMING):
            return self._as(Kind.IDLE, "unknown", self.idle)
        if self.compute > 0:
            return self._as(Kind.COMPUTE, "compute", self.compute)
        return self._as(Kind.NO_COMPUTE, "unknown", 0.0)


def _of_the_run(
    losses: Mapping[str, float], metrics: Metrics, outside: float
) -> list[str]:
    """Losses that lie in few of the recorded steps, where the run has so much time that
    is no step: it says what that is, and a window holds more or less of it by chance.
    """
    return [
        name
        for name in BESIDE_STEPS
        if is_seldom(name, metrics) and losses[name] <= _BY_CHANCE * outside
    ]


def is_seldom(name: str, metrics: Metrics) -> bool:
    """Whether nearly all of a class lies in few of the recorded steps."""
    fact = f"{name}_in_few_steps"
    return metrics.has_fact(fact) and metrics.fact(fact) is not None


def _explained_by_queues(launch: float, works: float, metrics: Metrics) -> float:
    """The launch time that cannot be the limit, because the host launches ahead of
    devices that work for longer.

    Where the host blocks in every step it is not ahead at the step's end, so the way
    back to the next launch stays.
    """
    queued = metrics.value("queued_kernel_fraction") or 0.0
    if queued < _HOST_IS_AHEAD or launch >= works:
        return 0.0
    waits_per_step = metrics.value("waits_per_step") or 0.0
    waiting = metrics.value("wait_fraction") or 0.0
    if waits_per_step >= 1 and waiting >= _WAITING:
        launch -= metrics.value("turnaround_fraction") or 0.0
    return max(launch, 0.0)


def _made_by_recording(launch: float, metrics: Metrics) -> float:
    """The launch time that is the recording's: XLA launches one by one what a CUDA
    graph launches at once.
    """
    is_off = metrics.fact("graphs_while_recording") == "off"
    is_gap = metrics.value("kernel_launch_gap_fraction") is None
    return launch if is_off and is_gap else 0.0


def _recording(metrics: Metrics) -> float:
    """As tracer_fraction, on accelerators, where it moves what is judged."""
    tracer = metrics.value("tracer_fraction") or 0.0
    is_cpu = metrics.fact("device_kind") in (None, "cpu")
    return 0.0 if is_cpu or tracer < TRACER else tracer


def _imbalance(collective: float, metrics: Metrics) -> dict[str, float]:
    """Waiting for a straggler is imbalance, and no fault of the collective in which the
    others wait.
    """
    host = metrics.value("late_host_fraction")
    device = metrics.value("late_device_fraction")
    if host or device:
        waiting = metrics.value("collective_wait_fraction") or 0.0
        late = max(host or 0.0, device or 0.0)
        return {"imbalance": late, "collective": max(collective - waiting, 0.0)}
    if host is not None or device is not None:  # they met, and none was late
        return {"imbalance": 0.0}
    return {"imbalance": metrics.value("device_skew_fraction") or 0.0}


def _memory(losses: Mapping[str, float], metrics: Metrics) -> dict[str, float]:
    """Allocating while no device works is memory's fault, and neither the dispatch's
    nor Python's, as which it shows.
    """
    memory = metrics.value("memory_call_fraction") or 0.0
    from_launch = min(memory, losses["launch"])
    host = max(losses["host"] - (memory - from_launch), 0.0)
    launch = losses["launch"] - from_launch
    return {"memory": memory, "launch": launch, "host": host}
