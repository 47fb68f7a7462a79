"""Stats beside the events that bear them."""

from __future__ import annotations

import numpy as np

from tfadvisor.timeline.devices.event_stats import value_at


def found(where: list[int], value: list[int], positions: list[int]) -> list[int]:
    columns = (np.array(one, np.int64) for one in (where, value, positions))
    return value_at(*columns, -1).tolist()  # type: ignore[arg-type]


def test_positions_without_a_value_get_what_stands_for_none() -> None:
    assert found([2, 5], [20, 50], [1, 2, 3, 5, 9]) == [-1, 20, -1, 50, -1]


def test_values_may_come_in_any_order() -> None:
    assert found([5, 2, 9], [50, 20, 90], [9, 2, 5]) == [90, 20, 50]


def test_of_several_values_at_one_position_the_last_counts() -> None:
    assert found([2, 5, 2, 2], [1, 50, 3, 4], [2, 5]) == [4, 50]


def test_without_any_value_all_get_what_stands_for_none() -> None:
    assert found([], [], [3, 4]) == [-1, -1]
    assert found([3], [1], []) == []
