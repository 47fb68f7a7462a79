"""Which event is innermost at each instant of one thread, and who encloses whom.

Events of a thread nest: a call begins after its caller and ends before it. Where a trace breaks that (events that only
overlap), the one that began later counts as the inner one until either ends.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tfadvisor.timeline import sweeps
from tfadvisor.timeline.intervals import Int64Array

if TYPE_CHECKING:
    import numpy.typing as npt


def parents(starts: Int64Array, ends: Int64Array) -> Int64Array:
    """Index of the innermost event that encloses each event, -1 for outermost ones.

    Events must be sorted by start, longer ones first among equal starts. One without length counts as one picosecond long.
    """
    return sweeps.parents(np.ascontiguousarray(starts), np.ascontiguousarray(ends))


def innermost(starts: Int64Array, ends: Int64Array) -> tuple[Int64Array, Int64Array, npt.NDArray[np.int32]]:
    """(from, to, event) of the stretches of time covered by any event, with the innermost event of each.

    Events must be sorted by start, longer ones first among equal starts, and have a positive length. Stretches come in
    order of time, neighbours of the same event joined.
    """
    return sweeps.innermost(np.ascontiguousarray(starts), np.ascontiguousarray(ends))
