"""Metric values turned back into picoseconds, to compare with times worked out on
paper.
"""

from __future__ import annotations

from typing import Any

import pytest

from tfadvisor.metrics.registry import Metrics
from tfadvisor.units import PS_PER_MS, PS_PER_US, Unit

_PS = {Unit.MS: PS_PER_MS, Unit.US: PS_PER_US}


def picoseconds(metrics: Metrics, name: str) -> float:
    """A metric of time."""
    measured = metrics[name]
    assert measured.value is not None, f"{name}: {measured.reason}"
    return measured.value * _PS[measured.unit]


def picoseconds_of(metrics: Metrics, name: str, whole: float) -> float:
    """A share of so many µs."""
    measured = metrics[name]
    assert measured.value is not None, f"{name}: {measured.reason}"
    return measured.value * whole * PS_PER_US


def us(expected: float) -> Any:
    """So many µs, exact to 1 ps."""
    return pytest.approx(expected * PS_PER_US, rel=0, abs=1)
