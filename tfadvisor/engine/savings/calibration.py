"""What savings came to on programs that were measured with a fault and without: the numbers of `rules/savings.json`."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cache

import msgspec

from tfadvisor.engine.loading.catalogue import rules_folder
from tfadvisor.engine.savings.replay import FaultTime

FILE = "savings.json"


class Calibration(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Written by `benchmarks/savings/run.py`."""

    devices: tuple[str, ...]
    """Kinds of devices that it holds for."""
    class_of: Mapping[str, str]
    """A rule's id or category -> its class of fault, where that is not the category."""
    faults: Mapping[str, FaultTime]
    """By class of fault."""

    def fault_of(self, rule: str, category: str) -> FaultTime | None:
        """Of a rule; None where nothing was measured."""
        return self.faults.get(self.class_of.get(rule, self.class_of.get(category, category)))


@cache
def calibration() -> Calibration:
    """The built-in one. Raises msgspec.ValidationError for a file that is not what the benchmark writes."""
    return msgspec.json.decode((rules_folder() / FILE).read_bytes(), type=Calibration)


def around(saving: float, spread: float) -> tuple[float, float]:
    """The range of a saving, as far to both sides as its odds are unsure on average: so its middle is what is expected.

    Of what is expected to remain of the step, a fifth remains for sure.
    """
    half = (moved(saving, spread) - moved(saving, -spread)) / 2
    return max(saving - half, 0.0), min(saving + half, 1 - (1 - saving) / 5)


def moved(saving: float, by: float) -> float:
    """A saving whose odds are e to this power as large: a range in odds never leaves 0..1, and is narrow near both ends."""
    if not 0 < saving < 1:
        return min(max(saving, 0.0), 1.0)
    return 1 / (1 + (1 - saving) / saving * math.exp(-by))
