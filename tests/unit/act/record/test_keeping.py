"""What is known of the last recording of the same command."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tfadvisor.act.record.keeping import Earlier, _earlier


def recording(logdir: Path, run: str, **note: object) -> Path:
    folder = logdir / run
    folder.mkdir(parents=True)
    (folder / "recording.json").write_text(json.dumps(note))
    return folder


def test_the_last_recording_of_the_same_command_is_the_one_before(
    tmp_path: Path,
) -> None:
    """Of three before: the newest was of another program, the oldest is too old."""
    command = ["python", "train.py"]
    recording(tmp_path, "2026_01_01", command=command, recorded={"step_ms": 99.0})
    recording(tmp_path, "2026_01_02", command=command, recorded={"step_ms": 40.0})
    recording(tmp_path, "2026_01_03", command=["x"], recorded={"step_ms": 1.0})
    note = {"command": command, "recorded": {"step_ms": 20.0}}

    found = _earlier(recording(tmp_path, "2026_01_04", **note), note)

    assert found == Earlier("2026_01_02", step_ms=40.0, now_ms=20.0)


@pytest.mark.parametrize(
    ("now_ms", "is_said"), [(1.0, True), (199.0, True), (200.0, False)]
)
def test_a_step_that_is_five_times_as_long_is_another_step(
    tmp_path: Path, now_ms: float, is_said: bool
) -> None:
    """As a batch is, where an op repeated before; a change may save far more."""
    recording(tmp_path, "1", command=["a"], recorded={"step_ms": 40.0})
    note = {"command": ["a"], "recorded": {"step_ms": now_ms}}

    assert bool(_earlier(recording(tmp_path, "2", **note), note)) is is_said


@pytest.mark.parametrize(
    "before",
    [
        {},
        {"command": ["a"], "recorded": None},
        {"command": ["a"], "recorded": {"step_ms": "1"}},
        {"command": ["a"], "recorded": {"step_ms": 0}},
        [],
    ],
)
def test_a_note_that_says_less_is_compared_with_nothing(
    tmp_path: Path, before: object
) -> None:
    (tmp_path / "1").mkdir()
    (tmp_path / "1" / "recording.json").write_text(json.dumps(before))
    note = {"command": ["a"], "recorded": {"step_ms": 20.0}}

    assert _earlier(recording(tmp_path, "2", **note), note) is None
