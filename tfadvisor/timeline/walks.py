"""One walk over events in order: compiled where it was built, else by NumPy. What the
functions do is said in the twin.
"""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np

from tfadvisor.arrays import AnyArray, Int64Array, ranks
from tfadvisor.timeline import walks_twin as twin

walks: ModuleType
shared: Callable[[Int64Array, Int64Array, Int64Array, Int64Array], Int64Array]
try:
    from tfadvisor.timeline import _walks

    walks, shared = _walks, _walks.shared
except (ImportError, AttributeError):  # no C compiler, or built from an older source
    walks, shared = twin, twin.shared

tally = walks.tally


def chains(*arguments: Any) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """What a thread does: in its events, and in the gaps between them. As the twin's;
    alike chains are one.
    """
    found: tuple[tuple[Any, ...], tuple[Any, ...]] | None = walks.chains(*arguments)
    return twin.chains(*arguments) if found is None else found


_FEW_STREAMS = 1 << 16


def own_stretches(
    start: Int64Array, end: Int64Array, stream: AnyArray
) -> tuple[Int64Array, Int64Array, AnyArray]:
    """(from, to, event) in which an event is the innermost of its stream, whatever the
    streams' numbers; of events that cross all of each.
    """
    if stream.min() < 0 or stream.max() >= _FEW_STREAMS:
        stream = ranks(stream)
    number = np.ascontiguousarray(stream, np.int32)
    streams = int(number.max()) + 1
    found: tuple[Int64Array, Int64Array, AnyArray] | None = walks.own_stretches(
        start, end, number, streams
    )
    return twin.own_stretches(start, end, number, streams) if found is None else found
