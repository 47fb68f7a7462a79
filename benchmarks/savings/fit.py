"""Fits what remains of a step when a fault of one class goes, on measured pairs, and how far such promises are off.

For each class of fault: which part remains of the time that the fault itself is seen to take, and of each other part of the step.
Errors count in logarithms of what remains, large ones less; few pairs change little of what `PRIOR` says. `PRIOR` is physics,
written before any pair was fitted: a compiled step needs one dispatch, undisturbed ops are as fast as their fast executions.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from pairs import Pair, Said

from tfadvisor.engine.savings.calibration import Calibration
from tfadvisor.engine.savings.parts import PARTS, taken
from tfadvisor.engine.savings.replay import FaultTime, without

DEVICES = ("cpu",)
CLASS_OF = {"kernel": "compute", "precision": "compute", "placement": "compute", "memory": "transfer"}
"""A category of rules -> the class of fault that it is fitted with."""
_ALL = dict.fromkeys(PARTS, 1.0)
PRIOR: Mapping[str, tuple[float, dict[str, float]]] = {
    "input": (0.1, {**_ALL, "stretch": 0.5, "input": 0.8, "launch": 0.9, "host": 0.9, "idle": 0.7}),
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
        {**_ALL, "kernels": 0.9, "starts": 0.9, "stretch": 0.7, "input": 0.9, "launch": 0.9, "host": 0.9, "idle": 0.7},
    ),
}
"""Class of fault -> (left of its own time, kept of the other parts)."""
_TRUST = 0.3
"""How much a parameter's distance from PRIOR counts beside one pair's error."""
_LARGE = 0.15
"""Errors of logarithms beyond this count less."""
_ROUNDS = 40
_EDGE = 0.1
"""Of the true savings this part may lie below a range, and as many above."""
_PRIOR_PAIRS = 8
"""A class with so few pairs takes half of its spread from all."""


def class_of(category: str) -> str:
    return CLASS_OF.get(category, category)


def told(pair: Pair) -> Said | None:
    """The finding that promises what the pair can check: the first that names the fault, else the first."""
    return next((one for one in pair.said if one.named), pair.said[0] if pair.said else None)


def usable(pairs: Sequence[Pair]) -> list[Pair]:
    """Those with a true saving above nothing and a finding of one planted fault."""
    return [
        one for one in pairs if one.true is not None and one.true > 0 and one.parts and told(one) and one.faults == 1
    ]


def fitted(pairs: Sequence[Pair]) -> Calibration:
    """All that `rules/savings.json` holds. Spreads come from pairs that were each left out of the fit."""
    chosen = usable(pairs)
    off = [_error(one, _means([other for other in chosen if other is not one])) for one in chosen]
    classes = [class_of(said.category) for one in chosen if (said := told(one))]
    faults = {}
    for name, (left, keeps) in _means(chosen).items():
        mine = [error for error, kind in zip(off, classes, strict=True) if kind == name]
        below, above = _spread(mine, off)
        faults[name] = FaultTime(
            round(left, 3), {part: round(keep, 3) for part, keep in keeps.items()}, below, above, len(mine)
        )
    return Calibration(DEVICES, CLASS_OF, faults)


def _means(pairs: Sequence[Pair]) -> dict[str, tuple[float, dict[str, float]]]:
    """Of every class of fault what remains, as in PRIOR."""
    found = {}
    for name, (left, keeps) in PRIOR.items():
        mine = [(one, said) for one in pairs if (said := told(one)) and class_of(said.category) == name]
        start = np.array([left, *(keeps[part] for part in PARTS)])
        rows = [_row(one, said) for one, said in mine]
        remains = [1 - (one.true or 0.0) for one, _ in mine]
        best = _solved(np.array(rows), np.log(np.maximum(remains, 0.003)), start) if mine else start
        found[name] = float(best[0]), dict(zip(PARTS, best[1:].tolist(), strict=True))
    return found


def _row(pair: Pair, said: Said) -> list[float]:
    """The fault's own share of the step, and that of each part beside it."""
    own = taken(pair.parts, said.share, said.claims)
    return [sum(own.values()), *(pair.parts[part] - own.get(part, 0.0) for part in PARTS)]


def _solved(rows: np.ndarray, remains: np.ndarray, start: np.ndarray) -> np.ndarray:
    """Parameters within 0 and 1 whose predictions are nearest in logarithms; Gauss-Newton steps, weighted again each time."""
    found = start.copy()
    for _ in range(_ROUNDS):
        predicted = np.maximum(rows @ found, 0.003)
        error = np.log(predicted) - remains
        weight = 1 / np.maximum(np.abs(error), _LARGE)
        slope = rows / predicted[:, None]
        pull = slope.T @ (slope * weight[:, None]) + _TRUST * np.eye(len(start))
        push = slope.T @ (weight * error) + _TRUST * (found - start)
        found = np.clip(found - np.linalg.solve(pull, push) / 2, 0.0, 1.0)
    return found


def _error(pair: Pair, means: Mapping[str, tuple[float, dict[str, float]]]) -> float:
    """How far the true saving lies above the predicted one, in logarithms of odds."""
    said = told(pair)
    assert said is not None and pair.true is not None
    left, keeps = means[class_of(said.category)]
    fault = FaultTime(left, keeps, 0.0, 0.0, 0)
    saved = 1 - sum(without(pair.parts, taken(pair.parts, said.share, said.claims), fault).values()) / sum(
        pair.parts.values()
    )
    return _log_odds(pair.true) - _log_odds(saved)


def _log_odds(saving: float) -> float:
    inside = min(max(saving, 0.003), 0.997)
    return math.log(inside / (1 - inside))


def _spread(mine: Sequence[float], every: Sequence[float]) -> tuple[float, float]:
    """(below, above) that leave a tenth of the errors outside on each side; a small class's drawn towards all."""
    weight = len(mine) / (len(mine) + _PRIOR_PAIRS)
    edges = []
    for part in (_EDGE, 1 - _EDGE):
        whole = float(np.quantile(every, part))
        edges.append(weight * float(np.quantile(mine, part)) + (1 - weight) * whole if mine else whole)
    return round(max(-edges[0], 0.0), 3), round(max(edges[1], 0.0), 3)


def left_out(pairs: Sequence[Pair]) -> dict[str, Calibration]:
    """Program -> the calibration that the others give."""
    return {one.program: fitted([other for other in pairs if other is not one]) for one in usable(pairs)}


def spearman(one: Sequence[float], other: Sequence[float]) -> float:
    """Correlation of ranks, equal values sharing theirs."""
    ranks = []
    for values in (np.asarray(one), np.asarray(other)):
        ranks.append(np.array([(np.sum(values < value) + np.sum(values <= value)) / 2 for value in values]))
    return float(np.corrcoef(*ranks)[0, 1]) if len(one) > 1 else math.nan
