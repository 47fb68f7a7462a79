"""The published JSON Schemas describe what the commands write for machines."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from support.golden_reports import report_of
from support.trace_builder import trace

from tfadvisor.cli.main import guarded_main
from tfadvisor.comparing import comparison_of
from tfadvisor.report.forms.html import as_json

ROOT = Path(__file__).parents[2]
FIXTURES = ROOT / "fixtures"
ALL = sorted(
    path.name for path in FIXTURES.iterdir() if list(path.glob("*.xplane.pb.gz"))
)


@cache
def schema(name: str) -> Draft202012Validator:
    content = json.loads(
        (ROOT / "schemas" / f"{name}-1.json").read_text(encoding="utf-8")
    )
    Draft202012Validator.check_schema(content)
    return Draft202012Validator(content)


def fields(name: str, record: str) -> dict[str, Any]:
    """A record's fields as the schema has them."""
    properties: dict[str, Any] = schema(name).schema["$defs"][record]["properties"]
    return properties


@pytest.mark.parametrize("name", ALL)
def test_reports(name: str) -> None:
    schema("report").validate(json.loads(as_json(report_of(FIXTURES / name))))


def test_a_report_of_almost_nothing() -> None:
    schema("report").validate(
        json.loads(as_json(trace().call("something", 0, 5).report()))
    )


def test_comparisons() -> None:
    comparison = comparison_of(FIXTURES / "jax-healthy", FIXTURES / "jax-loader")

    schema("comparison").validate(json.loads(as_json(comparison)))


@pytest.mark.parametrize(
    ("candidate", "outcome"), [("jax-healthy", "pass"), ("jax-loader", "fail")]
)
def test_verdicts(
    candidate: str, outcome: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "tfadvisor.toml").write_text(
        '[budgets]\ninput_bound_fraction = "20%"\n'
    )
    store, config = (
        ["--baseline", str(tmp_path / "store")],
        ["--config", str(tmp_path / "tfadvisor.toml")],
    )
    assert (
        guarded_main(
            [
                "baseline",
                "add",
                str(FIXTURES / "jax-healthy"),
                "--store",
                str(tmp_path / "store"),
            ]
        )
        == 0
    )
    capsys.readouterr()

    guarded_main(["gate", str(FIXTURES / candidate), *store, *config, "-f", "json"])
    verdict = json.loads(capsys.readouterr().out)

    assert verdict["outcome"] in (outcome, "cannot tell")
    schema("gate").validate(verdict)


def test_the_schema_refuses_what_is_not_a_report() -> None:
    good = json.loads(as_json(trace().call("something", 0, 5).report()))
    assert schema("report").is_valid(good)

    for wrong in (
        {**good, "schema_version": "2"},
        {**good, "findings": None},
        {name: value for name, value in good.items() if name != "verdict"},
        {**good, "steps": {**good["steps"], "count": "three"}},
    ):
        assert not schema("report").is_valid(wrong)


def test_the_contract_stands_in_the_schema() -> None:
    """Names that scripts rely on; the schema is written from the records, so these
    notice a field that is renamed.
    """
    assert {
        "schema_version",
        "tool",
        "run",
        "steps",
        "breakdown",
        "verdict",
        "metrics",
        "findings",
    } <= set(fields("report", "Report"))
    assert {"rule_id", "severity", "saving", "fixes", "evidence"} <= set(
        fields("report", "Finding")
    )
    assert {"change_ms", "change_fraction", "causes"} <= set(
        fields("comparison", "Comparison")
    )
    assert "class" in fields("comparison", "ChangeCause")
    assert {"outcome", "exit_code", "checks", "comparison"} <= set(
        fields("gate", "GateResult")
    )


def test_every_field_of_a_report_is_described() -> None:
    records = schema("report").schema["$defs"]

    bare = [
        f"{record}.{name}"
        for record, content in records.items()
        for name, field in content.get("properties", {}).items()
        if not field.get("description", "").strip()
    ]
    assert len(records) > 10
    assert bare == []
