"""What lies inside an activity's time, on a thread on paper."""

from __future__ import annotations

from typing import Any

import numpy as np

from tfadvisor.timeline.attribution.inside import Inside, inside, together
from tfadvisor.timeline.attribution.thread_time import Chains
from tfadvisor.timeline.names.doings import Doing
from tfadvisor.vocabulary import TimeClass

HOST = TimeClass.HOST


def chains(leaf: list[int], doing: list[int], step: list[int]) -> Chains:
    """Events with these names, each in the same function of the user's program."""
    none = np.full(len(leaf), -1, np.int32)
    no = np.zeros(len(leaf), np.bool_)
    does = [Doing.SAVING if row >= 0 else Doing.UNKNOWN for row in doing]
    columns: dict[str, Any] = dict.fromkeys(Chains.__struct_fields__, none)
    return Chains(
        **{
            **columns,
            "leaf": np.array(leaf, np.int32),
            "doing": np.array(doing, np.int32),
            "does": np.array(does, np.int8),
            "step": np.array(step, np.int32),
            "kind": np.zeros(len(leaf), np.int8),
            "compiles": no,
            "feeds": no,
        }
    )


def found(one: Chains, spent: list[int]) -> list[Inside]:
    names = inside(HOST, one, np.array(spent), lambda _: "save", lambda row: f"n{row}")
    return sorted(together(names), key=lambda part: part.doing)


def test_time_is_summed_by_what_is_done_and_its_events_are_counted() -> None:
    """Event 7 saves, 8 lies inside of it; 3 does what nothing tells. Steps 0 and 2."""
    one = chains(leaf=[7, 8, 7, 3], doing=[7, 7, 7, -1], step=[0, 0, 2, 2])
    other, saves = found(one, [10, 5, 30, 4])

    assert (saves.doing, saves.by, saves.ps, saves.count) == (Doing.SAVING, "n7", 45, 2)
    assert (saves.steps, saves.worst_ps) == (0b101, 30)
    assert (other.doing, other.by, other.ps, other.steps) == (
        Doing.UNKNOWN,
        "",
        4,
        0b100,
    )


def test_what_takes_no_time_of_the_class_is_not_there() -> None:
    assert found(chains([7, 8], [7, 7], [0, 1]), [0, 0]) == []


def test_what_runs_before_the_first_step_lies_in_none_before_it() -> None:
    """An event that began in no step counts for the first."""
    (one,) = found(chains([7], [7], [-1]), [5])

    assert one.steps == 0b1
