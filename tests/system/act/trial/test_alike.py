"""Values of the first steps: same, different, or nothing to be said."""

from __future__ import annotations

import pytest

from tfadvisor.act.trial.alike import compare_values


def word(
    base: list[dict[str, float]], new: dict[str, float], check: str = "values"
) -> str:
    return compare_values(base, [new], check)[0]


def test_a_loss_within_rounding_is_the_same() -> None:
    assert word([{"value:loss@1": 2.0}] * 2, {"value:loss@1": 2.01}) == "same"


def test_a_loss_beyond_rounding_differs() -> None:
    assert compare_values(
        [{"value:loss@1": 2.0}] * 2, [{"value:loss@1": 2.1}], "values"
    ) == (
        "differs",
        "loss after step 1",
    )


def test_what_is_drawn_anew_in_each_run_may_lie_where_the_next_run_may() -> None:
    """Eight runs around 2.05, deviation 0.0535: t of 7 degrees of freedom at 0.05% is
    5.41, so 0.31; and 1% for rounding.
    """
    base = [{"value:loss@1": 2.0}, {"value:loss@1": 2.1}] * 4

    assert word(base, {"value:loss@1": 2.37}) == "same"
    assert word(base, {"value:loss@1": 2.39}) == "differs"


def test_two_runs_of_a_program_that_draws_at_random_tell_nothing() -> None:
    """They may lie close to each other by chance."""
    assert (
        word([{"value:w@1": 2.0}, {"value:w@1": 2.01}], {"value:w@1": 2.1})
        == "not checked"
    )


def test_batches_must_be_the_very_same() -> None:
    base = [{"batch:x@1": 2.0, "value:loss@1": 1.0}] * 2

    assert word(base, {"batch:x@1": 2.0, "value:loss@1": 9.0}, "batches") == "same"
    assert word(base, {"batch:x@1": 2.001, "value:loss@1": 1.0}, "batches") == "differs"


@pytest.mark.parametrize(
    ("base", "new"),
    [
        ([{"value:loss@1": 2.0}], {"value:loss@1": 2.0}),
        ([{"value:loss@1": 2.0}] * 2, {"value:other@1": 2.0}),
        ([{"value:loss@1": 2.0}, {"value:loss@1": 9.0}], {"value:loss@1": 30.0}),
    ],
    ids=["one run", "nothing shared", "each run has another"],
)
def test_nothing_can_be_said(
    base: list[dict[str, float]], new: dict[str, float]
) -> None:
    assert word(base, new) == "not checked"


def test_a_change_that_is_meant_to_change_results_is_not_checked() -> None:
    assert (
        word([{"value:loss@1": 2.0}] * 2, {"value:loss@1": 9.0}, "none")
        == "not checked"
    )
