"""Values of the first steps: same, different, or nothing to be said."""

from __future__ import annotations

import pytest

from tfadvisor.trial.deciding.alike import compare_values


def word(base: list[dict[str, float]], new: dict[str, float], check: str = "values") -> str:
    return compare_values(base, [new], check)[0]


def test_a_loss_within_rounding_is_the_same() -> None:
    assert word([{"value:loss@1": 2.0}] * 2, {"value:loss@1": 2.01}) == "same"


def test_a_loss_beyond_rounding_differs() -> None:
    assert compare_values([{"value:loss@1": 2.0}] * 2, [{"value:loss@1": 2.1}], "values") == (
        "differs",
        "loss after step 1",
    )


def test_what_differs_from_run_to_run_allows_for_three_times_as_much() -> None:
    base = [{"value:loss@1": 2.0}, {"value:loss@1": 2.1}]

    assert word(base, {"value:loss@1": 2.35}) == "same"
    assert word(base, {"value:loss@1": 2.5}) == "differs"


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
def test_nothing_can_be_said(base: list[dict[str, float]], new: dict[str, float]) -> None:
    assert word(base, new) == "not checked"


def test_a_change_that_is_meant_to_change_results_is_not_checked() -> None:
    assert word([{"value:loss@1": 2.0}] * 2, {"value:loss@1": 9.0}, "none") == "not checked"
