"""Changes of one trial, made at once."""

from __future__ import annotations

from pathlib import Path

import pytest

from tfadvisor.act.trial.all_together import all_together
from tfadvisor.act.trial.candidates import Candidate

LINES = "a\nb\nc\nd\ne\nf\ng\nh\n"


@pytest.fixture
def program(tmp_path: Path) -> str:
    file = tmp_path / "train.py"
    file.write_text(LINES)
    return str(file)


def changing(path: str, old: str, new: str, **more: str) -> Candidate:
    return Candidate(name=new, texts={path: LINES.replace(old, new)}, **more)


def test_changes_of_one_file_and_variables_are_made_at_once(program: str) -> None:
    changes = [
        changing(program, "b", "B", check="batches", effect="Other order."),
        changing(program, "g", "G\nG", effect="More memory."),
        Candidate(name="X=1", env={"X": "1"}),
    ]

    found = all_together(changes)

    assert found is not None
    assert found.texts == {program: "a\nB\nc\nd\ne\nf\nG\nG\nh\n"}
    assert found.env == {"X": "1"}
    assert found.check == "batches"
    assert found.effect == "Other order. More memory."


@pytest.mark.parametrize("ends", ["\r\n", ""])
def test_line_ends_stay_as_they_are(ends: str, tmp_path: Path) -> None:
    """The last line has none in the second."""
    file = tmp_path / "train.py"
    text = LINES.replace("\n", ends) if ends else LINES[:-1]
    file.write_bytes(text.encode())
    changes = [
        Candidate(name=new, texts={str(file): text.replace(old, new)})
        for old, new in (("b", "B"), ("h", "H"))
    ]

    found = all_together(changes)

    assert found is not None
    merged = text.replace("b", "B").replace("h", "H")
    assert found.texts == {str(file): merged}


def test_changes_of_the_same_lines_do_not_fit_together(program: str) -> None:
    changes = [changing(program, "d", "D"), changing(program, "d", "x")]

    assert all_together(changes) is None


def test_one_variable_has_one_value() -> None:
    changes = [Candidate(name=f"X={value}", env={"X": value}) for value in "12"]

    assert all_together(changes) is None


def test_of_several_changes_for_one_finding_the_first_counts(program: str) -> None:
    first = changing(program, "b", "B", rule_id="op-by-op")
    others = changing(program, "b", "x", rule_id="op-by-op")
    beside = changing(program, "g", "G", rule_id="input-python-function")

    assert all_together([first, others]) is None
    found = all_together([first, others, beside])
    assert found is not None
    assert found.texts == {program: LINES.replace("b", "B").replace("g", "G")}


@pytest.mark.parametrize("count", [0, 1])
def test_fewer_than_two_are_no_more_than_they_are(count: int, program: str) -> None:
    assert all_together([changing(program, "b", "B")] * count) is None
