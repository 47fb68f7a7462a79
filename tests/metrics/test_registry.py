"""A metric that breaks is reported, and the others stand."""

from __future__ import annotations

import pytest
from support.trace_builder import trace

from tfadvisor.metrics import registry
from tfadvisor.metrics.registry import metric
from tfadvisor.units import Unit


@pytest.fixture
def own_registry(monkeypatch) -> None:
    monkeypatch.setattr(registry, "_METRICS", dict(registry._METRICS))
    monkeypatch.setattr(registry, "_FACTS", dict(registry._FACTS))


def test_a_broken_metric_says_what_broke(own_registry) -> None:
    @metric("breaks", unit=Unit.COUNT, about="Always fails.")
    def breaks(question) -> float:
        return 1 / 0

    measured = trace().step(0, 10).busy("GPU:0", (0, 5)).measure()

    assert measured["breaks"].broken
    assert "ZeroDivisionError" in measured["breaks"].reason
    assert measured.value("compute_fraction") == pytest.approx(0.5)


def test_infinity_never_appears(own_registry) -> None:
    @metric("endless", unit=Unit.COUNT, about="Not a number of anything.")
    def endless(question) -> float:
        return float("inf")

    assert trace().step(0, 10).measure()["endless"].value is None


def test_a_name_is_registered_once(own_registry) -> None:
    with pytest.raises(ValueError, match="twice"):
        metric("step_time_ms", unit=Unit.MS, about="Again.")(lambda question: 0.0)
