"""A metric that breaks is reported, and the others stand."""

from __future__ import annotations

import pytest
from support.trace_builder import trace

from tfadvisor.metrics import registry
from tfadvisor.metrics.registry import fact, metric, registered_metrics
from tfadvisor.metrics.steady import a_gpu, known_steps
from tfadvisor.units import Unit
from tfadvisor.vocabulary import Better, Scatter


@pytest.fixture
def own_registry(monkeypatch) -> None:
    monkeypatch.setattr(registry, "_METRICS", dict(registry._METRICS))
    monkeypatch.setattr(registry, "_FACTS", dict(registry._FACTS))


def count(*needs):
    return metric(unit=Unit.COUNT, better=Better.LESS, needs=needs)


def test_a_broken_metric_says_what_broke(own_registry) -> None:
    @count()
    def breaks(question) -> float:
        """Always fails."""
        return 1 / 0

    measured = trace().step(0, 10).busy("GPU:0", (0, 5)).measure()

    assert measured["breaks"].broken
    assert "ZeroDivisionError" in measured["breaks"].reason
    assert measured.value("compute_fraction") == pytest.approx(0.5)


def test_a_broken_fact_is_reported_as_a_broken_metric_is(own_registry) -> None:
    @fact
    def breaks(question) -> str:
        """Always fails."""
        return {}["no such key"]

    report = trace().step(0, 10).busy("GPU:0", (0, 5)).report()

    assert [(one.name, "KeyError" in one.error) for one in report.broken] == [
        ("breaks", True)
    ]


def test_infinity_never_appears(own_registry) -> None:
    @count()
    def endless(question) -> float:
        """Not a number of anything."""
        return float("inf")

    assert trace().step(0, 10).measure()["endless"].value is None


def test_a_name_is_registered_once(own_registry) -> None:
    def step_time_ms(question) -> float:
        """Again."""
        return 0.0

    with pytest.raises(ValueError, match="twice"):
        count()(step_time_ms)


def test_the_docstring_is_the_definition_in_one_line(own_registry) -> None:
    @count()
    def answers(question) -> float:
        """Number of answers per step,
        a mean.
        """
        return 42.0

    assert (
        registered_metrics()["answers"].about == "Number of answers per step, a mean."
    )


def test_a_metric_without_words_is_refused(own_registry) -> None:
    with pytest.raises(ValueError, match="no docstring"):
        count()(lambda question: 0.0)


def test_needs_come_first_in_their_order_whoever_asks(own_registry) -> None:
    """Without a GPU and without steps the first need says why, and the function is not
    called.
    """

    @count(a_gpu, known_steps)
    def called(question) -> float:
        """Must not be called."""
        raise AssertionError

    @count()
    def asks_it(question) -> float:
        """What the other metric says."""
        return called(question)

    measured = trace().call("anything", 0, 1).measure()

    assert measured["called"].reason == "this run used no GPU"
    assert (measured["asks_it"].value, measured["asks_it"].broken) == (None, False)


def test_several_hosts_are_a_need() -> None:
    measured = trace().steps(3, period=10).busy("GPU:0", (0, 30)).measure()

    assert (
        measured["host_skew_fraction"].reason
        == "the run has a single host with device work"
    )


@pytest.mark.parametrize(
    ("unit", "scatter"),
    [
        (Unit.FRACTION, Scatter.SHARE),
        (Unit.COUNT, Scatter.EXACT),
        (Unit.BYTES, Scatter.EXACT),
        (Unit.MS, Scatter.FACTOR),
        (Unit.GB_S, Scatter.FACTOR),
    ],
)
def test_how_a_metric_scatters_follows_from_its_unit(
    own_registry, unit: Unit, scatter: Scatter
) -> None:
    @metric(unit=unit, better=Better.LESS)
    def new(question) -> float:
        """A metric that says nothing about how it scatters."""
        return 0.0

    assert registered_metrics()["new"].scatter is scatter
