"""What findings save: the step replayed without the fault, calibrated on measured
pairs, and the plan of all.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import cache

import msgspec

from tfadvisor.advice.findings import Finding, Plan, PlanStep, Saving
from tfadvisor.advice.judging.judged import TRACER, Judged, own_part
from tfadvisor.advice.loading.catalogue import rules_folder
from tfadvisor.metrics import Metrics
from tfadvisor.vocabulary import TimeClass

FILE = "savings.json"


class Calibration(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Written by `benchmarks/savings/run.py`."""

    devices: tuple[str, ...]
    """Kinds of devices whose steps are replayed."""
    class_of: Mapping[str, str]
    """A rule's id or category -> its class of fault, where that is not the category."""
    faults: Mapping[str, FaultTime]
    """By class of fault."""
    held: Mapping[str, Held] = {}
    """By kind of device, where too few programs were measured for a replay."""

    def class_of_fault(self, rule: str, category: str) -> str:
        """Of a rule."""
        return self.class_of.get(rule, self.class_of.get(category, category))

    def fault_of(self, rule: str, category: str) -> FaultTime | None:
        """Of a rule; None where nothing was measured."""
        return self.faults.get(self.class_of_fault(rule, category))


class Held(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What programs with a fault and without it saved on one kind of device."""

    where: str
    """As `On an H200`."""
    pairs: Mapping[str, int]
    """How many saved as much as their finding says at most, or more, by class of
    fault.
    """


@cache
def calibration() -> Calibration:
    """The built-in one. Raises msgspec.ValidationError for a file that is not what the
    benchmark writes.
    """
    return msgspec.json.decode((rules_folder() / FILE).read_bytes(), type=Calibration)


def around(saving: float, spread: float) -> tuple[float, float]:
    """The range of a saving, as far to both sides as its odds are unsure on average: so
    its middle is what is expected.

    Of what is expected to remain of the step, a fifth remains for sure.
    """
    half = (moved(saving, spread) - moved(saving, -spread)) / 2
    return max(saving - half, 0.0), min(saving + half, 1 - (1 - saving) / 5)


def moved(saving: float, by: float) -> float:
    """A saving whose odds are e to this power as large: a range in odds never leaves
    0..1, and is narrow near both ends.
    """
    if not 0 < saving < 1:
        return min(max(saving, 0.0), 1.0)
    return 1 / (1 + (1 - saving) / saving * math.exp(-by))


# What a replay of the step without each fault gives for its saving, each on top of
# those before it.

MEASURED = (
    "Other time of the step goes with it, as in {pairs} measured on CPUs with such a "
    "fault and without."
)
HELD = "{where}, {pairs} with such a fault saved about as much, or more."
FEWEST_PAIRS = 2
"""Fewer programs that were measured with such a fault and without bear no range out."""
Order = Callable[[Sequence[Judged], Callable[[Judged], float]], list[Judged]]
"""Puts findings in order by a measure of each."""


class Foreseen(msgspec.Struct, frozen=True):
    """A finding with what it saves; None where nothing bears a saving out."""

    judged: Judged
    saving: Saving | None


def foresee(
    judged: Sequence[Judged], metrics: Metrics, known: Calibration, order: Order
) -> list[Foreseen]:
    """Those that fired, in the order of what each would save without the others.

    On CPUs the step is replayed without each fault, on top of those before it. On other
    devices a rule's own range stands where measured programs bear it out: it never
    exceeds what the finding takes. Elsewhere there is no range.
    """
    parts = parts_of(metrics)
    device = metrics.fact("device_kind")
    if device not in known.devices or parts is None:
        held = known.held.get(device or "")
        ordered = order(judged, lambda candidate: candidate.own.high)
        return [
            Foreseen(candidate, _own_range(candidate, held, known))
            for candidate in ordered
        ]

    tracer = metrics.value("tracer_fraction") or 0.0

    def alone(candidate: Judged) -> float:
        if not may_be_foreseen(candidate):
            return candidate.own.high
        promise = promises(parts, tracer, [claim_of(candidate, metrics)], known)[0]
        return promise.high * candidate.correction

    ordered = order(judged, alone)
    sure = [candidate for candidate in ordered if may_be_foreseen(candidate)]
    claims = [claim_of(candidate, metrics) for candidate in sure]
    promised = promises(parts, tracer, claims, known)
    saving = {
        candidate.rule.id: _promised(candidate, promise)
        for candidate, promise in zip(sure, promised, strict=True)
    }
    return [Foreseen(candidate, saving.get(candidate.rule.id)) for candidate in ordered]


def may_be_foreseen(candidate: Judged) -> bool:
    """Whether its size is certain, and a measurement may stand behind it."""
    if candidate.rule.proof != "shown":
        return False
    return candidate.is_sure and candidate.rule.saving is not None


def _own_range(judged: Judged, held: Held | None, known: Calibration) -> Saving | None:
    """The rule's own, no more than the finding takes, where programs bear it out."""
    if held is None or not may_be_foreseen(judged):
        return None
    pairs = held.pairs.get(
        known.class_of_fault(judged.rule.id, judged.rule.category), 0
    )
    if pairs < FEWEST_PAIRS:
        return None
    most = (
        judged.own.high if judged.takes is None else min(judged.own.high, judged.takes)
    )
    words = HELD.format(where=held.where, pairs=f"{pairs} programs")
    return Saving(min(judged.own.low, most), most, f"{judged.own.basis} {words}")


def claim_of(candidate: Judged, metrics: Metrics) -> Claim:
    """What is known of a fault before the replay."""
    share, reach = 0.0, None
    saving = candidate.rule.saving
    if saving is not None:
        share = (metrics.value(saving.metric) or 0.0) * saving.high
        whole = metrics.value(saving.whole) if saving.whole else None
        share = max(share, whole or 0.0)
        reach = metrics.value(saving.reach) if saving.reach else None
    return Claim(
        rule=candidate.rule.id,
        category=candidate.rule.category,
        share=min(max(share, 0.0), 1.0),
        classes=candidate.claims,
        range=(candidate.own.low, candidate.own.high),
        reach=1.0 if reach is None else min(max(reach, 0.0), 1.0),
        is_fault=saving is not None,
    )


def _promised(judged: Judged, promise: Promise) -> Saving | None:
    """A saving with the programs that bear it out; None where none do. A minor finding
    promises no more than it takes: what goes with a large fault is not measured for
    small ones. Where large ones would save more than that for sure, nothing says how
    much of it goes.
    """
    if promise.pairs is None or promise.pairs < FEWEST_PAIRS:
        return None
    measured = MEASURED.format(pairs=f"{promise.pairs} programs")
    basis = f"{judged.own.basis} {measured}"
    low, high = promise.low * judged.correction, promise.high * judged.correction
    most = judged.takes
    if most is not None and judged.own.high < SMALL and high > most:
        low = low if low < most else 0.0
        high = most
    return Saving(low, high, basis)


# Where the step's time is, as finely as faults take time away with them: what is left
# of each part is what a replay asks.


KERNELS, STARTS, STRETCH = "kernels", "starts", "stretch"
_OF_COMPUTE = (KERNELS, STARTS, STRETCH)
"""The class `compute` in three: what undisturbed ops need, what lies in the first 10 µs
of each, and what other work on the same cores adds."""
PARTS = (
    *_OF_COMPUTE,
    *(
        time_class.label
        for time_class in TimeClass
        if time_class is not TimeClass.COMPUTE
    ),
)
"""All parts of a step."""

_DRIVEN = (
    STARTS,
    *(
        time_class.label
        for time_class in (
            TimeClass.COMPILE,
            TimeClass.INPUT,
            TimeClass.LAUNCH,
            TimeClass.HOST,
        )
    ),
)
"""Parts in which the thread that drives the step works."""
Parts = Mapping[str, float]
"""Shares of the recorded step by part. They add up to 1 before anything is mended."""


def parts_of(metrics: Metrics) -> Parts | None:
    """None where the step's time is not known by class."""
    compute = metrics.value(TimeClass.COMPUTE.metric)
    if compute is None:
        return None
    known = {
        time_class.label: metrics.value(time_class.metric) or 0.0
        for time_class in TimeClass
        if time_class is not TimeClass.COMPUTE
    }
    calm = metrics.value("calm_op_share")
    starts = metrics.value("op_start_share") or 0.0
    stretch = 0.0 if calm is None else min(max(1 - calm, 0.0), 1 - starts)
    return {
        KERNELS: compute * (1 - starts - stretch),
        STARTS: compute * starts,
        STRETCH: compute * stretch,
        **known,
    }


def unrecorded(parts: Parts, tracer: float) -> Parts:
    """The step without the time that recording it takes, where that is `TRACER` of it
    or more; it adds up to 1 again.

    tracer: share of the step. It goes from what the driving thread does, of each part
    alike and never all of it.
    """
    driven = math.fsum(parts[name] for name in _DRIVEN)
    if tracer < TRACER or not driven:
        return parts
    kept = own_part(tracer, driven)
    rest = {
        name: share * kept if name in _DRIVEN else share
        for name, share in parts.items()
    }
    whole = math.fsum(rest.values())
    return {name: share / whole for name, share in rest.items()}


def taken(parts: Parts, share: float, classes: Sequence[str]) -> dict[str, float]:
    """What a finding that costs this share of the step takes of each part: of its
    classes in their order, of the parts of a class alike. Less where they hold less."""
    found: dict[str, float] = {}
    for name in classes:
        held = {
            label: parts[label]
            for label in (_OF_COMPUTE if name == TimeClass.COMPUTE.label else (name,))
        }
        whole = math.fsum(held.values())
        part = min(share - math.fsum(found.values()), whole)
        if part > 0:
            found |= {label: part * value / whole for label, value in held.items()}
    return found


# The findings together: in which order to mend them, what remains after each, and where
# to stop.

WORTH = 0.03
"""A change that saves less of the step is not noticed: below it XProf does not warn
either.
"""


def plan_of(findings: Sequence[Finding]) -> Plan | None:
    """findings: in their order, each with what it saves on top of those before it. None
    of fewer than two that save any.

    What several changes save together is known more closely than the sum of their
    ranges says: errors cancel in part.
    """
    saving = [
        (finding, finding.saving)
        for finding in findings
        if finding.saving is not None and finding.saves and finding.bears_verdict
    ]
    if len(saving) < 2:
        return None
    last = max(
        (place for place, (_, gain) in enumerate(saving) if gain.middle >= WORTH),
        default=0,
    )
    changes, saved, squares = [], 0.0, 0.0
    for place, (finding, gain) in enumerate(saving):
        saved += gain.middle
        squares += (gain.high - gain.low) ** 2 / 4
        low, high = (
            max(saved - math.sqrt(squares), 0.0),
            min(saved + math.sqrt(squares), 1.0),
        )
        changes.append(
            PlanStep(
                finding.rule_id,
                gain.low,
                gain.high,
                1 - high,
                1 - low,
                worth=place <= last,
            )
        )
    worth = changes[last]
    return Plan(tuple(changes), 1 - worth.remains_high, 1 - worth.remains_low)


# What each of several faults saves when it is mended after those before it, with the
# range that measured programs give it.


class Claim(msgspec.Struct, frozen=True):
    """What is known of a fault before the replay."""

    rule: str
    """Its rule's id."""
    category: str
    """Its rule's category."""
    share: float
    """Of the recorded step, that it is seen to take and that can go at most, as its
    rule has it.
    """
    classes: tuple[str, ...]
    """Of time, in which it is, in the order in which it draws on them."""
    range: tuple[float, float]
    """Low and high as the rule has them."""
    reach: float = 1.0
    """Share of the step's work that it is about: of the rest nothing goes with it."""
    is_fault: bool = True
    """Whether its rule names a fault. What names none says nothing of what goes with
    it.
    """


class Promise(msgspec.Struct, frozen=True):
    """A saving. low, high: as shares of the step without the profiler."""

    low: float
    high: float
    pairs: int | None
    """How many programs stand behind it, None where it is the rule's own."""


def promises(
    recorded: Parts,
    tracer: float,
    claims: Sequence[Claim],
    known: Calibration,
) -> list[Promise]:
    """One for each claim, in their order. Together they promise no more than the step.

    recorded: the step in parts, adding up to 1. tracer: share of it that recording
    takes.
    """
    step = unrecorded(recorded, tracer)
    found: list[Promise] = []
    remains = step
    for claim in claims:
        most = max(1 - math.fsum(before.high for before in found), 0.0)
        fault = known.fault_of(claim.rule, claim.category) if claim.is_fault else None
        if fault is None:
            high = min(claim.range[1], most)
            found.append(Promise(min(claim.range[0], high), high, None))
            continue
        seen = taken(recorded, claim.share, claim.classes)
        own = {
            name: min(share * step[name] / recorded[name], remains[name])
            for name, share in seen.items()
            if share
        }
        then = without(remains, own, fault, claim.reach)
        most = min(most, that_could_go(remains, own, fault))
        found.append(
            _promise(math.fsum(remains.values()), math.fsum(then.values()), fault, most)
        )
        remains = then
    return found


def _promise(now: float, then: float, fault: FaultTime, most: float) -> Promise:
    """Between two lengths of the step, as shares of the recorded one. most: what it can
    be at most. Where measured programs would make it more than that for sure, they say
    nothing of this one but that."""
    saved = 1 - then / now if now else 0.0
    low, high = around(saved, fault.spread)
    return Promise(
        now * low if now * low < most else 0.0, min(now * high, most), fault.pairs
    )


# The step without a fault: its own time goes, and with it a part of the time that it
# caused elsewhere.

SMALL = 0.1
"""A fault that could save less is minor: measured ones are larger."""
LARGE = 0.2
"""Nearly all measured faults take this share of the step or more."""


class FaultTime(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What remains of a step's time when a fault of one class is mended, as parts of
    what there was, 0..1.
    """

    left: float
    """Of the time that the fault itself is seen to take."""
    keeps: Mapping[str, float]
    """Of the other time of each part of a step; all of a part that is not named."""
    spread: float
    """How far the logarithm of the true saving's odds lies from the predicted one's at
    most, in eight of ten programs.
    """
    pairs: int
    """How many programs this was fitted on."""


def weight(parts: Parts, own: Mapping[str, float]) -> float:
    """How much of what goes with a fault of its class goes with this one: all where it
    is as large as measured ones were, less in proportion where it is smaller."""
    whole = math.fsum(parts.values())
    return min(math.fsum(own.values()) / (LARGE * whole), 1.0) if whole else 0.0


def that_could_go(parts: Parts, own: Mapping[str, float], fault: FaultTime) -> float:
    """The time of a fault, and of all parts that it takes any time from."""
    return math.fsum(
        share if fault.keeps.get(name, 1.0) < 1 else own.get(name, 0.0)
        for name, share in parts.items()
    )


def without(
    parts: Parts, own: Mapping[str, float], fault: FaultTime, reach: float = 1.0
) -> dict[str, float]:
    """The parts of the step when the fault is gone. own: what it takes of each part.
    reach: share of the step's work that it is about. No part ever grows."""
    goes = weight(parts, own) * reach
    return {
        name: max(share - own.get(name, 0.0), 0.0)
        * (1 - goes * (1 - fault.keeps.get(name, 1.0)))
        + min(own.get(name, 0.0), share) * fault.left
        for name, share in parts.items()
    }
