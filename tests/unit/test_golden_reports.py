"""What is said of every recorded run stays as it is, unless somebody writes it anew and
says why.
"""

from __future__ import annotations

import pytest
from support.golden_reports import (
    GOLDEN,
    SOURCES,
    Recording,
    command_for,
    golden_text,
    recordings,
    report_of,
)

RECORDINGS = recordings()


@pytest.mark.parametrize("recording", RECORDINGS, ids=lambda one: one.name)
def test_a_recorded_run_is_told_as_before(recording: Recording) -> None:
    assert recording.golden.is_file(), f"new: {command_for(recording.name)}"
    before = recording.golden.read_text(encoding="utf-8")

    assert golden_text(report_of(recording.path)) == before, (
        f"if this is meant: {command_for(recording.name)}"
    )


def test_no_golden_report_is_left_of_a_run_that_is_gone() -> None:
    here = {one.golden for one in RECORDINGS}
    folders = [GOLDEN / source for source, folder in SOURCES.items() if folder.is_dir()]

    assert [
        file for folder in folders for file in folder.rglob("*.txt") if file not in here
    ] == []
