"""Devices that work one after the other."""

from __future__ import annotations

import pytest
from support.trace_builder import trace

approx = pytest.approx


def test_two_devices_in_turns_could_take_half() -> None:
    """Each works 40 of 100 µs, never together: 80 µs with work, of which 40
    would do.
    """
    builder = trace().steps(3, period=100)
    for at in (0, 100, 200):
        builder.busy("GPU:0", (at, at + 40)).busy("GPU:1", (at + 40, at + 80))
    metrics = builder.measure()

    assert metrics.value("device_concurrency_fraction") == approx(0.5)
    assert metrics.value("taking_turns_fraction") == approx(0.4)


def test_devices_that_work_together_take_no_turns() -> None:
    builder = trace().steps(3, period=100)
    for at in (0, 100, 200):
        builder.busy("GPU:0", (at, at + 80)).busy("GPU:1", (at, at + 80))

    assert builder.measure().value("taking_turns_fraction") == approx(0)


def test_a_single_device_takes_no_turns_with_anybody() -> None:
    metrics = trace().steps(3, period=100).busy("GPU:0", (0, 300)).measure()

    assert metrics.value("taking_turns_fraction") is None
