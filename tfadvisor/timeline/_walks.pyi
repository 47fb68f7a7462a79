"""Types of the compiled module; what each function does is said in walks_twin.py."""

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

Int64Array: TypeAlias = "npt.NDArray[np.int64]"

def chains(*arguments: Any) -> tuple[tuple[Any, ...], tuple[Any, ...]] | None: ...
def tally(
    who: npt.NDArray[np.int32],
    event: npt.NDArray[np.int32],
    ps: Int64Array,
    spent: Int64Array,
    count: npt.NDArray[np.int32],
    seen: npt.NDArray[np.uint8],
    bit: int,
) -> None: ...
def own_stretches(
    start: Int64Array, end: Int64Array, stream: npt.NDArray[np.int32], streams: int
) -> tuple[Int64Array, Int64Array, npt.NDArray[np.int32]] | None: ...
def shared(
    lo: Int64Array, hi: Int64Array, starts: Int64Array, ends: Int64Array
) -> Int64Array: ...
