"""Where in the user's program most of a class of time is spent."""

from __future__ import annotations

from tfadvisor.timeline.attribution.spent import Spent, largest_places
from tfadvisor.vocabulary import TimeClass


def spent(
    ps: int,
    file: str = "",
    line: int = 0,
    function: str = "",
    kind: TimeClass = TimeClass.HOST,
) -> Spent:
    return Spent(kind, "work", file=file, line=line, function=function, ps=ps)


def test_parts_of_one_place_add_up() -> None:
    """save takes 30 + 30 of 120, load 50; 10 have no place."""
    found = largest_places(
        [
            spent(30, "train.py", 4, "save"),
            spent(50, "train.py", 9, "load"),
            spent(30, "train.py", 4, "save"),
            spent(10),
        ]
    )

    assert found == {"host_place": "save (train.py:4)"}


def test_a_place_must_take_a_quarter() -> None:
    least = [spent(25, "train.py", 4, "save"), spent(75)]
    less = [
        spent(24, "train.py", 4, "save", TimeClass.INPUT),
        spent(76, kind=TimeClass.INPUT),
    ]

    assert largest_places([*least, *less]) == {"host_place": "save (train.py:4)"}


def test_an_op_stands_for_the_function_where_that_is_not_known() -> None:
    one = Spent(
        TimeClass.COLLECTIVE,
        "all-reduce",
        file="model.py",
        line=7,
        op="all-reduce.1",
        ps=5,
    )

    assert largest_places([one]) == {"collective_place": "all-reduce.1 (model.py:7)"}
