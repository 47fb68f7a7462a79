"""The report in three kilobytes."""

from __future__ import annotations

import re

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


def test_the_account_of_the_run_and_the_costliest_lines_of_the_program() -> None:
    """By the program's own clock the steps with their batches take all of it."""
    text = as_brief(report_of(FIXTURES / "watched" / "jax-augments"))

    assert re.search(r"^where the run goes: .*steps \d+%", text, re.M)
    for line, source in (
        (21, "out[row] = shifted + rng.normal(0, 0.1, shifted.shape)"),
        (20, "shifted = np.roll(turned, rng.integers(-6, 7, 2), axis=(0, 1))"),
    ):
        assert re.search(rf"^    {line}: +{re.escape(source)}$", text, re.M)


def test_what_two_changes_save_in_their_order() -> None:
    assert re.search(
        r"^plan: [\w-]+ [\d.–]+%, then [\w-]+ [\d.–]+%$",
        as_brief(report_of(FIXTURES / "jax-4dev-one-large")),
        re.M,
    )


def test_a_healthy_run_says_so_and_nothing_to_verify() -> None:
    text = as_brief(report_of(FIXTURES / "gpu" / "jax-healthy"))

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
