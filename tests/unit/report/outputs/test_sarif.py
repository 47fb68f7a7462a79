"""Findings for editors and code scanning."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest
from support.places import FIXTURES, ROOT

import tfadvisor
from tfadvisor.report.forms.sarif import as_sarif, files_below, place_at

SCHEMA = json.loads(
    (
        ROOT / "tests" / "unit" / "comparison" / "gate" / "schemas" / "sarif-2.1.0.json"
    ).read_text()
)


@pytest.mark.parametrize("name", ["jax-logging", "tf-python-map", "jax-healthy"])
def test_it_is_sarif(name: str) -> None:
    jsonschema.validate(
        json.loads(as_sarif(tfadvisor.analyze(FIXTURES / name).report)), SCHEMA
    )


def test_a_finding_stands_at_its_file_and_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the file is there; a trace may name any."""
    monkeypatch.chdir(tmp_path)
    analysis = tfadvisor.analyze(FIXTURES / "jax-logging").report
    (run,) = json.loads(as_sarif(analysis))["runs"]
    assert run["results"][0]["locations"] == []
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "program.py").touch()
    (run,) = json.loads(as_sarif(tfadvisor.analyze(FIXTURES / "jax-logging").report))[
        "runs"
    ]
    first = run["results"][0]

    assert (first["ruleId"], first["level"]) == ("host-work-in-loop", "error")
    assert first["locations"] == [
        {
            "physicalLocation": {
                "artifactLocation": {"uri": "src/program.py"},
                "region": {"startLine": 28},
            }
        }
    ]
    assert (
        run["tool"]["driver"]["rules"][first["ruleIndex"]]["id"] == "host-work-in-loop"
    )


def test_no_place_leads_out_of_the_folder(tmp_path: Path) -> None:
    (tmp_path / "project" / "src").mkdir(parents=True)
    for name in ("program.py", "project/src/program.py", "project/a b#c.py"):
        (tmp_path / name).touch()
    folder = tmp_path / "project"
    outside = [
        "../program.py",
        "src/../../program.py",
        str(tmp_path / "program.py"),
        "/etc/passwd",
        "..\\program.py",
        "/",
        ".",
        "x" * 5000,
        "a\0b",
    ]

    found = files_below(folder, [*outside, "program.py", "src/program.py", "a b#c.py"])

    assert {one: found[one] for one in outside} == dict.fromkeys(outside, "")
    assert [found[one] for one in ("program.py", "src/program.py")] == [
        "src/program.py"
    ] * 2
    assert (
        place_at("a b#c.py", None)["physicalLocation"]["artifactLocation"]["uri"]
        == "a%20b%23c.py"
    )
