"""Questions about a program's source that fail."""

from __future__ import annotations

from pathlib import Path

import pytest

from tfadvisor.causes import ProgramSource, program_source
from tfadvisor.errors import SourceUnread

NOTE = (
    "The program's source could not be read whole: RecursionError in saved_often. What "
    "rests on it is left out."
)


@pytest.fixture
def source(tmp_path: Path) -> ProgramSource:
    (tmp_path / "train.py").write_text("x = 1\n", "utf-8")
    return ProgramSource(tmp_path)


def raising(error: Exception) -> object:
    def fails(*_given: object) -> None:
        raise error

    return fails


def test_a_question_that_fails_is_noted_once(
    source: ProgramSource, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(program_source, "saved_often", raising(RecursionError("deep")))

    for _ in range(2):
        with pytest.raises(SourceUnread, match="RecursionError in saved_often") as told:
            source.saved_often("train.py", 1)
        assert isinstance(told.value.__cause__, RecursionError)
    assert source.unread == [NOTE]


def test_what_is_asked_once_is_noted_too(
    source: ProgramSource, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(program_source, "pipeline_maps", raising(KeyError("a")))

    with pytest.raises(SourceUnread, match="KeyError in pipeline_maps"):
        assert source.pipeline_maps


def test_too_little_memory_is_no_fault_of_the_source(
    source: ProgramSource, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(program_source, "saved_often", raising(MemoryError()))

    with pytest.raises(MemoryError):
        source.saved_often("train.py", 1)
    assert source.unread == []
