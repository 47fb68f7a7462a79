"""How many bytes each device of a ring sends for a message."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tfadvisor.timeline.intervals import Int64Array
from tfadvisor.timeline.names.collectives import CollectiveKind

if TYPE_CHECKING:
    import numpy.typing as npt

_GATHERING = (CollectiveKind.ALL_GATHER, CollectiveKind.REDUCE_SCATTER, CollectiveKind.ALL_TO_ALL)


def ring_bytes(kind: CollectiveKind, size: Int64Array, group: Int64Array) -> npt.NDArray[np.float64]:
    """What each of group devices sends for a whole message of size bytes (NVIDIA/nccl-tests, doc/PERFORMANCE.md).

    2(n-1)/n of an AllReduce, which goes round twice; (n-1)/n of what is gathered, scattered or exchanged by all; the
    whole of anything else. group: at least 1.
    """
    if kind is CollectiveKind.ALL_REDUCE:
        return np.asarray(size * 2 * (group - 1) / group)
    if kind in _GATHERING:
        return np.asarray(size * (group - 1) / group)
    return np.asarray(size, np.float64)
