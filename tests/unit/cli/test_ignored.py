"""What a configuration ignores is left out of `analyze` as the gate leaves it out, and
the report says so.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.places import FIXTURES

from tfadvisor.cli.main import guarded_main

IGNORE = """
[[ignore]]
check = "input-*"
reason = "the loader is being rewritten"
expires = {day}
"""


@pytest.mark.parametrize(
    ("day", "found"), [("2999-01-01", False), ("2020-01-01", True)]
)
def test_a_finding_is_ignored_until_its_day(
    day: str,
    found: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "tfadvisor.toml").write_text(IGNORE.format(day=day))
    monkeypatch.chdir(tmp_path)

    assert (
        guarded_main(["analyze", str(FIXTURES / "jax-loader"), "--format", "json"]) == 0
    )

    report = json.loads(capsys.readouterr().out)
    assert (
        "input-loader-in-step" in [one["rule_id"] for one in report["findings"]]
    ) is found
    told = [
        one["note"]
        for one in report["capture"]
        if "the loader is being rewritten" in one["note"]
    ]
    assert told == (
        []
        if found
        else [
            f"input-loader-in-step: ignored until {day} by tfadvisor.toml:2: the "
            "loader is being rewritten"
        ]
    )


def test_open_shows_the_page_and_what_was_written_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    opened: list[str] = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    page = tmp_path / "report.html"

    assert (
        guarded_main(
            ["analyze", str(FIXTURES / "jax-loader"), "--open", "-o", str(page)]
        )
        == 0
    )

    assert opened == [page.resolve().as_uri()]
    assert f"wrote {page} (html)" in capsys.readouterr().err


def test_open_leaves_nothing_where_there_is_nothing_to_show(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))

    assert guarded_main(["analyze", str(tmp_path / "none"), "--open"]) == 3

    assert list(tmp_path.iterdir()) == []
