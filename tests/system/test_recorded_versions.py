"""The same programs recorded with other releases: complete, as described, and the same
verdict, steps and first finding.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import re
from functools import cache
from pathlib import Path

import pytest
import yaml

import tfadvisor
from tfadvisor.report.model import Report, Severity

VERSIONS = Path(__file__).parents[2] / "fixtures" / "versions"
RECORDINGS = sorted(path.parent for path in VERSIONS.glob("*/*/truth.yaml"))
SCENARIOS = {
    "tensorflow": {
        "tf-keras-one-batch",
        "tf-healthy-loop",
        "tf-python-map",
        "tf-eager",
        "tf-retrace",
    },
    "jax": {
        "jax-healthy",
        "jax-loader",
        "jax-op-by-op",
        "jax-recompile",
        "jax-logging",
    },
}
STEPS = {
    **{
        "tf-keras-one-batch": 1,
        "tf-healthy-loop": 10,
        "tf-python-map": 8,
        "tf-eager": 8,
        "tf-retrace": 8,
    },
    **{
        "jax-healthy": 10,
        "jax-loader": 10,
        "jax-logging": 10,
        "jax-op-by-op": 8,
        "jax-recompile": 6,
    },
}
"""How many each program makes while the profiler runs."""
WITHOUT_NAMES = {"jax-0.4.30", "jax-0.6.2"}
"""Releases whose traces of a CPU name no op."""
WITHOUT_ENDS = "jax-0.4.38"
"""A release that names ops, but does not tell when those end that run on other threads.
"""


def name_of(folder: Path) -> str:
    return f"{folder.parent.name}-{folder.name}"


def test_every_release_has_every_program() -> None:
    releases = yaml.safe_load((VERSIONS / "environments.yaml").read_text())

    recorded = {(folder.parent.name, folder.name) for folder in RECORDINGS}

    assert recorded == {
        (name, scenario)
        for name in releases
        for scenario in SCENARIOS[name.partition("-")[0]]
    }


@pytest.mark.parametrize("folder", RECORDINGS, ids=name_of)
def test_the_recording_is_the_one_described_and_tells_nothing_of_its_machine(
    folder: Path,
) -> None:
    recording = json.loads((folder / "recording.json").read_text())
    packed = (folder / "trace.xplane.pb.gz").read_bytes()

    assert hashlib.sha256(packed).hexdigest() == recording["sha256"]
    assert len(packed) == recording["bytes"]
    framework, _, release = folder.parent.name.partition("-")
    versions = [
        version
        for name, version in recording["packages"].items()
        if name.startswith(framework)
    ]
    assert versions
    assert all(f"{version}.".startswith(f"{release}.") for version in versions)
    assert not re.search(rb"/(?:root|home|tmp|usr|opt|work)/", gzip.decompress(packed))


@cache
def report_of(folder: Path) -> Report:
    return tfadvisor.analyze(folder).report


@pytest.mark.parametrize("folder", RECORDINGS, ids=name_of)
def test_verdict_and_first_finding_are_what_was_planted(folder: Path) -> None:
    """Every cell of the table: no release is an exception. A healthy program raises no
    alarm.
    """
    truth = yaml.safe_load((folder / "truth.yaml").read_text())
    report = report_of(folder)
    advice = [one for one in report.findings if one.category != "capture"]
    alarms = [
        one.rule_id for one in advice if one.severity.rank >= Severity.MEDIUM.rank
    ]

    healthy = truth["healthy"] and report.steps.count >= 5  # fewer are too few to tell

    assert (report.verdict.bottleneck, report.verdict.healthy) == (
        truth["bottleneck"],
        healthy,
    )
    if truth["healthy"]:
        assert alarms == []
    else:
        assert advice[0].rule_id == truth["first_finding"]


@pytest.mark.parametrize("folder", RECORDINGS, ids=name_of)
def test_it_has_the_steps_that_the_program_made(folder: Path) -> None:
    steps = report_of(folder).steps

    assert steps.count + len(steps.set_aside) == STEPS[folder.name]
    assert steps.source == "marker" or (folder.name, steps.source) == (
        "tf-keras-one-batch",
        "module",
    )


@pytest.mark.parametrize("folder", RECORDINGS, ids=name_of)
def test_what_its_trace_does_not_name_is_said(folder: Path) -> None:
    """0.4.38 leaves out ends only where an op runs long enough to be shared out: not op by op, not in tiny programs."""
    said = (report_of(folder).metrics["unnamed_op_share"].value or 0) >= 0.2

    large = folder.name in ("jax-healthy", "jax-loader", "jax-logging")
    assert said == (
        folder.parent.name in WITHOUT_NAMES
        or (folder.parent.name == WITHOUT_ENDS and large)
    )


@pytest.mark.parametrize(
    "release",
    sorted({folder.parent for folder in RECORDINGS if folder.name == "tf-eager"}),
)
def test_eager_ops_are_told_by_every_release(release: Path) -> None:
    """All of the step's ops are dispatched one by one, whether they run under their own
    name or the runtime's.
    """
    assert report_of(release / "tf-eager").metrics[
        "eager_op_share"
    ].value == pytest.approx(1, abs=0.01)


@pytest.mark.parametrize("folder", RECORDINGS, ids=name_of)
def test_nothing_breaks_on_it(folder: Path) -> None:
    report = report_of(folder)

    assert report.broken == ()
    assert report.run.framework == folder.parent.name.partition("-")[0]
    assert report.steps.count >= 1
    assert sum(report.breakdown.values()) == pytest.approx(1, abs=1e-6)
