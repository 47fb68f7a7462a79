"""Rules that are not proven yet: off, on by --preview, and shown by `tfadvisor rules`
in any case.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from support.places import FIXTURES, RULES

import tfadvisor
from tfadvisor.cli.main import guarded_main

RUN = FIXTURES / "jax-logging"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """One rule, which fires on every run that spends time on the host."""
    text = (RULES / "between_steps" / "host-work-in-loop.yaml").read_text(
        encoding="utf-8"
    )
    text = re.sub(r"(?m)^tier:.*\n", "", text).replace(
        "id: host-work-in-loop", "id: on-trial\ntier: preview"
    )
    (tmp_path / "on-trial.yaml").write_text(text, encoding="utf-8")
    return tmp_path


def said(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    assert guarded_main([str(one) for one in arguments]) == 0
    return capsys.readouterr().out


def test_they_are_off_unless_asked_for_and_change_no_verdict(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    usual = json.loads(said(capsys, "analyze", RUN, "--rules", folder, "-f", "json"))
    every = json.loads(
        said(capsys, "analyze", RUN, "--rules", folder, "--preview", "-f", "json")
    )

    assert "on-trial" not in {one["rule_id"] for one in usual["findings"]}
    assert every["verdict"] == usual["verdict"]
    assert [one for one in every["findings"] if "tier" not in one] == usual["findings"]
    assert "on-trial" in {
        one["rule_id"]
        for one in [*every["findings"], *every["not_applicable"]]
        if one.get("tier", "preview") == "preview"
    }


def test_python_takes_the_same_option(folder: Path) -> None:
    found = tfadvisor.analyze(
        RUN, rules=[folder], disabled=["host-work-in-loop"], preview=True
    ).findings

    assert [
        (one.tier, one.severity.value) for one in found if one.rule_id == "on-trial"
    ] == [("preview", "low")]


def test_the_catalogue_shows_tier_and_proof(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (line,) = [
        one
        for one in said(capsys, "rules", "list", "--rules", folder).splitlines()
        if one.startswith("on-trial")
    ]
    shown = said(capsys, "explain", "on-trial", "--rules", folder)

    assert line.split()[:3] == ["on-trial", "preview", "shown"]
    assert shown.startswith("on-trial  rule\n")
    assert " (host, preview, shown)\n" in shown
