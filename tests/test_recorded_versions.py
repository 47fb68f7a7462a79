"""The same programs recorded with other releases: complete, as described, and analysed without anything breaking."""

from __future__ import annotations

import gzip
import hashlib
import json
import re
from pathlib import Path

import pytest
import yaml

import tfadvisor

VERSIONS = Path(__file__).parents[1] / "fixtures" / "versions"
RECORDINGS = sorted(path.parent for path in VERSIONS.glob("*/*/truth.yaml"))
SCENARIOS = {
    "tensorflow": {"tf-keras-one-batch", "tf-healthy-loop", "tf-python-map", "tf-eager", "tf-retrace"},
    "jax": {"jax-healthy", "jax-loader", "jax-op-by-op", "jax-recompile", "jax-logging"},
}


def name_of(folder: Path) -> str:
    return f"{folder.parent.name}-{folder.name}"


def test_every_release_has_every_program() -> None:
    releases = yaml.safe_load((VERSIONS / "environments.yaml").read_text())

    recorded = {(folder.parent.name, folder.name) for folder in RECORDINGS}

    assert recorded == {(name, scenario) for name in releases for scenario in SCENARIOS[name.partition("-")[0]]}


@pytest.mark.parametrize("folder", RECORDINGS, ids=name_of)
def test_the_recording_is_the_one_described_and_tells_nothing_of_its_machine(folder: Path) -> None:
    recording = json.loads((folder / "recording.json").read_text())
    packed = (folder / "trace.xplane.pb.gz").read_bytes()

    assert hashlib.sha256(packed).hexdigest() == recording["sha256"]
    assert len(packed) == recording["bytes"]
    framework, _, release = folder.parent.name.partition("-")
    versions = [version for name, version in recording["packages"].items() if name.startswith(framework)]
    assert versions
    assert all(f"{version}.".startswith(f"{release}.") for version in versions)
    assert not re.search(rb"/(?:root|home|tmp|usr|opt|work)/", gzip.decompress(packed))


@pytest.mark.parametrize("folder", RECORDINGS, ids=name_of)
def test_nothing_breaks_on_it(folder: Path) -> None:
    report = tfadvisor.analyze(folder)

    assert report.broken == ()
    assert report.run.framework == folder.parent.name.partition("-")[0]
    assert report.steps.count >= 1
    assert sum(report.breakdown.values()) == pytest.approx(1, abs=1e-6)
