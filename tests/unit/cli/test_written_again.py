"""What is written once more when the program that was recorded has ended."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tfadvisor.analysis import Options
from tfadvisor.cli import recording
from tfadvisor.cli.outputs import ReportPlace
from tfadvisor.report.forms import REPORT_FORMS, form_of

SLOW, LOADS = ("input-not-prefetched", "input"), ("files-read-in-loop", "loading")


def kept(*findings: tuple[str, str], takes: float = 0.3) -> Any:
    return SimpleNamespace(
        report=SimpleNamespace(
            findings=[
                SimpleNamespace(rule_id=rule, locations=(), takes=takes, title=title)
                for rule, title in findings
            ]
        )
    )


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """What is written, in order."""
    reports: list[object] = []
    monkeypatch.setattr(
        recording, "write_kept", lambda kept, _options, _place: reports.append(kept)
    )
    return reports


def place(form: str = "text", output: Path | None = None) -> ReportPlace:
    return ReportPlace(form_of(REPORT_FORMS, form, output), output, details=False)


def test_another_first_finding_is_shown_with_its_change(
    written: list[object], capsys: pytest.CaptureFixture[str]
) -> None:
    after = kept(LOADS, SLOW)

    recording.write_again(kept(SLOW), after, Options(), place())

    assert written == [after]
    assert "the first finding is: loading" in capsys.readouterr().err


def test_the_same_first_finding_is_not_shown_twice(
    written: list[object], capsys: pytest.CaptureFixture[str]
) -> None:
    recording.write_again(kept(SLOW), kept(SLOW, LOADS), Options(), place())

    assert (written, capsys.readouterr().err) == ([], "")


def test_json_on_standard_output_is_one_report(
    written: list[object], capsys: pytest.CaptureFixture[str]
) -> None:
    recording.write_again(kept(SLOW), kept(LOADS), Options(), place("json"))

    assert written == []
    assert "the first finding is: loading" in capsys.readouterr().err


def test_a_file_holds_what_the_whole_run_tells(
    written: list[object], tmp_path: Path
) -> None:
    after = kept(SLOW)
    page = place("html", tmp_path / "report.html")

    recording.write_again(kept(SLOW), after, Options(), page)

    assert written == [after]
