"""How sure inferred steps are: cycles without a rhythm are none."""

from __future__ import annotations

import msgspec
import numpy as np

from tfadvisor.arrays import median
from tfadvisor.timeline.intervals import Int64Array
from tfadvisor.timeline.model import StepSource

LEAST_CYCLES = 3
_LARGEST_SPREAD = 0.35
"""Median deviation from the median period, as a share of it, beyond which cycles are no steps. Recorded training loops
stay below 0.1, unrelated calls of one helper function lie above 0.45."""
_FEW_PERIODS = 5


class Inferred(msgspec.Struct, frozen=True):
    """Where steps begin, when the last one's own work ends, and how sure that is."""

    starts: Int64Array
    ends: Int64Array
    source: StepSource
    confidence: float
    thread: int
    about: str


def inferred(
    starts: Int64Array, ends: Int64Array, source: StepSource, confidence: float, thread: int, about: str
) -> Inferred:
    """Irregular cycles are less sure: the confidence falls with the spread of the periods, to 0 when there is no rhythm."""
    spread = _spread(starts)
    sure = 0.0 if spread > _LARGEST_SPREAD else confidence / (1.0 + spread)
    return Inferred(starts, ends, source, round(sure, 3), thread, about)


def _spread(starts: Int64Array) -> float:
    """How far the periods lie from the median one, as a share of it; or from their neighbours, where they slowly grow.

    starts: of two cycles or more.
    """
    periods = np.diff(starts)
    typical = median(periods)
    if typical <= 0:
        return 1.0
    away = np.abs(periods - typical)
    spread = float(np.mean(away)) if len(periods) < _FEW_PERIODS else median(away)
    if len(periods) >= _FEW_PERIODS:
        spread = min(spread, median(np.abs(np.diff(periods))))
    return spread / typical
