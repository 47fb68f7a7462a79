"""How long many like things took, kept small: a sketch by even ranks, whose error is a
rank's.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np

from tfadvisor.arrays import Int64Array, order_of, percentile

FEWEST_KEPT = 256
"""Values of one sketch at least: a percentile is then that of a rank at most 0.2 % of
all away.
"""


class Distribution(msgspec.Struct, frozen=True):
    """Of a number of values, all of them, or as many at even ranks as were asked for,
    both extremes included.
    """

    values: Int64Array
    """Ascending."""
    count: int
    """How many there were."""

    def __len__(self) -> int:
        """How many there were."""
        return self.count


def distribution(values: Int64Array, most: int) -> Distribution:
    """Of values in any order, which are sorted where they are. A percentile of what is
    kept is off by at most half of 1 / (most - 1) in rank.
    """
    values.sort()
    if len(values) <= most:
        return Distribution(values, len(values))
    return Distribution(
        values[np.linspace(0, len(values) - 1, most).round().astype(np.int64)],
        len(values),
    )


def percentile_of(parts: Sequence[Distribution], percent: float) -> float:
    """Of all values together, each sketch's weighing as many as it stands for. Raises
    ValueError without any value.
    """
    full = [part for part in parts if part.count]
    if not full:
        raise ValueError("no value")
    values = np.concatenate([sketch.values for sketch in full])
    if all(sketch.count == len(sketch.values) for sketch in full):
        return percentile(values, percent)
    weight = np.concatenate(
        [
            np.full(len(sketch.values), sketch.count / len(sketch.values))
            for sketch in full
        ]
    )
    order = order_of(values)
    weight = weight[order]
    middle = np.cumsum(weight) - weight / 2
    place = middle[0] + percent / 100 * (middle[-1] - middle[0])
    return float(np.interp(place, middle, values[order]))
