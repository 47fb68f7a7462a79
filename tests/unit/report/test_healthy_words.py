"""What a sound run is called, by whether its devices' limits are known."""

from __future__ import annotations

from support.golden_reports import report_of
from support.places import FIXTURES

from tfadvisor.report.wording import (
    nothing_to_change,
    verdict_name,
    verdict_sentence,
)


def test_devices_that_may_compute_in_vain_are_busy_and_not_called_healthy() -> None:
    """TensorFlow on a CPU: no trace holds what its ops need at least."""
    report = report_of(FIXTURES / "tf-healthy-loop")

    assert report.verdict.healthy
    assert verdict_name(report) == "COMPUTE-BOUND"
    assert verdict_sentence(report).endswith(
        "no other cost is large. Whether they need to, or could do it faster, this "
        "trace cannot tell."
    )
    assert nothing_to_change(report).startswith("No rule names a change")


def test_devices_near_their_limits_are_called_healthy() -> None:
    report = report_of(FIXTURES / "gpu" / "jax-healthy")

    assert verdict_name(report) == "HEALTHY"
    assert "cannot tell" not in verdict_sentence(report)
    assert nothing_to_change(report) == (
        "Found nothing to change. Whether the program uses all that it computes, no "
        "trace shows."
    )
