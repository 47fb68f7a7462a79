"""A step without its fault, worked out on paper."""

from __future__ import annotations

import pytest

from tfadvisor.advice.savings import LARGE, FaultTime, that_could_go, weight, without

HALF_OF_LAUNCH = FaultTime(left=0.1, keeps={"launch": 0.5}, spread=0.0, pairs=0)


def test_the_faults_own_time_goes_but_for_what_is_left_of_it() -> None:
    """Of 40% host time 30 are the fault's, of which a tenth stays: 3 and the 10
    others.
    """
    then = without({"kernels": 0.6, "host": 0.4}, {"host": 0.3}, HALF_OF_LAUNCH)

    assert then == {"kernels": pytest.approx(0.6), "host": pytest.approx(0.13)}


def test_time_elsewhere_goes_with_it() -> None:
    """Half of the 20% dispatching goes although the fault itself is host time."""
    then = without(
        {"kernels": 0.5, "host": 0.3, "launch": 0.2}, {"host": 0.3}, HALF_OF_LAUNCH
    )

    assert then == {
        "kernels": pytest.approx(0.5),
        "host": pytest.approx(0.03),
        "launch": pytest.approx(0.1),
    }


def test_a_fault_takes_no_more_of_a_part_than_there_is() -> None:
    assert without({"host": 0.2}, {"host": 0.5}, HALF_OF_LAUNCH) == {
        "host": pytest.approx(0.02)
    }


@pytest.mark.parametrize("left", [0.0, 0.4, 1.0])
@pytest.mark.parametrize("keep", [0.0, 0.7, 1.0])
def test_no_part_grows_and_none_falls_below_nothing(left: float, keep: float) -> None:
    parts = {"kernels": 0.3, "stretch": 0.1, "input": 0.4, "idle": 0.2}

    then = without(
        parts, {"input": 0.25}, FaultTime(left, dict.fromkeys(parts, keep), 0, 0)
    )

    assert all(0 <= then[name] <= share + 1e-12 for name, share in parts.items())


def test_what_could_go_is_its_own_time_and_the_parts_that_it_takes_from() -> None:
    """10 of the 30% host time, and all 20% of dispatching; kernels stay."""
    parts = {"kernels": 0.5, "host": 0.3, "launch": 0.2}

    assert that_could_go(parts, {"host": 0.1}, HALF_OF_LAUNCH) == pytest.approx(0.3)


def test_a_small_fault_takes_as_much_less_with_it() -> None:
    """5% of the step is a quarter of a large fault: an eighth of the dispatching goes
    with it, not half.
    """
    assert LARGE == 0.2

    then = without(
        {"kernels": 0.5, "host": 0.3, "launch": 0.2}, {"host": 0.05}, HALF_OF_LAUNCH
    )

    assert then == {
        "kernels": pytest.approx(0.5),
        "host": pytest.approx(0.255),
        "launch": pytest.approx(0.175),
    }


@pytest.mark.parametrize(
    ("own", "expected"), [(0.0, 0.0), (0.1, 0.5), (0.2, 1.0), (0.9, 1.0)]
)
def test_the_weight_of_a_fault_is_its_share_of_what_there_is(
    own: float, expected: float
) -> None:
    assert weight({"kernels": 0.5, "host": 0.5}, {"host": own}) == pytest.approx(
        expected
    )
    assert weight({"kernels": 0.25, "host": 0.25}, {"host": own / 2}) == pytest.approx(
        expected
    )


def test_in_a_step_of_nothing_a_fault_weighs_nothing() -> None:
    assert weight({"host": 0.0}, {}) == 0.0
