"""What a budget can decide."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from tfadvisor.act.trial.forecast import Forecast, rounds_words


def test_arms_that_start_the_program_take_two_smoke_runs_and_three_rounds() -> None:
    """Four arms and the program as it is twice: six runs a round, 20 in all."""
    forecast = Forecast(left=600, alone=("a", "b", "c", "d"), run_seconds=10)

    assert forecast.alone_seconds == 200
    assert (
        forecast.words()
        == "4 arms by starts of the program, 10 s each, at least 3.3 minutes"
    )


def test_a_budget_that_is_too_small_says_which_would_do() -> None:
    """100 s of 260 are left: the turns of 60 s fit, the runs of 200 s do not."""
    forecast = Forecast(
        left=100,
        in_turns=("input", "callbacks"),
        in_turns_seconds=60,
        alone=("a", "b", "c", "d"),
        run_seconds=10,
    )

    assert forecast.words().endswith(
        "The time that is left decides the first; --budget 6m would do for all."
    )


def test_a_budget_that_decides_nothing() -> None:
    """Five starts of a minute: two to begin with, and three rounds of two."""
    forecast = Forecast(left=60, alone=("a",), run_seconds=60)

    assert forecast.alone_seconds == 480
    assert forecast.words() == (
        "1 arm by starts of the program, 60 s each, at least 8.0 minutes. The time that is "
        "left decides few or none; --budget 10m would do for all."
    )


@pytest.mark.parametrize(("left", "is_hopeless"), [(39, True), (40, False)])
def test_a_budget_in_which_two_rounds_of_one_arm_do_not_fit_is_hopeless(
    left: float, is_hopeless: bool
) -> None:
    """Two runs to begin with and two rounds of two are 60 s, and of the budget 1.5
    times as much as is left. Arms in turns need fewer starts.
    """
    forecast = Forecast(left=left, alone=("a", "b"), run_seconds=10)

    assert forecast.is_hopeless is is_hopeless
    assert not replace(forecast, in_turns=("input",)).is_hopeless


def test_rounds_are_foreseen_by_a_run_as_it_was_measured() -> None:
    """One arm: two runs a round of 7 s, so that three rounds take 42 s and twelve 168,
    of which the budget has 100.
    """
    stages = (3, 5, 8, 12)

    assert rounds_words(["a"], stages, 7.0, left=500) == (
        "a run takes 7 s: 3 rounds of 2 runs about 42 s; if they decide nothing, up to "
        "12 rounds, 2.8 minutes"
    )
    assert rounds_words(["a"], stages, 7.0, left=100).endswith("1.7 minutes")
