"""The step without a fault: its own time goes, and with it a part of the time that it caused elsewhere."""

from __future__ import annotations

import math
from collections.abc import Mapping

import msgspec

from tfadvisor.engine.savings.parts import Parts

LARGE = 0.2
"""Nearly all measured faults take this share of the step or more."""


class FaultTime(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What remains of a step's time when a fault of one class is mended, as parts of what there was, 0..1."""

    left: float
    """Of the time that the fault itself is seen to take."""
    keeps: Mapping[str, float]
    """Of the other time of each part of a step; all of a part that is not named."""
    spread: float
    """How far the logarithm of the true saving's odds lies from the predicted one's at most, in eight of ten programs."""
    pairs: int
    """How many programs this was fitted on."""


def weight(parts: Parts, own: Mapping[str, float]) -> float:
    """How much of what goes with a fault of its class goes with this one: all where it is as large as measured ones were,
    less in proportion where it is smaller."""
    whole = math.fsum(parts.values())
    return min(math.fsum(own.values()) / (LARGE * whole), 1.0) if whole else 0.0


def that_could_go(parts: Parts, own: Mapping[str, float], fault: FaultTime) -> float:
    """The time of a fault, and of all parts that it takes any time from."""
    return math.fsum(share if fault.keeps.get(name, 1.0) < 1 else own.get(name, 0.0) for name, share in parts.items())


def without(parts: Parts, own: Mapping[str, float], fault: FaultTime, reach: float = 1.0) -> dict[str, float]:
    """The parts of the step when the fault is gone. own: what it takes of each part. reach: share of the step's work that
    it is about. No part ever grows."""
    goes = weight(parts, own) * reach
    return {
        name: max(share - own.get(name, 0.0), 0.0) * (1 - goes * (1 - fault.keeps.get(name, 1.0)))
        + min(own.get(name, 0.0), share) * fault.left
        for name, share in parts.items()
    }
