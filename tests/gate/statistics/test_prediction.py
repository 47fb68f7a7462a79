"""Where one new run may lie, against worked examples."""

from __future__ import annotations

from math import inf, sqrt

import pytest

import tfadvisor.metrics  # noqa: F401
from tfadvisor.comparison.side import Traits
from tfadvisor.gate.judging.metric_traits import Nature, nature_of
from tfadvisor.gate.statistics.prediction import Prediction, predict
from tfadvisor.gate.statistics.spread import Spread, deviation_of, spread_of
from tfadvisor.metrics.registry import registered_metrics
from tfadvisor.vocabulary import Better, Scatter

TIME = nature_of("ms", Traits(Better.LESS, Scatter.FACTOR))
COUNT = nature_of("count", Traits(Better.LESS, Scatter.EXACT))


def test_the_published_example_of_a_prediction_limit() -> None:
    """bencher's documentation: 25 runs, mean 100, standard deviation 10, level 0.977: the limit is 121.46."""
    known = Prediction(centre=100, runs=25, spread=Spread(10, 24, 25), floor=0.0, assumed=False)

    assert known.centre + known.reach(1 - 0.977, error=0) == pytest.approx(121.46, abs=0.01)


def test_a_run_at_the_reach_is_as_surprising_as_the_level() -> None:
    known = Prediction(centre=0, runs=10, spread=Spread(0.03, 4, 10), floor=0.01, assumed=False)

    for level in (0.05, 0.01, 0.001):
        assert known.surprise(known.reach(level, 0.02), 0.02) == pytest.approx(level, rel=1e-4)


def test_the_error_of_the_new_run_widens_the_interval() -> None:
    """√(0.03² · 1.1 + 0.04²) against √(0.03² · 1.1)."""
    known = Prediction(centre=0, runs=10, spread=Spread(0.03, 4, 10), floor=0.001, assumed=False)

    widened = known.reach(0.01, 0.04) / known.reach(0.01, 0)

    assert widened == pytest.approx(sqrt(0.03**2 * 1.1 + 0.04**2) / sqrt(0.03**2 * 1.1))


def test_the_spread_is_the_median_deviation_made_fair_for_small_samples() -> None:
    """1, 2, 3, 4, 100: deviations from 3 are 2, 1, 0, 1, 97, their middle 1, so 1.4826 / 0.822."""
    found = spread_of([[1, 2, 3, 4, 100]])

    assert found.sigma == pytest.approx(1.4826 / 0.822)
    assert (found.freedom, found.runs) == (pytest.approx(2.0), 5)


def test_an_accepted_change_moves_the_level_and_keeps_the_spread() -> None:
    """Deviations 1, 0, 1 around 10 and 1, 0, 1 around 20: nothing of the jump. Groups of three need 1 / 0.672."""
    together = spread_of([[9, 10, 11], [19, 20, 21]])

    assert together.sigma == pytest.approx(1.4826 / 0.672)
    assert together.runs == 5
    assert spread_of([[9, 10, 11], [20]]).runs == 3


def test_one_run_has_no_spread() -> None:
    assert spread_of([[5.0]]) == Spread(0.0, 0.0, 0)
    assert deviation_of([[5.0]]) == Spread(0.0, 0.0, 0)


def test_few_runs_assume_a_wide_spread_of_times() -> None:
    """One run: 10% are assumed between runs, so a new one may lie √2 · 10% · 2.326 away at 1%."""
    known = predict([[TIME.scaled(40.0)]], TIME, fewest_runs=5)

    assert known.assumed
    assert known.reach(0.01, 0) == pytest.approx(2.3263 * 0.10 * sqrt(2), rel=1e-4)


def test_few_runs_assume_nothing_of_what_does_not_scatter() -> None:
    known = predict([[25.0]], COUNT, fewest_runs=5)

    assert not known.assumed
    assert known.reach(0.0003, 0) < 0.005 * 25
    assert known.surprise(1.0, 0) < 1e-9


def test_a_count_that_does_scatter_is_believed_to() -> None:
    """One of ten runs had one kernel more: the median deviation is 0, yet one kernel more is no surprise."""
    known = predict([[25.0] * 9 + [26.0]], COUNT, fewest_runs=5)

    assert known.surprise(1.0, 0) > 0.005


def test_the_floor_holds_where_runs_agree_by_chance() -> None:
    known = predict([[TIME.scaled(40.0)] * 8], TIME, fewest_runs=5)

    assert known.reach(0.01, 0) == pytest.approx(2.3263 * 0.01 * sqrt(1 + 1 / 8), rel=1e-4)


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
def test_what_metrics_are_like(metric: str, unit: str, worse: str, exact: bool, by_factor: bool) -> None:
    declared = registered_metrics()[metric]
    nature = nature_of(unit, Traits(declared.better, declared.scatter))

    assert (nature.worse, nature.exact, nature.by_factor) == (worse, exact, by_factor)


def test_the_configuration_can_turn_a_metric() -> None:
    assert nature_of("ms", Traits(Better.LESS, Scatter.FACTOR), "both").worse == "both"


def test_infinite_degrees_of_freedom_are_normal() -> None:
    known = Prediction(centre=0, runs=1, spread=Spread(0.1, inf, 0), floor=0.01, assumed=True)

    assert known.reach(0.025, 0) == pytest.approx(1.95996 * 0.1 * sqrt(2), rel=1e-4)


def test_a_nature_has_a_floor_near_zero() -> None:
    share: Nature = nature_of("fraction", Traits(Better.LESS, Scatter.SHARE))

    assert share.floor_at(0.0) == 0.005
    assert share.floor_at(0.8) == pytest.approx(0.008)
