"""Runs of hosts with eight GPUs as benchmarks/build_gpu_hosts.py builds them: one late,
one file cut, one of another run.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import tfadvisor

BENCHMARKS = Path(__file__).parents[4] / "benchmarks"


@pytest.mark.parametrize("hosts", [6, 24])
def test_the_late_host_is_named_beside_a_cut_and_a_foreign_one(
    hosts: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The late host's GPUs begin their exchange 4 ms late in steps of 10 ms: the others
    wait 40 % of the step.
    """
    monkeypatch.setattr(sys, "path", [str(BENCHMARKS), *sys.path])
    from build_gpu_hosts import build

    late = build(tmp_path, hosts)

    report = tfadvisor.analyze(tmp_path).report

    assert late == f"worker-{hosts // 2:05d}"
    assert late in report.verdict.summary
    assert report.metrics["late_host_fraction"].value == pytest.approx(0.4, abs=0.01)
    assert len(report.run.hosts) == hosts - 1
    said = str(report.capture)
    assert "worker-00001" in said
    assert "worker-00002" in said
