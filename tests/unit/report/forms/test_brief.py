"""The report in three kilobytes."""

from __future__ import annotations

import pytest
from support.golden_reports import report_of
from support.places import FIXTURES

import tfadvisor
from tfadvisor.report.forms.brief import LARGEST, as_brief

RECORDED = sorted(path.parent for path in FIXTURES.glob("*/truth.yaml"))


@pytest.mark.parametrize("run", RECORDED, ids=lambda run: run.name)
def test_every_recorded_run_fits(run: object) -> None:
    text = as_brief(tfadvisor.analyze(run).report)  # type: ignore[arg-type]

    assert len(text.encode()) <= LARGEST
    assert text.endswith("\n")


def test_verdict_finding_place_edit_and_how_to_verify() -> None:
    lines = as_brief(report_of(FIXTURES / "jax-logging")).splitlines()

    assert lines[0].startswith("HOST-BOUND: ")
    assert (
        lines[4]
        == "  89% host: log_metrics (program.py:28): <listcomp> (program.py:30)"
    )
    assert lines[7].startswith("1. [critical] ")
    assert lines[7].endswith("(host-work-in-loop)")
    assert "   where: program.py:28 in log_metrics" in lines
    assert [line for line in lines if line.startswith("   edit: ")]
    assert lines[-1].endswith("`tfadvisor compare BEFORE AFTER`")


def test_a_healthy_run_says_so_and_nothing_to_verify() -> None:
    text = as_brief(report_of(FIXTURES / "jax-healthy"))

    assert text.startswith("HEALTHY: ")
    assert "verify" not in text


def test_the_sentence_of_the_finding_and_its_snippet_are_whole() -> None:
    report = report_of(FIXTURES / "jax-loader")
    text = as_brief(report)
    first = report.findings[0]

    assert f"   seen: {first.summary}" in text
    for line in first.fixes[0].snippet.splitlines():
        assert f"     {line}" in text


@pytest.mark.parametrize("run", RECORDED, ids=lambda run: run.name)
def test_no_snippet_is_cut(run: object) -> None:
    """Either each line of it is there, or how many there are and where to read them. A
    question has none.
    """
    report = report_of(run)
    text = as_brief(report)
    for one in report.findings:
        if one.ask:
            continue
        lines = one.fixes[0].snippet.splitlines() if one.fixes else []
        shown = [line for line in lines if f"     {line}\n" in text]
        assert (
            len(shown) == len(lines)
            or f"`tfadvisor explain {one.rule_id}`" in text
            or f"({one.rule_id})" not in text
        )
