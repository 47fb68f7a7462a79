"""What a ring sends, worked out on paper for messages of 1,024 bytes among four
devices.
"""

from __future__ import annotations

import numpy as np
import pytest

from tfadvisor.metrics.collectives import ring_bytes
from tfadvisor.timeline.names.collective_events import CollectiveKind


@pytest.mark.parametrize(
    ("kind", "sent"),
    [
        (CollectiveKind.ALL_REDUCE, 1536.0),
        (CollectiveKind.ALL_GATHER, 768.0),
        (CollectiveKind.REDUCE_SCATTER, 768.0),
        (CollectiveKind.ALL_TO_ALL, 768.0),
        (CollectiveKind.BROADCAST, 1024.0),
        (CollectiveKind.SEND_RECV, 1024.0),
        (CollectiveKind.OTHER, 1024.0),
    ],
)
def test_a_ring_of_four_sends_each_quarter_three_times(
    kind: CollectiveKind, sent: float
) -> None:
    assert ring_bytes(kind, np.array([1024]), np.array([4])).tolist() == [sent]


def test_a_device_alone_sends_nothing_of_an_all_reduce() -> None:
    assert ring_bytes(
        CollectiveKind.ALL_REDUCE, np.array([1024]), np.array([1])
    ).tolist() == [0.0]
