"""Events whose names differ by a number only, as copies of one function or program do."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from tfadvisor.arrays import distinct
from tfadvisor.timeline.intervals import Int64Array

if TYPE_CHECKING:
    import numpy.typing as npt


def grouped(
    rows: npt.NDArray[np.int32], names: Sequence[str], bare: Callable[[str], str]
) -> tuple[list[str], Int64Array]:
    """(distinct bare names, index of each row's among them). rows: one or more. bare: a name without its number."""
    label = {row: bare(names[row]) for row in distinct(rows).tolist()}
    labels = sorted(set(label.values()))
    table = np.zeros(max(label) + 1, np.int64)
    for row, text in label.items():
        table[row] = labels.index(text)
    return labels, table[rows]
