"""Student's t and the normal distribution against printed tables."""

from __future__ import annotations

from math import inf

import pytest

from tfadvisor.comparison.statistics.distributions import (
    incomplete_beta,
    normal_quantile,
    normal_tail,
    t_quantile,
    t_tail,
)


@pytest.mark.parametrize(
    ("freedom", "tail", "printed"),
    [
        (1, 0.025, 12.706),
        (1, 0.005, 63.657),
        (2, 0.05, 2.920),
        (4, 0.01, 3.747),
        (9, 0.01, 2.821),
        (9, 0.001, 4.297),
        (24, 0.025, 2.064),
        (120, 0.05, 1.658),
    ],
)
def test_quantiles_of_t_are_those_of_the_tables(
    freedom: float, tail: float, printed: float
) -> None:
    assert t_quantile(tail, freedom) == pytest.approx(printed, abs=5e-4)


@pytest.mark.parametrize(
    ("z", "printed"),
    [(0, 0.5), (1.645, 0.04998), (1.96, 0.0250), (2.326, 0.01001), (3.09, 0.0010)],
)
def test_tails_of_the_normal_distribution_are_those_of_the_tables(
    z: float, printed: float
) -> None:
    assert normal_tail(z) == pytest.approx(printed, abs=5e-6 if z else 0)


def test_with_one_degree_of_freedom_t_is_the_cauchy_distribution() -> None:
    """Its tail beyond 1 is a quarter."""
    assert t_tail(1, 1) == pytest.approx(0.25)
    assert t_tail(-1, 1) == pytest.approx(0.75)


def test_with_many_degrees_of_freedom_t_is_normal() -> None:
    assert t_tail(2, 1e7) == pytest.approx(normal_tail(2), rel=1e-5)
    assert t_tail(2, inf) == normal_tail(2)


@pytest.mark.parametrize("freedom", [0.4, 1, 2.5, 4, 30])
@pytest.mark.parametrize("tail", [0.4, 0.05, 0.001, 1e-6])
def test_a_quantile_is_exceeded_with_its_probability(
    freedom: float, tail: float
) -> None:
    assert t_tail(t_quantile(tail, freedom), freedom) == pytest.approx(tail, rel=1e-6)


def test_the_incomplete_beta_function_where_it_is_known() -> None:
    """I_x(1, 1) is x; I_x(2, 1) is x²; I_1/2(a, a) is 1/2; at the ends 0 and 1."""
    assert incomplete_beta(1, 1, 0.3) == pytest.approx(0.3)
    assert incomplete_beta(2, 1, 0.3) == pytest.approx(0.09)
    assert incomplete_beta(3.5, 3.5, 0.5) == pytest.approx(0.5)
    assert (incomplete_beta(2, 3, 0), incomplete_beta(2, 3, 1)) == (0, 1)


def test_impossible_probabilities_have_infinite_quantiles() -> None:
    assert normal_quantile(0) == inf
    assert normal_quantile(1) == -inf
