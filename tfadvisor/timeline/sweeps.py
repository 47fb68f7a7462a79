"""One pass over sorted times: compiled where it was built, else by NumPy. What the
functions do is said in the twin.
"""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType

import numpy as np

from tfadvisor.arrays import AnyArray, BoolArray, Int32Array, Int64Array, UInt8Array
from tfadvisor.timeline import sweeps_twin as twin
from tfadvisor.timeline.sweeps_twin import Pair

passes: ModuleType
try:
    from tfadvisor.timeline import _sweeps

    passes = _sweeps
except ImportError:  # installed without a C compiler
    passes = twin

Sweep = Callable[[Int64Array, Int64Array, Int64Array, Int64Array], Pair]
merged: Sweep = passes.merged
common: Sweep = passes.common
without: Sweep = passes.without
within: Callable[[Int64Array, Int64Array, Int64Array, Int64Array], Int64Array] = (
    passes.within
)
contains: Callable[[Int64Array, Int64Array, Int64Array], BoolArray] = passes.contains
met: Callable[
    [
        Int64Array,
        Int64Array,
        Int32Array,
        UInt8Array,
        Int64Array,
        Int64Array,
    ],
    Int64Array,
] = passes.met
alike: Callable[
    [
        tuple[Int32Array, ...],
        Int64Array,
        Int64Array,
        UInt8Array,
        int,
    ],
    tuple[Int64Array, Int64Array, Int64Array, Int64Array],
] = passes.alike


def is_compiled() -> bool:
    """Whether the compiled passes are in use."""
    return passes is not twin


def united(starts: Int64Array, ends: Int64Array) -> Pair:
    """The union of intervals in any order. Starts and ends sorted apart have the same
    union.
    """
    found: Pair | None = passes.united(starts, ends)
    if found is None:
        keep = ends > starts
        found = passes.united(np.sort(starts[keep]), np.sort(ends[keep]))
    return twin.united(starts, ends) if found is None else found


def reached(times: Int64Array, asked: Int64Array) -> Int64Array:
    """How many of the ascending times are no later than each asked one, wherever the
    arrays come from.
    """
    found: Int64Array = passes.reached(
        np.ascontiguousarray(times),
        np.ascontiguousarray(asked),
    )
    return found


def parents(starts: Int64Array, ends: Int64Array) -> Int64Array:
    """Index of the innermost event around each, -1 without one."""
    found: Int64Array | None = passes.parents(starts, ends)
    return twin.parents(starts, ends) if found is None else found


def innermost(
    starts: Int64Array,
    ends: Int64Array,
) -> tuple[Int64Array, Int64Array, Int32Array]:
    """(from, to, event) of the stretches with the same innermost event."""
    found: tuple[Int64Array, Int64Array, Int32Array] | None = passes.innermost(
        starts, ends
    )
    return twin.innermost(starts, ends) if found is None else found


def enclosing(wanted: BoolArray, parent: Int64Array) -> Int64Array:
    """The wanted event that each event is or lies in, the innermost one; -1 without
    one. Parents come before what is in them.
    """
    found: Int64Array = passes.enclosing(np.ascontiguousarray(wanted), parent)
    return found


def places(
    ordered: AnyArray,
    wanted: AnyArray,
) -> Int32Array:
    """Index of the first entry of an ascending array that equals each wanted number, -1
    without one.
    """
    found: Int32Array = passes.places(ordered, wanted)
    return found
