"""One pass over sorted times: compiled where it was built, else by NumPy. What the functions do is said in the twin."""

from __future__ import annotations

from typing import Any

import numpy as np

from tfadvisor.timeline import sweeps_twin as twin
from tfadvisor.timeline.sweeps_twin import Int64Array, Pair

try:
    from tfadvisor.timeline import _sweeps as passes
except ImportError:  # installed without a C compiler
    passes = twin  # type: ignore[assignment]

merged, common, without = passes.merged, passes.common, passes.without
covered_before, contains = passes.covered_before, passes.contains
alike = passes.alike


def is_compiled() -> bool:
    """Whether the compiled passes are in use."""
    return passes is not twin


def united(starts: Int64Array, ends: Int64Array) -> Pair:
    """The union of intervals in any order. Starts and ends sorted apart have the same union."""
    found = passes.united(starts, ends)
    if found is None:
        keep = ends > starts
        found = passes.united(np.sort(starts[keep]), np.sort(ends[keep]))
    return twin.united(starts, ends) if found is None else found


def reached(times: Int64Array, asked: Int64Array) -> Int64Array:
    """How many of the ascending times are no later than each asked one, wherever the arrays come from."""
    return passes.reached(np.ascontiguousarray(times), np.ascontiguousarray(asked))


def parents(starts: Int64Array, ends: Int64Array) -> Int64Array:
    """Index of the innermost event around each, -1 without one."""
    found = passes.parents(starts, ends)
    return twin.parents(starts, ends) if found is None else found


def innermost(starts: Int64Array, ends: Int64Array) -> tuple[Int64Array, Int64Array, Int64Array]:
    """(from, to, event) of the stretches with the same innermost event."""
    found = passes.innermost(starts, ends)
    return twin.innermost(starts, ends) if found is None else found


def places(ordered: Any, wanted: Int64Array) -> Any:
    """Index of the first entry of an ascending array that equals each wanted number, -1 without one."""
    return passes.places(ordered, wanted)
