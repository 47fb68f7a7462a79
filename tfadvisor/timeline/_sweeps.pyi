"""Types of the compiled module; what each function does is said in _sweeps.pyx."""

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

Int64Array: TypeAlias = "npt.NDArray[np.int64]"
Pair: TypeAlias = tuple[Int64Array, Int64Array]

def united(starts: Int64Array, ends: Int64Array) -> Pair | None: ...
def merged(a0: Int64Array, a1: Int64Array, b0: Int64Array, b1: Int64Array) -> Pair: ...
def common(a0: Int64Array, a1: Int64Array, b0: Int64Array, b1: Int64Array) -> Pair: ...
def without(a0: Int64Array, a1: Int64Array, b0: Int64Array, b1: Int64Array) -> Pair: ...
def reached(times: Int64Array, asked: Int64Array) -> Int64Array: ...
def contains(
    starts: Int64Array, ends: Int64Array, times: Int64Array
) -> npt.NDArray[np.bool_]: ...
def met(
    lo: Int64Array,
    hi: Int64Array,
    who: npt.NDArray[np.int32],
    works: npt.NDArray[np.uint8],
    starts: Int64Array,
    ends: Int64Array,
) -> Int64Array: ...
def parents(starts: Int64Array, ends: Int64Array) -> Int64Array | None: ...
def innermost(
    starts: Int64Array, ends: Int64Array
) -> tuple[Int64Array, Int64Array, npt.NDArray[np.int32]] | None: ...
def places(ordered: npt.NDArray[Any], wanted: Int64Array) -> npt.NDArray[np.int32]: ...
def alike(
    columns: tuple[npt.NDArray[np.int32], ...],
    starts: Int64Array,
    ends: Int64Array,
    chosen: npt.NDArray[np.uint8],
    small: int,
) -> tuple[Int64Array, Int64Array, Int64Array, Int64Array]: ...
