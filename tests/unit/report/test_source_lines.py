"""The program's lines with what they cost, from a trace of frames and its source."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest
from msgspec.structs import replace
from support.trace_builder import trace

from tfadvisor.analysis import Options
from tfadvisor.causes import ProgramSource, program_source
from tfadvisor.errors import UsageError
from tfadvisor.report.assembly.annotated import on_files
from tfadvisor.report.forms.markdown import as_markdown
from tfadvisor.report.forms.terminal import as_text
from tfadvisor.report.model import Report
from tfadvisor.report.source_lines import annotated_files, in_columns, lines_of

PROGRAM = """\
def save(state):
    text = str(state)
    pickle.dumps(text)


def train(state):
    while True:
        state = step(state)
        save(state)
"""


@pytest.fixture
def program(tmp_path: Path) -> Path:
    (tmp_path / "train.py").write_text(PROGRAM, "utf-8")
    return tmp_path


def a_report(source: Path) -> Report:
    """Steps of 100 µs: 60 in pickle.dumps of save, 10 in save itself, 30 computing."""
    builder = trace().call("$train.py:6 train", -50, 450)
    for at in range(0, 400, 100):
        builder.step(at, at + 100)
        builder.kernel("GPU:0", "k", at, at + 30, launched=(at, at))
        builder.call("$train.py:1 save", at + 30, at + 100)
        builder.call("$_pickle dumps", at + 40, at + 100)
    return builder.report(Options(source=source))


def test_each_line_bears_what_it_calls_outside_of_the_program(program: Path) -> None:
    """dumps is called on line 3 alone; line 1 begins the function whose own lines take
    the other 10 µs.
    """
    (file,) = annotated_files(a_report(program))

    assert (file.file, file.state) == ("train.py", "unknown")
    costs = {one.line: (round(one.fraction, 3), set(one.classes)) for one in file.costs}
    assert costs == {1: (0.1, {"host"}), 3: (0.6, {"host"})}
    assert file.fraction == pytest.approx(0.7)
    ((*lines,),) = lines_of(file)
    assert in_columns(lines[2]) == (
        "    3   60%  host                            pickle.dumps(text)"
    )


def test_a_finding_shows_the_line_that_it_points_to(program: Path) -> None:
    """Of steps of 10 ms save takes 7: it gets what the step gives, and gives nothing
    back.
    """
    builder = trace().call("$train.py:6 train", -50, 45_000)
    for at in range(0, 40_000, 10_000):
        builder.step(at, at + 10_000)
        builder.kernel("GPU:0", "k", at + 10, at + 3_000, launched=(at, at + 1))
        builder.call("PjitFunction(step)", at, at + 10)
        builder.call("$train.py:1 save", at + 3_000, at + 10_000)
        builder.call("$_pickle dumps", at + 3_010, at + 9_990)

    report = builder.report(Options(source=program))
    first = report.findings[0]

    assert [place.text for place in first.locations] == ["def save(state):"]
    assert "train.py:1 in save │ def save(state):" in as_text(report)
    assert first.fixes[0].before == "while True:\n    ...\n    save(state)"
    assert "if step % 64 == 0:\n    save(state)" in first.fixes[0].snippet


def test_a_line_has_its_dispatches(tmp_path: Path) -> None:
    """`step` is called on line 3 alone, twice in each step."""
    (tmp_path / "train.py").write_text("def f():\n    x = 1\n    step(x)\n", "utf-8")
    builder = trace().call("$train.py:1 f", -50, 450)
    for at in range(0, 400, 100):
        builder.step(at, at + 100).kernel(
            "GPU:0", "k", at + 60, at + 100, launched=(at, at)
        )
        builder.call("PjitFunction(step)", at, at + 20)
        builder.call("PjitFunction(step)", at + 30, at + 50)
    (file,) = annotated_files(builder.report(Options(source=tmp_path)))

    dispatches = {cost.line: cost.dispatches for cost in file.costs}
    assert dispatches[3] == 2
    ((*lines,),) = lines_of(file)
    assert lines[2].dispatches == "2"


def test_forms_show_the_lines_at_a_place_and_all_of_them(program: Path) -> None:
    report = a_report(program)

    assert "   2 │ text = str(state)\n" in as_text(report)
    assert "   3 │ pickle.dumps(text)\n" in as_text(report)
    whole = "    3   60%  host                            pickle.dumps(text)\n"
    assert whole in as_text(report, details=True)
    assert whole in as_markdown(report)


def test_a_fence_is_longer_than_any_in_the_program(tmp_path: Path) -> None:
    text = PROGRAM.replace("text = str(state)", "text = '```````'")
    (tmp_path / "train.py").write_text(text, "utf-8")

    assert "\n````````text\n" in as_markdown(a_report(tmp_path))


def test_control_characters_of_a_program_are_escaped(tmp_path: Path) -> None:
    text = PROGRAM.replace("text = str(state)", "text = '\x1b[31m\u202e'")
    (tmp_path / "train.py").write_text(text, "utf-8")
    shown = as_text(a_report(tmp_path), details=True)

    assert "\\x1b[31m\\x202e" in shown
    assert "\x1b" not in shown


def test_of_a_long_file_only_functions_that_take_time_are_shown(
    program: Path,
) -> None:
    (program / "train.py").write_text(PROGRAM + "\n" * 300, "utf-8")
    (file,) = annotated_files(a_report(program))

    assert [(one.first, len(one.lines)) for one in file.parts] == [(1, 3)]


def test_a_file_that_differs_from_what_ran_is_said_to(program: Path) -> None:
    from tfadvisor.trace.noted_sources import NotedSource

    path = str(program / "train.py")
    ran = hashlib.sha256(b"other").hexdigest()
    noted = [NotedSource(path, ran, rewritten=False)]
    file = replace(annotated_files(a_report(program))[0], state="differs")
    shown = [one.note for one in on_files([file], None)]
    assert shown == ["train.py differs from what ran: its lines may be others."]

    source = ProgramSource(None, noted)
    assert source.files.read("train.py") is None
    (note,) = on_files((), source)
    assert (note.note, note.do) == (
        "train.py differs from what ran, so its lines are not shown.",
        "--source DIR shows them as they are now.",
    )


def test_without_a_source_there_is_none(program: Path) -> None:
    (program / "below").mkdir()
    report = a_report(program / "below")

    assert annotated_files(report) == ()
    assert "The program's lines" not in as_text(report, details=True)
    with pytest.raises(UsageError, match="no such file or folder"):
        a_report(program / "nowhere")


@pytest.mark.parametrize("asked", ["witness_of", "tie_of", "line_within"])
def test_a_question_that_fails_costs_its_answer_and_a_note(
    asked: str, program: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Asked by metrics, or where the report places time on lines."""

    def fails(*_given: object) -> None:
        raise RecursionError

    monkeypatch.setattr(program_source, asked, fails)
    report = a_report(program)

    assert report.broken == ()
    notes = [note.note for note in report.capture if note.rule_id == "source"]
    assert any("could not be read whole: RecursionError in" in note for note in notes)


def test_a_folder_without_a_program_is_said(tmp_path: Path) -> None:
    notes = [note.note for note in a_report(tmp_path).capture]

    assert f"--source {tmp_path} holds no Python file." in notes
