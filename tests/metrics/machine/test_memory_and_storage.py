"""The host's memory, and what was read and written."""

from __future__ import annotations

import pytest
from support.counters import ended_with, grew, measured


def test_memory_is_what_was_left_where_it_was_less() -> None:
    """Of 1,000 bytes 300 were left at the beginning and 80 at the end."""
    metrics = measured(
        ended_with(
            {"memory_bytes": 1000.0},
            {"available_bytes": 300.0, "resident_bytes": 500.0},
            {"available_bytes": 80.0, "resident_bytes": 620.0},
        )
    )

    assert metrics.value("available_memory_fraction") == pytest.approx(0.08)
    assert metrics.value("resident_memory_bytes") == 620


def test_swapping_and_faults_are_told_per_step() -> None:
    """In 10 s; a step takes 1 ms, so a ten thousandth of it."""
    metrics = measured(grew(swapped_bytes=4e9, major_faults=30_000), period=1000)

    assert metrics.value("swapped_bytes_per_step") == pytest.approx(4e5)
    assert metrics.value("major_faults_per_step") == pytest.approx(3)


def test_reads_and_writes_are_told_per_second() -> None:
    metrics = measured(grew(read_bytes=2.1e9, written_bytes=5e8))

    assert metrics.value("storage_read_gb_s") == pytest.approx(0.21)
    assert metrics.value("storage_write_gb_s") == pytest.approx(0.05)


@pytest.mark.parametrize(("waited", "share"), [(0, 0.0), (4, 0.4), (25, 1.0)])
def test_waiting_for_storage_is_told_in_cores_and_at_most_one(waited: float, share: float) -> None:
    """Seconds of all cores together, in 10 s."""
    assert measured(grew(iowait_seconds=waited)).value("storage_wait_fraction") == pytest.approx(share)


def test_file_systems_are_those_of_all_hosts() -> None:
    metrics = measured(grew({"file_systems": ("nfs4",)}), grew({"file_systems": ("ext4", "nfs4")}))

    assert metrics.fact("data_file_systems") == "ext4, nfs4"
    assert measured(grew()).why_no_fact("data_file_systems") == "no such file was open when the recording ended"
