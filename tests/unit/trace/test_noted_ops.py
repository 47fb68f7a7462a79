"""What is noted beside a trace of the lines that made TensorFlow's ops."""

from __future__ import annotations

from pathlib import Path

import pytest

from tfadvisor.trace.noted_ops import MadeOf, NotedOps, OpLine, noted_ops

NOTE = (
    '{"version": 1, "files": ["/home/me/train.py"], "functions": ["step", "body"],'
    ' "ops": [["while", "While", 0, 3, 0], ["while/Tile", "Tile", 0, 5, 1]]}'
)


def noted(folder: Path, *contents: str) -> NotedOps:
    traces = []
    for number, content in enumerate(contents):
        (folder / f"host{number}.ops.json").write_text(content, "utf-8")
        traces.append(folder / f"host{number}.xplane.pb")
    return noted_ops(traces)


@pytest.mark.parametrize(
    ("path", "op_type", "line"),
    [
        ("while", "While", OpLine("train.py", 3, "step")),
        ("StatefulPartitionedCall/while", "While", OpLine("train.py", 3, "step")),
        ("while/body/_1/while/Tile", "Tile", OpLine("train.py", 5, "body")),
        ("while/body/_1/while/Tile", "Pad", None),
        ("meanwhile", "While", None),
        ("", "", None),
    ],
)
def test_a_trace_names_an_op_behind_the_calls_that_lead_to_it(
    tmp_path: Path, path: str, op_type: str, line: OpLine | None
) -> None:
    assert noted(tmp_path, NOTE).line_of(path, op_type) == line


def test_what_several_lines_made_by_one_name_is_of_none(tmp_path: Path) -> None:
    found = noted(tmp_path, NOTE, NOTE.replace("0, 5, 1", "0, 7, 1"), NOTE)

    assert found.line_of("while/Tile", "Tile") is None
    assert found.line_of("while", "While") == OpLine("train.py", 3, "step")
    assert len(found.ops) == 3


@pytest.mark.parametrize(
    "content",
    [
        "",
        "[]",
        NOTE.replace('"version": 1', '"version": 3'),
        NOTE.replace("0, 3, 0]", "0, 3, 0, 3]").replace("0, 5, 1]", "0, 5, 1, -1]"),
        NOTE.replace("0, 3, 0", "0, -3, 0"),
        NOTE.replace("0, 3, 0", "7, 3, 0").replace("0, 5, 1", "0, 5, 9"),
        NOTE.replace("0, 3, 0", "0, 3").replace("0, 5, 1", "0"),
        "[" * 100_000,
    ],
)
def test_a_note_that_cannot_be_used_has_no_line(tmp_path: Path, content: str) -> None:
    assert noted(tmp_path, content) == NotedOps()


def test_a_trace_without_a_note_has_no_line(tmp_path: Path) -> None:
    assert noted_ops([tmp_path / "host.xplane.pb"]) == NotedOps()


def test_what_ops_of_one_name_are_made_of_all_of_them_must_say(tmp_path: Path) -> None:
    """A note of version 1 does not say it."""
    note = NOTE.replace("0, 3, 0]", "0, 3, 0, 2]").replace("0, 5, 1]", "0, 5, 1, 1]")
    note = note.replace('"version": 1', '"version": 2')
    other = note.replace("0, 3, 0, 2]", "0, 9, 0, 1]")
    alone, both = noted(tmp_path, note), noted(tmp_path, note, other)

    assert alone.made_of("call/while", "While") is MadeOf.CONSTANTS
    assert alone.made_of("while/Tile", "Tile") is MadeOf.VARIABLES
    assert alone.made_of("while/Tile", "Pad") is None
    assert both.made_of("while", "While") is MadeOf.VARIABLES
    assert noted(tmp_path, NOTE).made_of("while", "While") is MadeOf.ARGUMENTS
