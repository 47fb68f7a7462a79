"""A distribution kept small: the values themselves, or evenly picked ones of many."""

from __future__ import annotations

import numpy as np

from tfadvisor.timeline.intervals import Int64Array

_MOST_KEPT = 100_000


def kept(values: Int64Array) -> Int64Array:
    """Ascending; of more than 100,000 values as many at even ranks, the smallest and the largest included."""
    ordered = np.sort(values)
    if len(ordered) <= _MOST_KEPT:
        return ordered
    return np.asarray(ordered[np.linspace(0, len(ordered) - 1, _MOST_KEPT).round().astype(np.int64)])
