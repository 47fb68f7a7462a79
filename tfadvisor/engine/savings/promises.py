"""What each of several faults saves when it is mended after those before it, with the range that measured programs give it."""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec

from tfadvisor.engine.savings.calibration import Calibration, around
from tfadvisor.engine.savings.parts import Parts, taken, unrecorded
from tfadvisor.engine.savings.replay import FaultTime, that_could_go, without


class Claim(msgspec.Struct, frozen=True):
    """What is known of a fault before the replay."""

    rule: str
    """Its rule's id."""
    category: str
    """Its rule's category."""
    share: float
    """Of the recorded step, that it is seen to take and that can go at most, as its rule has it."""
    classes: tuple[str, ...]
    """Of time, in which it is, in the order in which it draws on them."""
    range: tuple[float, float]
    """Low and high as the rule has them."""
    reach: float = 1.0
    """Share of the step's work that it is about: of the rest nothing goes with it."""
    is_fault: bool = True
    """Whether its rule names a fault. What names none says nothing of what goes with it."""


class Promise(msgspec.Struct, frozen=True):
    """A saving. low, high: as shares of the step without the profiler."""

    low: float
    high: float
    pairs: int | None
    """How many programs stand behind it, None where it is the rule's own."""


def promises(recorded: Parts, tracer: float, claims: Sequence[Claim], known: Calibration) -> list[Promise]:
    """One for each claim, in their order. Together they promise no more than the step.

    recorded: the step in parts, adding up to 1. tracer: share of it that recording takes.
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
        own = {name: min(share * step[name] / recorded[name], remains[name]) for name, share in seen.items() if share}
        then = without(remains, own, fault, claim.reach)
        most = min(most, that_could_go(remains, own, fault))
        found.append(_promise(math.fsum(remains.values()), math.fsum(then.values()), fault, most))
        remains = then
    return found


def _promise(now: float, then: float, fault: FaultTime, most: float) -> Promise:
    """Between two lengths of the step, as shares of the recorded one. most: what it can be at most."""
    saved = 1 - then / now if now else 0.0
    low, high = around(saved, fault.spread)
    high = min(now * high, most)
    return Promise(min(now * low, high), high, fault.pairs)
