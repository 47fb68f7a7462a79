"""How true promises are: coverage, width, bias, errors, order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec
import numpy as np
from fit import spearman, told
from pairs import Pair

from tfadvisor.advice.savings import Calibration, promises


class Judged(msgspec.Struct, frozen=True):
    """A program's promise, as its rule had it and as it is now, beside what was true.
    Shares of the step.
    """

    pair: Pair
    true: float
    before: tuple[float, float]
    now: tuple[float, float]


class Counts(msgspec.Struct, frozen=True):
    """Of several promises. bias, errors: of the middle of the range."""

    programs: int
    inside: float
    below: float
    above: float
    width: float
    bias: float
    median_error: float
    p90_error: float
    spearman: float


def judged(pair: Pair, known: Calibration) -> Judged | None:
    """The finding that names the fault, else the first; of several planted faults all
    findings together. None where none promises anything or the truth is not known."""
    said, true = told(pair), pair.true
    if said is None or true is None or true <= 0 or not pair.parts:
        return None
    now = promises(pair.parts, pair.tracer, [one.claim for one in pair.said], known)
    if pair.faults > 1:
        before = [one.claim.range for one in pair.said]
        after = [(one.low, one.high) for one in now]
        return Judged(pair, true, _together(before), _together(after))
    place = pair.said.index(said)
    if place:  # what it saves by itself, not on top of the findings before it
        now = promises(pair.parts, pair.tracer, [said.claim], known)
    return Judged(pair, true, said.claim.range, (now[0].low, now[0].high))


def _together(ranges: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """As a plan has them: middles add up, and errors cancel in part."""
    middle = sum((low + high) / 2 for low, high in ranges)
    half = float(np.sqrt(sum((high - low) ** 2 / 4 for low, high in ranges)))
    return max(middle - half, 0.0), min(middle + half, 1.0)


def counts(found: Sequence[Judged], *, before: bool = False) -> Counts:
    """Of at least one."""
    low, high = np.array([one.before if before else one.now for one in found]).T
    true = np.array([one.true for one in found])
    middle = (low + high) / 2
    error = np.abs(middle - true)
    return Counts(
        len(found),
        float(np.mean((low <= true) & (true <= high))),
        float(np.mean(true < low)),
        float(np.mean(true > high)),
        float(np.mean(high - low)),
        float(np.mean(middle - true)),
        float(np.median(error)),
        float(np.quantile(error, 0.9)),
        spearman(middle.tolist(), true.tolist()),
    )


def by_class(found: Sequence[Judged]) -> Mapping[str, list[Judged]]:
    """By the planted class."""
    classes: dict[str, list[Judged]] = {}
    for one in found:
        classes.setdefault(one.pair.planted, []).append(one)
    return dict(sorted(classes.items()))
