"""A run is the same run however its file is arranged: planes, lines and events in
another order, other ids, another clock.
"""

from __future__ import annotations

import gzip
import random
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
from support.places import FIXTURES

import tfadvisor
from tfadvisor.trace.messages import XSpace

RUNS = (
    "jax-4dev-imbalance",
    "jax-logging",
    "tf-eager",
    "tf-generator",
    "tf-heavy-map",
    "tf-python-map",
)
HOUR_NS = 3_600_000_000_000


def other_order(space: Any) -> None:
    """Planes and lines in another order, events of each line from the last to the
    first.
    """
    chance = random.Random(5)
    for held in (space.planes, *(plane.lines for plane in space.planes)):
        _rearrange(held, lambda items: chance.sample(items, len(items)))
    for line in (line for plane in space.planes for line in plane.lines):
        _rearrange(line.events, lambda items: items[::-1])


def an_hour_later(space: Any) -> None:
    """Another day, and each line begins a millisecond before its first event."""
    for line in (
        line for plane in space.planes for line in plane.lines if line.timestamp_ns
    ):
        line.timestamp_ns += HOUR_NS - 1_000_000
        for event in line.events:
            event.offset_ps += 1_000_000_000
    for plane in space.planes:
        for stat in plane.stats:
            if plane.stat_metadata[stat.metadata_id].name in (
                "profile_start_time",
                "profile_stop_time",
            ):
                kind = stat.WhichOneof("value")
                setattr(stat, kind, getattr(stat, kind) + HOUR_NS)


def other_ids(space: Any) -> None:
    """Event metadata by other numbers."""
    for plane in space.planes:
        moved = {one: 7 * one + 3 for one in plane.event_metadata}
        kept = {one: plane.event_metadata[one].SerializeToString() for one in moved}
        plane.event_metadata.clear()
        for one, data in kept.items():
            metadata = plane.event_metadata[moved[one]]
            metadata.ParseFromString(data)
            metadata.id = moved[one]
        for event in (event for line in plane.lines for event in line.events):
            event.metadata_id = moved.get(event.metadata_id, event.metadata_id)


def _rearrange(held: Any, arrange: Callable[[list[bytes]], Iterable[bytes]]) -> None:
    kind = type(held.add()) if not len(held) else type(held[0])
    items = [item.SerializeToString() for item in held]
    del held[:]
    for data in arrange(items):
        held.add().CopyFrom(kind.FromString(data))


@pytest.mark.parametrize("name", RUNS)
@pytest.mark.parametrize("arrange", [other_order, an_hour_later, other_ids])
def test_the_report_is_the_same(
    name: str, arrange: Callable[[Any], None], tmp_path: Path
) -> None:
    """But for when steps begin on the trace's own clock, which starts with the earliest
    line.
    """
    (packed,) = (FIXTURES / name).rglob("*.xplane.pb.gz")
    space = XSpace.FromString(gzip.decompress(packed.read_bytes()))
    file = tmp_path / "run.xplane.pb"
    file.write_bytes(space.SerializeToString())
    before = _told(file)

    arrange(space)
    file.write_bytes(space.SerializeToString())

    assert _told(file) == before


def _told(file: Path) -> dict[str, Any]:
    report = tfadvisor.analyze(file).to_dict()
    for step in report["steps"]["each"]:
        del step["start_ms"]
    return {
        part: report[part]
        for part in ("verdict", "steps", "breakdown", "metrics", "findings")
    }
