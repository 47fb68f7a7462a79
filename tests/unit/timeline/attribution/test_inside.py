"""What lies inside an activity's time, on a thread on paper."""

from __future__ import annotations

from typing import Any

import numpy as np

from tfadvisor.timeline.attribution.inside import Given, Inside, inside, together
from tfadvisor.timeline.attribution.thread_time import Chains
from tfadvisor.timeline.names.doings import Doing
from tfadvisor.vocabulary import TimeClass

HOST = TimeClass.HOST


def chains(leaf: list[int], doing: list[int], step: list[int]) -> Chains:
    """A place for each chain with these names, in the same function of the user's
    program.
    """
    none = np.full(len(leaf), -1, np.int32)
    columns: dict[str, Any] = dict.fromkeys(Chains.__struct_fields__, none)
    columns["chain"] = np.arange(len(leaf))
    columns["leaf"] = np.array(leaf, np.int32)
    columns["doing"] = np.array(doing, np.int32)
    columns["step"] = np.array(step, np.int32)
    return Chains(**columns)


def found(one: Chains, spent: list[int]) -> list[Inside]:
    """Each place is of one event."""
    count = np.ones(len(spent), np.int32)
    parts = inside(
        [Given(HOST, one, np.array(spent), count)],
        lambda _, chosen: ["save"] * len(chosen),
        lambda row: f"n{row}",
        lambda _: Doing.SAVING,
    )
    return sorted(together(parts), key=lambda part: part.doing)


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


def test_the_fewest_steps_that_have_nine_tenths_bear_it() -> None:
    """Of 100 ps step 3 has 60, step 1 has 30 and step 0 the rest."""
    (one,) = found(chains([7] * 4, [7] * 4, [0, 1, 3, 3]), [10, 30, 40, 20])

    assert (one.steps, one.bearing, one.worst_ps) == (0b1011, 0b1010, 60)
