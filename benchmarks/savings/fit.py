"""Fits what remains of a step when a fault of one class goes, on measured pairs, and
how far such promises are off.

For each class of fault: which part remains of the time that the fault itself is seen to
take, and of each other part of the step. Errors count in logarithms of what remains,
large ones less; few pairs change little of what `PRIOR` says. `PRIOR` is physics,
written before any pair was fitted: a compiled step needs one dispatch, undisturbed ops
are as fast as their fast executions.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from pairs import Pair, Said

from tfadvisor.advice.savings import (
    PARTS,
    Calibration,
    Claim,
    FaultTime,
    Parts,
    taken,
    unrecorded,
    weight,
    without,
)

DEVICES = ("cpu",)
CLASS_OF = {
    "values-converted-one-by-one": "one by one",
    "argument-trees-flattened": "one by one",
    "independent-rounds-in-turn": "in turn",
    **dict.fromkeys(("kernel", "precision", "placement"), "compute"),
    "memory": "transfer",
    "allocation-in-steps": "allocation",  # of which no pair was measured
    **dict.fromkeys(
        (
            "input-not-prefetched",
            "input-loader-in-step",
            "input-made-in-loop",
            "argument-made-in-loop",
            "input-shuffle-refill",
        ),
        "ahead",
    ),
    **dict.fromkeys(
        (
            "many-tiny-ops",
            "loop-of-tiny-ops",
            "recurrent-layer-ops",
            "launch-gaps-between-kernels",
            "unrolled-loop",
            "loop-run-by-host",
            "graphs-updated-each-step",
            "scatter-loop",
        ),
        "tiny ops",
    ),
}
"""A rule or category -> the class of fault that it is fitted with. Work that is done
ahead still needs cores; ops that one op replaces take their kernels with them, unlike
those that a compiled step runs as well."""
Remains = tuple[float, Mapping[str, float]]
"""(left of the fault's own time, kept of each other part)."""
_ALL = dict.fromkeys(PARTS, 1.0)
PRIOR: Mapping[str, Remains] = {
    "input": (
        0.1,
        {**_ALL, "stretch": 0.5, "input": 0.8, "launch": 0.9, "host": 0.9, "idle": 0.7},
    ),
    "ahead": (0.3, {**_ALL, "stretch": 0.9, "input": 0.9}),
    "tiny ops": (
        0.05,
        {
            **_ALL,
            "kernels": 0.5,
            "starts": 0.05,
            "stretch": 0.3,
            "input": 0.9,
            "launch": 0.1,
            "compile": 0.3,
            "host": 0.3,
            "idle": 0.3,
        },
    ),
    "host": (
        0.05,
        {
            **_ALL,
            "kernels": 0.9,
            "starts": 0.9,
            "stretch": 0.4,
            "input": 0.9,
            "launch": 0.4,
            "compile": 0.5,
            "host": 0.2,
            "idle": 0.4,
        },
    ),
    "launch": (
        0.05,
        {
            **_ALL,
            "kernels": 0.7,
            "starts": 0.1,
            "stretch": 0.5,
            "input": 0.9,
            "launch": 0.1,
            "compile": 0.3,
            "host": 0.3,
            "idle": 0.3,
        },
    ),
    "compile": (
        0.02,
        {
            **_ALL,
            "kernels": 0.9,
            "starts": 0.8,
            "stretch": 0.3,
            "input": 0.9,
            "launch": 0.3,
            "compile": 0.05,
            "host": 0.3,
            "idle": 0.4,
        },
    ),
    "transfer": (
        0.1,
        {
            **_ALL,
            "kernels": 0.9,
            "starts": 0.9,
            "stretch": 0.6,
            "transfer": 0.9,
            "input": 0.9,
            "launch": 0.9,
            "host": 0.9,
            "idle": 0.7,
        },
    ),
    "collective": (
        0.3,
        {
            **_ALL,
            "kernels": 0.7,
            "starts": 0.6,
            "stretch": 0.6,
            "collective": 0.6,
            "input": 0.9,
            "launch": 0.9,
            "host": 0.9,
            "idle": 0.7,
        },
    ),
    "imbalance": (0.4, dict(_ALL)),
    "compute": (
        0.2,
        {
            **_ALL,
            "kernels": 0.9,
            "starts": 0.9,
            "stretch": 0.7,
            "input": 0.9,
            "launch": 0.9,
            "host": 0.9,
            "idle": 0.7,
        },
    ),
}
"""Class of fault -> (left of its own time, kept of the other parts)."""
_TRUST = 30.0
"""How much a parameter's distance from PRIOR counts beside one pair's error: a class
needs some ten pairs to move it far.
"""
_LARGE = 0.15
"""Errors of logarithms beyond this count less."""
_LEAST = 0.003
"""No step shrinks to less than this part of it."""
_ROUNDS = 40
_INSIDE = 0.8
"""Ranges are to hold so many of the true savings."""
_PRIOR_PAIRS = 8
"""A class with so few pairs takes half of its spread from all."""


def class_of(claim: Claim) -> str:
    return CLASS_OF.get(claim.rule, CLASS_OF.get(claim.category, claim.category))


def told(pair: Pair) -> Said | None:
    """The finding that promises what the pair can check: the first that names the
    fault, else the first.
    """
    return next(
        (one for one in pair.said if one.named), pair.said[0] if pair.said else None
    )


def usable(pairs: Sequence[Pair]) -> list[Pair]:
    """Those with a true saving above nothing, and a finding that names one planted
    fault.
    """
    return [
        one
        for one in pairs
        if one.true and one.true > 0 and one.parts and _fault(one) and one.faults == 1
    ]


def _fault(pair: Pair) -> Said | None:
    said = told(pair)
    return said if said is not None and said.claim.is_fault else None


def _kind(pair: Pair) -> str:
    said = told(pair)
    assert said is not None
    return class_of(said.claim)


def fitted(pairs: Sequence[Pair]) -> Calibration:
    """All that `rules/savings.json` holds of CPUs."""
    chosen = usable(pairs)
    return _calibration(
        chosen, {name: _means(name, chosen) for name in PRIOR}, errors_left_out(chosen)
    )


def left_out(pairs: Sequence[Pair]) -> dict[str, Calibration]:
    """Program -> the calibration that the others give."""
    chosen = usable(pairs)
    means = {name: _means(name, chosen) for name in PRIOR}
    off = errors_left_out(chosen)
    found = {}
    for place, pair in enumerate(chosen):
        others = [one for one in chosen if one is not pair]
        own = {**means, _kind(pair): _means(_kind(pair), others)}
        found[pair.program] = _calibration(others, own, off[:place] + off[place + 1 :])
    return found


def errors_left_out(chosen: Sequence[Pair]) -> list[float]:
    """How far off each promise is when its program had no part in the fit; in
    logarithms of odds, above 0 too low.
    """
    return [
        _error(one, _means(_kind(one), [other for other in chosen if other is not one]))
        for one in chosen
    ]


def _calibration(
    pairs: Sequence[Pair], means: Mapping[str, Remains], off: Sequence[float]
) -> Calibration:
    """off: the pairs' errors. Spreads come from errors of pairs that were each left out
    of the fit.
    """
    faults = {}
    for name, (left, keeps) in means.items():
        mine = [
            error for error, pair in zip(off, pairs, strict=True) if _kind(pair) == name
        ]
        kept = {part: round(keep, 3) for part, keep in keeps.items()}
        faults[name] = FaultTime(round(left, 3), kept, _spread(mine, off), len(mine))
    return Calibration(DEVICES, CLASS_OF, faults)


def _means(name: str, pairs: Sequence[Pair]) -> Remains:
    """Of a class of fault what remains, as in PRIOR."""
    left, keeps = PRIOR[name]
    mine = [one for one in pairs if _kind(one) == name]
    if not mine:
        return left, keeps
    start = np.array([left, *(keeps[part] for part in PARTS)])
    rows = np.array([_row(one) for one in mine])
    remains = np.log(np.maximum([1 - (one.true or 0.0) for one in mine], _LEAST))
    best = _solved(rows, np.array([_stays(one) for one in mine]), remains, start)
    return float(best[0]), dict(zip(PARTS, best[1:].tolist(), strict=True))


def _row(pair: Pair) -> list[float]:
    """The fault's own share of the step, and of each part beside it what may go with
    it.
    """
    step, own = _own(pair)
    goes = _goes(pair, step, own)
    return [
        sum(own.values()),
        *(goes * (step[part] - own.get(part, 0.0)) for part in PARTS),
    ]


def _goes(pair: Pair, step: Parts, own: Mapping[str, float]) -> float:
    said = told(pair)
    assert said is not None
    return weight(step, own) * said.claim.reach


def _stays(pair: Pair) -> float:
    """What no fit takes away from the step, since the fault is too small to take it
    along.
    """
    step, own = _own(pair)
    return (1 - _goes(pair, step, own)) * (sum(step.values()) - sum(own.values()))


def _own(pair: Pair) -> tuple[Parts, dict[str, float]]:
    """(the step without what recording it takes, what the fault takes of each part), as
    a promise has them.
    """
    said = told(pair)
    assert said is not None
    step = unrecorded(pair.parts, pair.tracer)
    seen = taken(pair.parts, said.claim.share, said.claim.classes)
    return step, {
        part: share * step[part] / pair.parts[part]
        for part, share in seen.items()
        if share
    }


def _solved(
    rows: np.ndarray, stays: np.ndarray, remains: np.ndarray, start: np.ndarray
) -> np.ndarray:
    """Parameters within 0 and 1 whose predictions are nearest in logarithms;
    Gauss-Newton steps, weighted again each time.
    """
    found = start.copy()
    for _ in range(_ROUNDS):
        predicted = np.maximum(rows @ found + stays, _LEAST)
        error = np.log(predicted) - remains
        weight = 1 / np.maximum(np.abs(error), _LARGE)
        slope = rows / predicted[:, None]
        pull = slope.T @ (slope * weight[:, None]) + _TRUST * np.eye(len(start))
        push = slope.T @ (weight * error) + _TRUST * (found - start)
        found = np.clip(found - np.linalg.solve(pull, push) / 2, 0.0, 1.0)
    return found


def _error(pair: Pair, means: Remains) -> float:
    step, own = _own(pair)
    said = told(pair)
    assert said is not None
    then = without(step, own, FaultTime(*means, 0.0, 0), said.claim.reach)
    return _log_odds(pair.true or 0.0) - _log_odds(
        1 - sum(then.values()) / sum(step.values())
    )


def _log_odds(saving: float) -> float:
    inside = min(max(saving, _LEAST), 1 - _LEAST)
    return math.log(inside / (1 - inside))


def _spread(mine: Sequence[float], every: Sequence[float]) -> float:
    """The error that so many do not exceed; a small class's is drawn towards all."""
    if not every:
        return 0.0
    whole = float(np.quantile(np.abs(every), _INSIDE))
    weight = len(mine) / (len(mine) + _PRIOR_PAIRS)
    own = float(np.quantile(np.abs(mine), _INSIDE)) if mine else whole
    return round(weight * own + (1 - weight) * whole, 3)


def spearman(one: Sequence[float], other: Sequence[float]) -> float:
    """Correlation of ranks, equal values sharing theirs."""
    ranks = []
    for values in (np.asarray(one), np.asarray(other)):
        ranks.append(
            np.array(
                [
                    (np.sum(values < value) + np.sum(values <= value)) / 2
                    for value in values
                ]
            )
        )
    return float(np.corrcoef(*ranks)[0, 1]) if len(one) > 1 else math.nan
