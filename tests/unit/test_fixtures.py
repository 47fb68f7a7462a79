"""Every recorded fixture: its planted bottleneck is the verdict and the first finding;
healthy ones are left alone.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import re
from pathlib import Path

import pytest
import yaml
from support.places import FIXTURES

import tfadvisor
from tfadvisor.vocabulary import Severity

FOLDERS = sorted(path.parent for path in FIXTURES.glob("*/truth.yaml"))


def truth_of(folder: Path) -> dict[str, object]:
    truth = yaml.safe_load((folder / "truth.yaml").read_text())
    assert isinstance(truth, dict)
    return truth


def test_there_are_at_least_twelve_and_two_healthy_ones() -> None:
    healthy = [folder for folder in FOLDERS if truth_of(folder)["healthy"]]

    assert len(FOLDERS) >= 12
    assert len(healthy) >= 2
    assert {truth_of(folder)["framework"] for folder in FOLDERS} == {
        "tensorflow",
        "jax",
    }


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_the_planted_bottleneck_is_found(folder: Path) -> None:
    truth = truth_of(folder)

    report = tfadvisor.analyze(folder).report
    advice = [finding for finding in report.findings if finding.category != "capture"]

    assert report.verdict.bottleneck == truth["bottleneck"]
    assert report.verdict.healthy is truth["healthy"]
    assert report.run.framework == truth["framework"]
    assert report.broken == ()
    assert sum(report.breakdown.values()) == pytest.approx(1, abs=1e-6)
    if truth["healthy"]:
        assert all(
            finding.severity.rank <= Severity.LOW.rank for finding in report.findings
        )
    else:
        assert advice[0].rule_id == truth["first_finding"]
        assert advice[0].severity.rank >= Severity.HIGH.rank
    if "location" in truth:
        (location,) = advice[0].locations
        program = (folder / "program.py").read_text().splitlines()
        assert location.op == truth["location"]
        assert location.line is not None
        assert f"def {truth['location']}(" in program[location.line - 1]


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_findings_together_save_no_more_than_the_step(folder: Path) -> None:
    """Each on top of those before it; and none promises all of it."""
    report = tfadvisor.analyze(folder).report

    assert sum(one.saves for one in report.findings) <= 1 + 1e-9
    assert all(
        0 <= one.saving.low <= one.saves < 1
        for one in report.findings
        if one.saving is not None
    )


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_the_recording_is_the_one_described_and_tells_nothing_of_its_machine(
    folder: Path,
) -> None:
    recording = json.loads((folder / "recording.json").read_text())
    traces = recording.get("traces") or {"trace.xplane.pb.gz": recording}

    assert set(traces) == {path.name for path in folder.glob("*.xplane.pb.gz")}
    assert recording["packages"]
    for name, facts in traces.items():
        packed = (folder / name).read_bytes()
        assert hashlib.sha256(packed).hexdigest() == facts["sha256"]
        assert not re.search(
            rb"/(?:root|home|tmp|usr|opt|work)/", gzip.decompress(packed)
        )


@pytest.mark.parametrize(
    "folder",
    [one for one in FOLDERS if "late_host" in truth_of(one)],
    ids=lambda one: one.name,
)
def test_the_late_host_is_named_with_its_reason_and_nobody_where_work_is_even(
    folder: Path,
) -> None:
    truth = truth_of(folder)

    report = tfadvisor.analyze(folder).report
    late = [finding for finding in report.findings if finding.rule_id == "late-host"]

    assert sorted(report.run.hosts) == truth["hosts"]
    if truth["late_host"] is None:
        assert late == []
    else:
        said = {one.text: one.value for one in late[0].evidence}
        assert said["late host"] == truth["late_host"]
        assert str(said["late host reason"]).startswith(
            {"input": "loading input", "compute": "computing"}[truth["late_because"]]
        )
        waiting = report.metrics["collective_wait_fraction"].value
        assert waiting is not None
        assert waiting > 0.25


@pytest.mark.parametrize(
    "folder",
    [one for one in FOLDERS if "slow_device" in truth_of(one)],
    ids=lambda one: one.name,
)
def test_the_slow_device_is_named_and_nobody_where_work_is_even(folder: Path) -> None:
    truth = truth_of(folder)

    report = tfadvisor.analyze(folder).report
    uneven = [
        finding for finding in report.findings if finding.rule_id == "uneven-devices"
    ]

    assert len(report.run.devices) == truth["devices"]
    assert report.metrics["collectives_per_step"].value == truth["collectives_per_step"]
    if "collective_bytes_per_step" in truth:
        assert (
            report.metrics["allreduce_bytes_per_step"].value
            == truth["collective_bytes_per_step"]
        )
    if truth["slow_device"] is None:
        assert uneven == []
    else:
        assert {one.text: one.value for one in uneven[0].evidence}[
            "late device"
        ] == truth["slow_device"]


def test_the_fixtures_stay_small() -> None:
    assert (
        sum(path.stat().st_size for folder in FOLDERS for path in folder.rglob("*"))
        < 10_000_000
    )
