"""The host's memory, and what was read and written."""

from __future__ import annotations

import pytest
from support.counters import ended_with, grew, measured


def test_memory_is_what_was_left_where_it_was_less() -> None:
    """Of 1,000 bytes 300 were left at the beginning and 80 at the end."""
    metrics = measured(
        ended_with(
            {"memory_bytes": 1000.0},
            {"available_bytes": 300.0},
            {"available_bytes": 80.0},
        )
    )

    assert metrics.value("available_memory_fraction") == pytest.approx(0.08)


def test_swapping_and_faults_are_told_per_step() -> None:
    """In 10 s; a step takes 1 ms, so a ten thousandth of it."""
    metrics = measured(grew(swapped_bytes=4e9, major_faults=30_000), period=1000)

    assert metrics.value("swapped_bytes_per_step") == pytest.approx(4e5)
    assert metrics.value("major_faults_per_step") == pytest.approx(3)


@pytest.mark.parametrize("whole", [5e-324, 1e-300, 79.0])
def test_no_more_memory_is_left_than_there_is(whole: float) -> None:
    """A file of counters may come from anywhere."""
    metrics = measured(
        ended_with(
            {"memory_bytes": whole},
            {"available_bytes": 1e18},
            {"available_bytes": 80.0},
        )
    )

    assert metrics.value("available_memory_fraction") == 1
