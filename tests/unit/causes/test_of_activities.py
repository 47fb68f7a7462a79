"""Causes of a host's activities, from what lies inside of their time."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tfadvisor.causes import causes_of
from tfadvisor.timeline.attribution.inside import Inside
from tfadvisor.timeline.names.doings import Doing
from tfadvisor.timeline.timeline_parts import StepSource
from tfadvisor.vocabulary import TimeClass

HOST = TimeClass.HOST


class Run(SimpleNamespace):
    """One that others may refer to weakly, as a run's summary is."""


def part(
    doing: Doing, ms: int, *, by: str = "x", count: int = 0, steps: int = 1
) -> Inside:
    return Inside(HOST, "work", doing, by, ms * 10**9, count, steps, ms * 10**9)


def run(*parts: Inside, steps: int = 4, warm: int = 0) -> Any:
    """A host whose first steps are set aside."""
    steady = np.array([False] * warm + [True] * steps)
    host = SimpleNamespace(
        evidence=SimpleNamespace(inside=parts),
        steps=SimpleNamespace(steady=lambda: steady, source=StepSource.MARKER),
    )
    return Run(hosts=[host])


def test_it_is_what_most_of_the_time_lies_in() -> None:
    """Of 100 ms 60 are converting, 30 are unknown, 8 flattening, 2 locks: too few."""
    (cause,) = causes_of(
        run(
            part(
                Doing.CONVERTING, 60, by="dtype (dtypes.py:1)", count=400, steps=0b1111
            ),
            part(Doing.UNKNOWN, 30),
            part(Doing.FLATTENING, 8),
            part(Doing.LOCKS, 2),
        )
    ).values()

    assert [(done.what, done.fraction) for done in cause.does] == [
        ("converting Python values one by one", pytest.approx(0.6)),
        ("flattening a tree of arguments", pytest.approx(0.08)),
    ]
    assert cause.does[0].by == "dtype (dtypes.py:1)"
    assert cause.does[0].count == 100


@pytest.mark.parametrize(
    ("steps", "often", "count"),
    [
        (0b1111, "every", 4),
        (0b0111, "most", 3),
        (0b0011, "most", 2),
        (0b1000, "once", 1),
    ],
)
def test_how_often_is_counted_in_the_steps_that_count(
    steps: int, often: str, count: int
) -> None:
    (cause,) = causes_of(run(part(Doing.COMPILING, 5, steps=steps))).values()

    assert (cause.often, cause.count, cause.of_steps) == (often, count, 4)


def test_a_step_that_is_set_aside_does_not_count() -> None:
    """The first of five compiles; of the other four only the last one does."""
    compiling = part(Doing.COMPILING, 5, steps=0b10001)
    (cause,) = causes_of(run(compiling, warm=1)).values()

    assert (cause.often, cause.count) == ("once", 1)


def test_ops_are_counted_together_and_the_first_are_named() -> None:
    """20 and 10 ops in two steps: 15 in each."""
    (cause,) = causes_of(
        run(
            part(Doing.OPS, 20, by="EagerLocalExecute: Mul", count=20, steps=0b11),
            part(Doing.OPS, 10, by="EagerLocalExecute: Add", count=10, steps=0b11),
        )
    ).values()

    (done,) = cause.does
    assert (done.count, done.by) == (15, "Mul, Add")


def test_the_host_that_has_most_of_it_speaks() -> None:
    first = run(part(Doing.SAVING, 1)).hosts
    second = run(part(Doing.SLEEPING, 9)).hosts
    (cause,) = causes_of(Run(hosts=[*first, *second])).values()

    assert cause.does[0].what == "sleeping"


def test_the_causes_of_one_run_are_found_once() -> None:
    """Asked twice it is the same answer; of another run it is another."""
    first, second = run(part(Doing.SAVING, 5)), run(part(Doing.LOCKS, 5))

    assert causes_of(first) is causes_of(first)
    assert causes_of(second) is not causes_of(first)
    assert [one.slug for one in causes_of(first)[HOST, "work"].does] == ["saving"]
