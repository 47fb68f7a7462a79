"""The report in two kilobytes."""

from __future__ import annotations

import pytest
from support.places import FIXTURES

import tfadvisor
from tfadvisor.report.forms.brief import LARGEST, as_brief

RECORDED = sorted(path.parent for path in FIXTURES.glob("*/truth.yaml"))


@pytest.mark.parametrize("run", RECORDED, ids=lambda run: run.name)
def test_every_recorded_run_fits(run: object) -> None:
    text = as_brief(tfadvisor.analyze(run))  # type: ignore[arg-type]

    assert len(text.encode()) <= LARGEST
    assert text.endswith("\n")


def test_verdict_finding_place_edit_and_how_to_verify() -> None:
    lines = as_brief(tfadvisor.analyze(FIXTURES / "jax-logging")).splitlines()

    assert lines[0].startswith("HOST-BOUND: ")
    assert lines[4] == "  89% host: log_metrics (program.py:28): <listcomp> (program.py:30)"
    assert lines[7].startswith("1. [critical] ")
    assert lines[7].endswith("(host-work-in-loop)")
    assert "   where: program.py:28 in log_metrics" in lines
    assert [line for line in lines if line.startswith("   edit: ")]
    assert lines[-1].endswith("`tfadvisor compare BEFORE AFTER`")


def test_a_healthy_run_says_so_and_nothing_to_verify() -> None:
    text = as_brief(tfadvisor.analyze(FIXTURES / "jax-healthy"))

    assert text.startswith("HEALTHY: ")
    assert "verify" not in text
