"""What a report says of one line of the program, or of one op."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.trace_builder import trace

from tfadvisor.analysis import Options
from tfadvisor.report.forms.of_place import place_text
from tfadvisor.report.model import Report

PROGRAM = "def save(state):\n    pickle.dumps(state)\n"


@pytest.fixture
def report(tmp_path: Path) -> Report:
    """Steps of 100 µs: 70 in pickle.dumps of save, 30 of kernel k."""
    (tmp_path / "train.py").write_text(PROGRAM, "utf-8")
    builder = trace()
    for at in range(0, 400, 100):
        builder.step(at, at + 100)
        builder.kernel("GPU:0", "k", at, at + 30, launched=(at, at))
        builder.call("$train.py:1 save", at + 30, at + 100)
        builder.call("$_pickle dumps", at + 30, at + 100)
    return builder.report(Options(source=tmp_path))


def test_a_line_has_its_source_and_what_lies_on_it(report: Report) -> None:
    lines = place_text(report, "train.py:2").splitlines()

    assert lines[0] == "train.py:2"
    assert lines[1] == "  70% of the step; it may differ from what ran"
    assert ">    2   70%  host                            " in lines[3]
    assert any(line.startswith("  70% host: save (train.py:1)") for line in lines)


def test_an_op_has_its_time(report: Report) -> None:
    assert "k, 100% of device time, 30 µs a step, 1 times" in place_text(report, "k")


@pytest.mark.parametrize("asked", ["other.py:3", "fusion.99", ":", ""])
def test_what_the_report_does_not_have_is_no_text(report: Report, asked: str) -> None:
    assert place_text(report, asked) == ""
