"""What a report says of the loop's rounds beside the step of the trace."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from tfadvisor.act.record.choosing import RecordedRun
from tfadvisor.act.record.notes import notes_of
from tfadvisor.act.record.pace import Pace
from tfadvisor.act.record.rounds import ProgramLoop
from tfadvisor.act.record.window import RecordedWindow


def loop(median_ms: float | None) -> ProgramLoop | None:
    if median_ms is None:
        return None
    return ProgramLoop(
        "train.py", 5, "main", "", prepares=False, median_ms=median_ms, lines=(5, 9)
    )


@pytest.mark.parametrize(
    ("rounds", "step_ms", "said"),
    [
        (
            (3.1, 16.5, 2.3),
            2.3,
            "",
        ),  # a first look counted a disturbed round; the window agrees with the program
        (
            (3.1, 6.0, 2.9),
            6.0,
            "A round of the loop at train.py:5 takes before 3.1 ms, while recorded 6 "
            "ms, after 2.9 ms.",
        ),
        (
            (80.0, None, 82.0),
            5.0,
            "What is taken for the step (markers) takes 5 ms, a round of the loop at "
            "train.py:5 80 ms.",
        ),
        ((80.0, 75.0, 82.0), 78.0, ""),
        ((None, None, None), 5.0, ""),
    ],
)
def test_rounds_are_told_where_they_differ_from_the_step(
    rounds: tuple[float | None, ...],
    step_ms: float,
    said: str,
) -> None:
    read = SimpleNamespace(counts=())
    chosen = RecordedWindow(
        Path("w"), False, 0.0, 1.0, read, Pace(20, step_ms, compiles=False)
    )  # type: ignore[arg-type]
    before, during, after = map(loop, rounds)

    notes = notes_of(RecordedRun(chosen, None, None, None, (before, during, after)))

    about_rounds = [one.note for one in notes if "round of the loop" in one.note]
    assert [text.partition(" Times")[0] for text in about_rounds] == (
        [said] if said else []
    )
