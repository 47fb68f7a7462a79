"""GPUs as their driver saw them."""

from __future__ import annotations

import pytest
from support.counters import grew, measured

from tfadvisor.trace.counters import MachineGpu


def test_utilization_is_a_mean_and_the_clock_that_of_the_slowest_that_worked() -> None:
    """A third GPU idles at a low clock, which says nothing."""
    metrics = measured(
        grew(
            None,
            MachineGpu("A", utilization=0.9, clock_mhz=1900, highest_clock_mhz=2000),
            MachineGpu(
                "A",
                utilization=0.6,
                clock_mhz=1200,
                highest_clock_mhz=2000,
                slowed_by=("heat",),
            ),
            MachineGpu("A", utilization=0.0, clock_mhz=300, highest_clock_mhz=2000),
        )
    )

    assert metrics.value("gpu_clock_fraction") == pytest.approx(0.6)
    assert metrics.fact("gpu_slowed_by") == "heat"


def test_without_a_driver_nothing_is_known_of_them() -> None:
    metrics = measured(grew())

    assert metrics.value("gpu_clock_fraction") is None
    assert metrics.fact("gpu_slowed_by") is None


@pytest.mark.parametrize("highest", [5e-324, 1_400.0])
def test_no_clock_is_higher_than_the_highest(highest: float) -> None:
    """A file of counters may come from anywhere."""
    gpu = MachineGpu(utilization=0.9, clock_mhz=1_500.0, highest_clock_mhz=highest)

    assert measured(grew(None, gpu)).value("gpu_clock_fraction") == 1
