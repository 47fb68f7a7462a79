"""Every recorded fixture: its planted bottleneck is the verdict and the first finding;
healthy ones are left alone. What else is said of each stands in tests/golden.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import re
from collections.abc import Mapping
from pathlib import Path

import pytest
import yaml
from support.golden_reports import report_of
from support.places import FIXTURES

from tfadvisor.report.model import Report
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

    report = report_of(folder)

    assert report.run.framework == truth["framework"]
    if truth["healthy"]:
        assert report.verdict.bottleneck == truth["bottleneck"]
        is_left_alone(report)
    else:
        is_found_first(report, truth)


def is_left_alone(report: Report) -> None:
    assert report.verdict.healthy
    assert all(one.severity.rank <= Severity.LOW.rank for one in report.findings)


def is_found_first(report: Report, truth: Mapping[str, object]) -> None:
    advice = [one for one in report.findings if one.category != "capture"]

    assert (report.verdict.bottleneck, report.verdict.healthy) == (
        truth["bottleneck"],
        False,
    )
    assert advice[0].rule_id == truth["first_finding"]
    least = Severity(truth.get("severity", "high"))
    assert advice[0].severity.rank >= least.rank


@pytest.mark.parametrize(
    "folder",
    [one for one in FOLDERS if "location" in truth_of(one)],
    ids=lambda folder: folder.name,
)
def test_the_first_finding_is_at_the_planted_function(folder: Path) -> None:
    function = truth_of(folder)["location"]
    program = (folder / "program.py").read_text().splitlines()

    advice = [one for one in report_of(folder).findings if one.category != "capture"]
    (location,) = advice[0].locations

    assert location.op == function
    assert location.line is not None
    assert f"def {function}(" in program[location.line - 1]


GPU = FIXTURES / "gpu"
ON_A_GPU = yaml.safe_load((GPU / "planted.yaml").read_text())
UNRECORDED_MS: dict[str, float] = json.loads((GPU / "unrecorded.json").read_text())


def test_every_recording_on_a_gpu_is_judged() -> None:
    judged = [*ON_A_GPU["planted"], *ON_A_GPU["healthy"], *ON_A_GPU["misread"]]

    assert sorted(judged) == sorted(
        trace.parent.name for trace in GPU.glob("*/trace.xplane.pb.gz")
    )


@pytest.mark.parametrize("name", ON_A_GPU["planted"])
def test_what_is_planted_on_a_gpu_comes_first(name: str) -> None:
    is_found_first(report_of(GPU / name), ON_A_GPU["planted"][name])


@pytest.mark.parametrize("name", ON_A_GPU["healthy"])
def test_a_healthy_program_on_a_gpu_is_left_alone(name: str) -> None:
    is_left_alone(report_of(GPU / name))


@pytest.mark.parametrize(
    "name",
    [
        "jax-healthy",
        "jax-lm",
        "jax-fp32",
        "jax-tf32",
        "jax-double",
        "jax-bf16-odd",
        "jax-copies-out",
    ],
)
def test_long_steps_last_as_long_as_without_the_profiler(name: str) -> None:
    median = report_of(GPU / name).metrics["step_time_ms"].value

    assert median == pytest.approx(UNRECORDED_MS[name], rel=0.06)


def test_kernels_that_copy_in_a_cuda_graph_are_copies_within_the_device() -> None:
    """16 caches of 134 MB, read and written at some 4.3 TB/s: 1.0 ms."""
    copied = report_of(GPU / "jax-decode-copied").metrics["d2d_ms_per_step"]

    assert copied.value == pytest.approx(1.0, abs=0.05)


def test_candidates_of_the_autotuner_are_no_lost_work() -> None:
    lost = report_of(GPU / "jax-recompile").metrics["lost_runs_fraction"]

    assert lost.value in (0, None)


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

    report = report_of(folder)
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

    report = report_of(folder)
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


def test_what_is_planted_in_a_watched_program_comes_first() -> None:
    """As large as the program's own clock says, within what a second of it can tell."""
    folder = FIXTURES / "watched" / "jax-augments"
    clock = json.loads((folder / "clock.json").read_text())

    (first, *_) = report_of(folder).findings

    assert first.rule_id == truth_of(folder)["first_finding"]
    assert first.takes == pytest.approx(clock["augment"] / clock["loop"], abs=0.05)
    assert first.locations[0].line == 51


@pytest.mark.parametrize(
    ("name", "mended", "within", "line", "says"),
    [
        ("jax-unchanged", "solved once", 0.07, 20, "loop at program.py:52"),
        ("jax-draws", "with replacement", 0.13, 27, "`np.random.choice`"),
        ("tf-candidates", "embedded once", 0.05, 28, "of no argument"),
    ],
)
def test_what_comes_first_takes_what_its_change_saves(
    name: str, mended: str, within: float, line: int, says: str
) -> None:
    """By the program's own clock, of rounds as they are and mended."""
    folder = FIXTURES / "watched" / name
    clock = json.loads((folder / "clock.json").read_text())

    (first, *_) = report_of(folder).findings

    assert first.rule_id == truth_of(folder)["first_finding"]
    as_it_is = next(value for key, value in clock.items() if key != mended)
    assert first.takes == pytest.approx(1 - clock[mended] / as_it_is, abs=within)
    assert (first.locations[0].file, first.locations[0].line) == ("program.py", line)
    assert says in first.summary


def test_lines_of_tensorflows_ops_come_from_the_note_beside_the_trace() -> None:
    """Where a mask is chosen by and summed, which one product replaces: the program's
    clock says what that saves.
    """
    folder = FIXTURES / "watched" / "tf-masked-sums"
    clock = json.loads((folder / "clock.json").read_text())

    report = report_of(folder)

    wanted = truth_of(folder)["first_finding"]
    found = next(one for one in report.findings if one.rule_id == wanted)
    saved = 1 - clock["one product"] / clock["round"]
    assert 0.5 < found.takes < saved
    assert (found.locations[0].file, found.locations[0].line) == ("program.py", 18)
    compute = next(one for one in report.attribution if one.kind == "compute")
    lines = {part.activity: part.places[0].line for part in compute.parts[:2]}
    assert lines == {"SelectV2": 18, "Sum": 19}
