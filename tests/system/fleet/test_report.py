"""What a table says the fleet loses, worked out by hand."""

from __future__ import annotations

import json
import re
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tfadvisor.fleet.costs import Fleet, summed
from tfadvisor.fleet.fleet_forms import as_page, as_text
from tfadvisor.fleet.table import write_table
from tfadvisor.fleet.work import Row

NEW_YEAR = datetime(2026, 1, 1, tzinfo=timezone.utc)


def row(place: str, day: int = 0, **columns: object) -> Row:
    usual: dict[str, object] = {
        "run": place,
        "recorded_at": NEW_YEAR + timedelta(days=day),
        "devices": 8,
        "healthy": False,
        "verdict": "input",
        "verdict_fraction": 0.5,
        "step_time_ms": 100.0,
        "stamp": "",
        "rules": "",
        "tool": "",
    }
    return Row(place=place, **{**usual, **columns})  # type: ignore[arg-type]


def told(*rows: Row) -> Fleet:
    return summed(rows)


def test_device_hours_by_cause() -> None:
    """8 devices lose half of an hour and 16 a quarter: 4 of 8, and 4 of 16. 8 more are
    healthy.
    """
    fleet = told(
        row("a"),
        row("b", verdict="compile", verdict_fraction=0.25, devices=16),
        row("c", healthy=True, verdict="none", verdict_fraction=0.1),
    )

    assert [(one.name, one.hours, one.lost) for one in fleet.causes] == [
        ("compile", 16, 4),
        ("input", 8, 4),
        ("healthy", 8, 0),
    ]
    assert (fleet.whole.hours, fleet.whole.lost) == (32, 8)


def test_what_first_findings_could_save() -> None:
    """A quarter to a half of 8 device-hours."""
    fleet = told(
        row("a", finding="slow-input", saving_low=0.25, saving_high=0.5), row("b")
    )

    (one,) = fleet.findings
    assert (one.name, one.low, one.high, one.runs) == ("slow-input", 2, 4, 1)
    assert (fleet.causes[0].finding, fleet.causes[0].runs) == ("slow-input", 2)


def test_teams_and_models_only_where_they_are_told() -> None:
    fleet = told(row("a", team="vision"), row("b", devices=1))

    assert [(one.name, one.runs) for one in fleet.teams] == [
        ("vision", 1),
        ("(not told)", 1),
    ]
    assert fleet.models == ()


def test_a_long_name_keeps_its_end_and_no_column_is_empty() -> None:
    """40 letters of 44 have room; models of a family differ in their last ones."""
    words = as_text(
        told(
            row(
                "a",
                model="a-very-long-name-of-a-model-for-translation-v2",
                finding="slow-input",
            )
        )
    )

    assert "\na-very-long-name-of-a-mod…translation-v2  " in words
    by_finding = words.split("By first finding")[1].split("By model")[0]
    assert "commonest finding" not in by_finding
    assert "commonest finding" in words


def test_failed_runs_are_named_and_cost_nothing() -> None:
    fleet = told(
        row("a"), row("b", error="is cut short.", error_kind="trace", healthy=None)
    )

    assert [one.place for one in fleet.failed] == ["b"]
    assert fleet.whole.hours == 8
    assert "b: is cut short." in as_text(fleet)


def test_a_table_without_a_report_is_told_too() -> None:
    fleet = told(row("b", error="is cut short.", error_kind="trace"))

    assert "No run has a report." in as_text(fleet)
    assert "No run has a report." in as_page(fleet)


def test_names_are_text_on_the_page() -> None:
    page = as_page(told(row("<script>alert(1)</script>", team="<b>us</b>")))

    assert page.count("<script") == 1  # the frame's own
    assert "&lt;script&gt;alert" in page
    assert "&lt;b&gt;us&lt;/b&gt;" in page
    assert not re.search(r"https?://", page)


def test_the_command_in_every_form(tmp_path: Path, say) -> None:
    table = tmp_path / "runs.parquet"
    write_table(
        table, {one.place: one for one in [row("a", team="vision"), row("b", day=3)]}
    )

    code, out, _ = say("fleet", table)
    assert code == 0
    assert "2 runs, 16 device-hours" in out
    assert "8 device-hours (50%)" in out
    assert say("fleet", table, "-o", tmp_path / "fleet.html")[0] == 0
    assert "<h2>By team</h2>" in (tmp_path / "fleet.html").read_text()
    code, out, _ = say("fleet", table, "--format", "json")
    assert json.loads(out)["whole"]["lost"] == 8


@pytest.mark.parametrize("content", [b"", b"PAR1 and no more", b"text"])
def test_what_is_no_table(tmp_path: Path, say, content: bytes) -> None:
    (tmp_path / "runs.parquet").write_bytes(content)

    code, out, err = say("fleet", tmp_path / "runs.parquet")

    assert (code, out) == (3, "")
    assert "is no table of runs" in err


def test_a_parquet_file_of_something_else(tmp_path: Path, say) -> None:
    pq.write_table(pa.table({"x": [1]}), tmp_path / "other.parquet")

    code, _, err = say("fleet", tmp_path / "other.parquet")

    assert code == 3
    assert "is no table of runs" in err


def test_folders_are_read_without_a_table(logs: Path, tmp_path: Path, say) -> None:
    """Of four runs one cannot be read; the same as by way of a table."""
    code, out, err = say("fleet", logs, "--labels", "{team}/{model}")
    assert (code, err) == (0, "")
    assert (
        say(
            *("fleet", logs, "--labels", "{team}/{model}", "-o", tmp_path / "r.parquet")
        )[0]
        == 0
    )

    assert say("fleet", tmp_path / "r.parquet")[1] == out
    assert "By team" in out
    assert say("fleet", logs, "-o", tmp_path / "fleet.html")[0] == 0
    assert "<h2>By cause</h2>" in (tmp_path / "fleet.html").read_text()


def test_a_table_is_no_source_of_a_table(tmp_path: Path, say) -> None:
    write_table(tmp_path / "a.parquet", {"a": row("a")})

    code, _, err = say("fleet", tmp_path / "a.parquet", "-o", tmp_path / "b.parquet")

    assert code == 2
    assert "is a table already" in err
