"""Where one new run may lie, against worked examples."""

from __future__ import annotations

from math import inf, sqrt

import pytest

import tfadvisor.metrics  # noqa: F401
from tfadvisor.comparison.side import Traits
from tfadvisor.comparison.statistics.spread import (
    Estimate,
    Nature,
    Prediction,
    nature_of,
    predict,
)
from tfadvisor.metrics.registry import registered_metrics
from tfadvisor.vocabulary import Better, Scatter

TIME = nature_of("ms", Traits(Better.LESS, Scatter.FACTOR))
COUNT = nature_of("count", Traits(Better.LESS, Scatter.EXACT))


def test_the_published_example_of_a_prediction_limit() -> None:
    """bencher's documentation: 25 runs, mean 100, standard deviation 10, level 0.977:
    the limit is 121.46.
    """
    known = Prediction(
        Estimate(centre=100, runs=25, sigma=10, freedom=24), floor=0.0, few=False
    )

    assert known.centre + known.reach(1 - 0.977, error=0) == pytest.approx(
        121.46, abs=0.01
    )


def test_a_run_at_the_reach_is_as_surprising_as_the_level() -> None:
    known = Prediction(Estimate(0, 10, 0.03, 4), floor=0.01, few=False)

    for level in (0.05, 0.01, 0.001):
        assert known.surprise(known.reach(level, 0.02), 0.02) == pytest.approx(
            level, rel=1e-4
        )


def test_the_error_of_the_new_run_widens_the_interval_twice() -> None:
    """√(0.03² · 1.1 + 0.08²) against √(0.03² · 1.1)."""
    known = Prediction(Estimate(0, 10, 0.03, 4), floor=0.001, few=False)

    widened = known.reach(0.01, 0.04) / known.reach(0.01, 0)

    assert widened == pytest.approx(sqrt(0.03**2 * 1.1 + 0.08**2) / sqrt(0.03**2 * 1.1))


def test_one_run_shows_gross_changes_of_times_only() -> None:
    """10% are believed between runs, for as much as a quarter of a degree of freedom is
    worth: at 1% that is 10⁴ times.
    """
    known = predict([[TIME.scaled(40.0)]], TIME)

    assert known.few
    assert known.reach(0.01, 0) > 1000


def test_alike_runs_leave_less_and_less_of_what_was_believed() -> None:
    """√(0.25 · 0.1² / 19.75) after 20.5 of them with 0.25 + 19.5 / 2 = 10 degrees of
    freedom: t(0.01; 10) = 2.764. Nearly.
    """
    known = predict([[TIME.scaled(40.0)] * 20], TIME)

    assert not known.few
    assert known.known.freedom == 9.75
    assert known.reach(0.01, 0) == pytest.approx(
        2.764 * 0.1 * sqrt(0.25 / 19.25) * sqrt(1 + 1 / 20), rel=0.01
    )


def test_few_runs_assume_nothing_of_what_does_not_scatter() -> None:
    known = predict([[25.0]], COUNT)

    assert not known.few
    assert known.reach(0.0003, 0) < 0.005 * 25
    assert known.surprise(1.0, 0) < 1e-9


def test_a_count_that_does_scatter_is_believed_to() -> None:
    """One of ten runs had one kernel more: one more is t = 1 / (0.2635 · √1.1) = 3.62
    with 13 degrees of freedom.
    """
    known = predict([[25.0] * 9 + [26.0]], COUNT)

    assert known.surprise(1.0, 0) == pytest.approx(0.00155, rel=0.02)


def test_the_floor_holds_where_runs_agree_by_chance() -> None:
    """400 alike runs leave a quarter of a per cent of the 10%, and 1% is the least."""
    known = predict([[TIME.scaled(40.0)] * 400], TIME)

    assert known.reach(0.01, 0) == pytest.approx(
        2.3263 * 0.01 * sqrt(1 + 1 / 400), rel=1e-4
    )


@pytest.mark.parametrize(
    ("metric", "unit", "worse", "exact", "by_factor"),
    [
        ("step_time_ms", "ms", "up", False, True),
        ("kernels_per_step", "count", "up", True, False),
        ("h2d_bytes_per_step", "bytes", "up", True, False),
        ("fp16_kernel_share", "fraction", "down", True, False),
        ("input_bound_fraction", "fraction", "up", False, False),
        ("device_busy_fraction", "fraction", "down", False, False),
        ("allreduce_bus_gb_s", "GB/s", "down", False, True),
        ("steps_counted", "count", "down", False, False),
        ("model_parameters", "count", "both", True, False),
    ],
)
def test_what_metrics_are_like(
    metric: str, unit: str, worse: str, exact: bool, by_factor: bool
) -> None:
    declared = registered_metrics()[metric]
    nature = nature_of(unit, Traits(declared.better, declared.scatter))

    assert (nature.worse, nature.exact, nature.by_factor) == (worse, exact, by_factor)


def test_infinite_degrees_of_freedom_are_normal() -> None:
    known = Prediction(Estimate(0, 1, 0.1, inf), floor=0.01, few=True)

    assert known.reach(0.025, 0) == pytest.approx(1.95996 * 0.1 * sqrt(2), rel=1e-4)


def test_a_nature_has_a_floor_near_zero() -> None:
    share: Nature = nature_of("fraction", Traits(Better.LESS, Scatter.SHARE))

    assert share.floor_at(0.0) == 0.005
    assert share.floor_at(0.8) == pytest.approx(0.008)
