"""The page's queries run, on a table that the command wrote, and answer what is worked
out by hand.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from support.places import ROOT

from tfadvisor.fleet.work import Row

duckdb = pytest.importorskip("duckdb", reason="duckdb is not installed")
TABLE = (ROOT / "docs" / "fleet-table.md").read_text(encoding="utf-8")
PAGE = (ROOT / "docs" / "fleet-queries.md").read_text(encoding="utf-8")
QUERIES = dict(re.findall(r"## ([^\n]+)\n.*?```sql\n(.*?)```", PAGE, re.S))


@pytest.fixture
def ask(logs: Path, tmp_path: Path, say, monkeypatch: pytest.MonkeyPatch):
    """The rows that a query of the page gives, by its heading."""
    assert (
        say(
            "fleet",
            logs,
            "--labels",
            "{team}/{model}/{job}",
            "-o",
            tmp_path / "runs.parquet",
        )[0]
        == 0
    )
    monkeypatch.chdir(tmp_path)

    def rows(heading: str) -> list[dict[str, Any]]:
        found = duckdb.sql(QUERIES[heading])
        return [] if found is None else found.to_arrow_table().to_pylist()

    return rows


def test_there_are_five() -> None:
    assert len(QUERIES) == 5


def test_what_costs_most(ask) -> None:
    assert all(
        row["devices_to_save"] >= 0 and row["runs"] for row in ask("What costs most")
    )


def test_whose_runs_wait_for_input(ask) -> None:
    """None: no run of theirs has an input pipeline."""
    assert ask("Whose runs wait for input") == []


def test_each_releases_step_time(ask) -> None:
    """Every step takes 0.1 ms."""
    found = ask("Did a release of the framework make runs slower")

    assert [(row["model"], row["runs"], round(row["step_ms"], 9)) for row in found] == [
        ("bert", 1, 0.1),
        ("resnet", 2, 0.1),
    ]


def test_step_times_run_by_run(ask) -> None:
    found = ask("Each model's step time, run by run")

    assert [(row["model"], round(row["step_time_ms"], 9)) for row in found] == [
        ("bert", 0.1),
        ("resnet", 0.1),
        ("resnet", 0.1),
    ]
    assert [row["recorded_at"] for row in found[1:]] == sorted(
        row["recorded_at"] for row in found[1:]
    )


def test_the_schedulers_hours(ask, tmp_path: Path) -> None:
    """Job a ran for 3 hours in both teams, of one device each; job b, of two devices,
    is not told: an hour.
    """
    (tmp_path / "jobs.csv").write_text("job,hours\na,3.0\n")

    found = ask("What each job cost, with the scheduler's hours")

    assert [(row["job"], row["device_hours"]) for row in found] == [
        ("a", 6.0),
        ("b", 2.0),
    ]


def test_every_column_stands_on_the_page() -> None:
    assert re.findall(r"^\| `(\w+)` \|", TABLE, re.M) == list(Row.__struct_fields__)
