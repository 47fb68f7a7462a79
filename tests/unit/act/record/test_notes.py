"""What a report says of the loop's rounds beside the step of the trace."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest
from msgspec.structs import replace

from tfadvisor.act.record.choosing import RecordedRun, RecordRequest
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
        ((3.1, 2.3), 2.3, ""),
        ((3.1, 2.3), 3.7, ""),
        (
            (3.1, 2.9),
            6.0,
            "A round of the loop at train.py:5 takes 3.1 ms and 2.9 ms unrecorded, a "
            "step 6 ms in the recording.",
        ),
        (
            (80.0, 82.0),
            5.0,
            "What is taken for the step (markers) takes 5 ms, a round of the loop at "
            "train.py:5 80 ms.",
        ),
        ((80.0, 82.0), 78.0, ""),
        ((0.0, 0.0), 78.0, ""),
        ((None, None), 5.0, ""),
    ],
)
def test_rounds_are_told_where_they_differ_from_the_step_by_more_than_a_fifth(
    rounds: tuple[float | None, ...],
    step_ms: float,
    said: str,
) -> None:
    """Rounds of 0 ms were not counted."""
    before, after = map(loop, rounds)

    notes = notes_of(RecordedRun(window(step_ms), None, rounds=(before, after)))

    about_rounds = [one.note for one in notes if "round of the loop" in one.note]
    assert [text.partition(" Times")[0] for text in about_rounds] == (
        [said] if said else []
    )


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({}, "the program made no more of them."),
        ({"cut": True}, "its memory grew while it was recorded."),
        (
            {"shortened": True},
            "a longer window would have held more than a profiler writes in seconds.",
        ),
    ],
)
def test_fewer_steps_than_were_asked_for_are_never_without_a_word(
    more: dict[str, bool], why: str
) -> None:
    chosen = replace(window(5.0), **more)

    asked, enough = (
        notes_of(RecordedRun(chosen, None, wanted=RecordRequest(None, steps)))
        for steps in (5000, 20)
    )

    said = f"Of the 5,000 steps asked for, 20 are here: {why}"
    assert said in [one.note for one in asked]
    assert not [one for one in enough if "asked for" in one.note]


def window(step_ms: float) -> RecordedWindow:
    read = SimpleNamespace(counts=())
    pace = Pace(20, step_ms, compiles=False)
    return RecordedWindow(Path("w"), False, 0.0, 1.0, read, pace)  # type: ignore[arg-type]
