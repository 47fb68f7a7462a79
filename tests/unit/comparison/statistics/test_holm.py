"""Holm's procedure, worked out on paper."""

from __future__ import annotations

import pytest

from tfadvisor.comparison.statistics.ranks import first_level, levels

EQUAL = dict.fromkeys("abcd", 1.0)


def test_the_textbook_example() -> None:
    """p = 0.005, 0.01, 0.03, 0.04 at 5%: allowed are 0.05/4, 0.05/3, then 0.03 > 0.05/2
    stops the procedure.
    """
    p = {"a": 0.01, "b": 0.04, "c": 0.03, "d": 0.005}

    allowed = levels(p, EQUAL, 0.05)

    assert allowed == pytest.approx(
        {"d": 0.05 / 4, "a": 0.05 / 3, "c": 0.05 / 2, "b": 0.05 / 2}
    )
    assert [name for name in p if p[name] <= allowed[name]] == ["a", "d"]


def test_after_the_first_that_is_not_significant_none_is() -> None:
    """0.02 > 0.05/4 stops at once; 0.024 would have passed 0.05/2 later, and must not."""
    p = {"a": 0.02, "b": 0.021, "c": 0.022, "d": 0.024}

    allowed = levels(p, EQUAL, 0.05)

    assert not [name for name in p if p[name] <= allowed[name]]


def test_weights_share_the_rate() -> None:
    """Weights 0.9 and 0.1 at 1%: the light one is allowed 0.001 while the heavy one is
    open, then the heavy one all.
    """
    weights = {"time": 0.9, "count": 0.1}

    assert levels({"time": 0.0095, "count": 0.0001}, weights, 0.01)[
        "time"
    ] == pytest.approx(0.01)
    assert levels({"time": 0.0095, "count": 0.9}, weights, 0.01)[
        "time"
    ] == pytest.approx(0.009)
    assert first_level("count", weights, 0.01) == pytest.approx(0.001)


def test_one_question_has_the_whole_rate() -> None:
    assert levels({"a": 0.3}, {"a": 7.0}, 0.01) == {"a": 0.01}


def test_without_questions_there_is_nothing_to_allow() -> None:
    assert levels({}, {}, 0.01) == {}
