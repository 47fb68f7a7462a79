"""The installed command: output streams, exit codes, options."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from support.places import FIXTURES, RULES
from support.trace_builder import trace

pytestmark = pytest.mark.slow

COMMAND = Path(sys.executable).parent / "tfadvisor"
SLOW = FIXTURES / "jax-loader"
HEALTHY = FIXTURES / "jax-healthy"


def tfadvisor(
    *arguments: object, env: dict[str, str] | None = None, cwd: Path | None = None
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(COMMAND), *map(str, arguments)],
        capture_output=True,
        text=True,
        env={**os.environ, **(env or {})},
        cwd=cwd,
        check=False,
    )


def test_a_report_goes_to_stdout_and_exits_with_0() -> None:
    done = tfadvisor("analyze", SLOW)

    assert done.returncode == 0
    assert "INPUT-BOUND" in done.stdout
    assert "load_batch" in done.stdout
    assert done.stderr == ""


def test_a_trace_without_programs_loads_little_that_reads_them() -> None:
    """Neither programs, nor samples, nor source files lie in it or beside it."""
    code = (
        "import sys; from tfadvisor.cli.main import guarded_main; "
        f"guarded_main(['analyze', {str(FIXTURES / 'tf-tiny-ops')!r}, '--format', "
        "'json']); "
        "readers = ('tfadvisor.program.', 'tfadvisor.causes.of_samples', "
        "'tfadvisor.causes.program_source'); "
        "sys.stderr.write(str([n for n in sys.modules if n.startswith(readers)]))"
    )

    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )

    assert done.stderr == "['tfadvisor.program.modules_of_trace']"


def test_json_is_all_there_is_on_stdout() -> None:
    done = tfadvisor("analyze", SLOW, "--format", "json")

    report = json.loads(done.stdout)

    assert report["schema_version"] == "1"
    assert report["verdict"]["bottleneck"] == "input"


def test_markdown() -> None:
    assert tfadvisor("analyze", SLOW, "--format", "markdown").stdout.startswith(
        "## INPUT-BOUND"
    )


def test_fail_on_exits_with_1_only_for_a_finding_of_that_level() -> None:
    assert tfadvisor("analyze", SLOW, "--fail-on", "high").returncode == 1
    assert tfadvisor("analyze", HEALTHY, "--fail-on", "medium").returncode == 0


@pytest.mark.parametrize(
    "arguments",
    [
        ["analyze"],
        ["analyze", SLOW, "--format", "prose"],
        ["analyze", SLOW, "--fail-on", "terrible"],
        ["analyze", SLOW, "--steps", "two"],
        ["analyze", SLOW, "--steps", "90:99"],
        ["analyze", SLOW, "--params", "many"],
        ["analyze", SLOW, "--bandwidth", "-1"],
        ["analyze", SLOW, "--run", "nowhere"],
        ["analyze", SLOW, "--host", "nobody"],
        ["analyze", SLOW, "--disable", "nonsense"],
        ["analyze", SLOW, "--rules", "/nonexistent"],
        ["analyze", SLOW, "-o", SLOW / "report.txt"],
        ["analyze", SLOW, SLOW],
        ["explain", "nonsense"],
        ["nonsense"],
        ["--nonsense"],
    ],
    ids=lambda arguments: " ".join(Path(str(one)).name for one in arguments),
)
def test_wrong_use_exits_with_2_and_one_message(arguments: list[object]) -> None:
    done = tfadvisor(*arguments)

    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith("tfadvisor: ")
    assert "Traceback" not in done.stderr


def test_the_output_file_is_written_whole_and_stdout_stays_empty(
    tmp_path: Path,
) -> None:
    target = tmp_path / "report.json"

    done = tfadvisor("analyze", SLOW, "--format", "json", "-o", target)

    assert (done.returncode, done.stdout) == (0, "")
    assert json.loads(target.read_text())["schema_version"] == "1"
    assert [path.name for path in tmp_path.iterdir()] == ["report.json"]


def test_nothing_is_written_beside_the_trace(tmp_path: Path) -> None:
    logdir = (
        trace()
        .steps(3, period=100)
        .busy("GPU:0", (0, 250))
        .write(tmp_path / "plugins" / "profile" / "run")
        .parents[2]
    )
    before = sorted((path, path.stat().st_mtime_ns) for path in logdir.rglob("*"))

    for form in ("text", "json", "markdown"):
        assert (
            tfadvisor("analyze", logdir, "--format", form, cwd=logdir).returncode == 0
        )

    assert (
        sorted((path, path.stat().st_mtime_ns) for path in logdir.rglob("*")) == before
    )


def test_the_newest_run_is_analysed_and_the_choice_is_told(tmp_path: Path) -> None:
    for name in ("2026_01_02_03_04_05", "2026_03_01_00_00_00", "2025_12_31_23_59_59"):
        trace().steps(3, period=100).busy("GPU:0", (0, 250)).write(
            tmp_path / "train" / "plugins" / "profile" / name
        )

    newest = tfadvisor("analyze", tmp_path, "--format", "json")
    chosen = tfadvisor(
        "analyze", tmp_path, "--format", "json", "--run", "2025_12_31_23_59_59"
    )

    assert json.loads(newest.stdout)["run"]["name"] == "train/2026_03_01_00_00_00"
    assert "3 runs" in newest.stderr
    assert json.loads(chosen.stdout)["run"]["name"] == "train/2025_12_31_23_59_59"
    assert chosen.stderr == ""


def test_several_hosts_files_are_one_run(tmp_path: Path) -> None:
    builder = trace()
    for host, end in (("a", 50), ("b", 90)):
        builder.host(host).steps(3, period=100).busy(
            "GPU:0", (0, end), (100, 100 + end), (200, 200 + end)
        )
    builder.write(tmp_path)

    together = json.loads(
        tfadvisor(
            "analyze",
            tmp_path / "a.xplane.pb",
            tmp_path / "b.xplane.pb",
            "--format",
            "json",
        ).stdout
    )
    single = json.loads(
        tfadvisor("analyze", tmp_path, "--host", "b", "--format", "json").stdout
    )

    assert together["run"]["hosts"] == ["a", "b"]
    assert together["breakdown"]["compute"] == pytest.approx((50 * 3 + 90 * 3) / 600)
    assert single["run"]["hosts"] == ["b"]


def test_parameters_and_bandwidth_reach_the_metrics() -> None:
    done = tfadvisor(
        "analyze", SLOW, "--format", "json", "--params", "250M", "--bandwidth", "100"
    )

    assert json.loads(done.stdout)["metrics"]["allreduce_ideal_ms"][
        "value"
    ] == pytest.approx(10)


def test_steps_can_be_chosen() -> None:
    done = tfadvisor("analyze", SLOW, "--format", "json", "--steps", "2:5")

    assert [step["index"] for step in json.loads(done.stdout)["steps"]["each"]] == [
        2,
        3,
        4,
    ]


def test_a_disabled_rule_is_silent() -> None:
    done = tfadvisor(
        "analyze", SLOW, "--format", "json", "--disable", "input-loader-in-step"
    )

    assert "input-loader-in-step" not in {
        one["rule_id"] for one in json.loads(done.stdout)["findings"]
    }


def test_a_broken_rule_file_is_named_and_the_rest_still_runs(tmp_path: Path) -> None:
    (tmp_path / "broken.yaml").write_text("id: broken\ncategory: nonsense\n")

    done = tfadvisor("analyze", SLOW, "--rules", tmp_path, "--format", "json")

    assert done.returncode == 5
    assert "broken.yaml:1: title: is missing" in done.stderr
    report = json.loads(done.stdout)
    assert report["findings"][0]["rule_id"] == "input-loader-in-step"
    assert "broken.yaml:1" in report["broken"][0]["error"]


def test_a_closed_pipe_is_no_error() -> None:
    done = subprocess.run(
        f"set -o pipefail; '{COMMAND}' analyze '{SLOW}' --details | head -1",
        shell=True,
        executable="/bin/bash",
        capture_output=True,
        check=False,
    )

    assert (done.returncode, done.stderr) == (0, b"")


def test_colour_follows_no_color_and_the_terminal() -> None:
    assert "\x1b" not in tfadvisor("analyze", SLOW).stdout


def test_help_teaches() -> None:
    done = tfadvisor("analyze", "--help")

    assert done.returncode == 0
    for word in ("logdir", "--steps", "--fail-on", "Examples"):
        assert word in done.stdout
    assert "Exit codes" in tfadvisor("--help").stdout


def test_version() -> None:
    assert tfadvisor("--version").stdout.startswith("tfadvisor 0.")


def test_the_catalogue() -> None:
    listed = tfadvisor("rules", "list").stdout
    shown = tfadvisor("explain", "input-not-prefetched").stdout

    assert "input-not-prefetched" in listed
    assert "dataset.prefetch(tf.data.AUTOTUNE)" in shown
    assert tfadvisor("rules", "check", RULES).returncode == 0


def test_rules_check_fails_with_5(tmp_path: Path) -> None:
    (tmp_path / "broken.yaml").write_text("id: broken\n")

    assert tfadvisor("rules", "check", tmp_path).returncode == 5


def test_the_python_interface() -> None:
    import tfadvisor as package

    report = package.analyze(SLOW)

    assert report.verdict.bottleneck == "input"
    assert report.findings[0].rule_id == "input-loader-in-step"
    assert report.metrics["input_bound_fraction"].value > 0.4
    assert report.to_dict()["schema_version"] == "1"
    with pytest.raises(package.TraceError):
        package.analyze("/nonexistent")
    with pytest.raises(AttributeError):
        package.nonsense  # noqa: B018


def test_starting_the_command_imports_nothing_heavy() -> None:
    """pandas, protobuf, TensorFlow, JAX and rich would each cost a small trace more
    than its analysis.
    """
    code = (
        "import sys; from tfadvisor.cli.main import guarded_main; "
        f"guarded_main(['analyze', {str(SLOW)!r}, '--format', 'json']); "
        "heavy = {'pandas', 'google.protobuf', 'tensorflow', 'jax', 'xprof', "
        "'tensorboard', 'rich'} & set(sys.modules); "
        "print(heavy or 'light', file=sys.stderr)"
    )

    assert (
        subprocess.run(
            [sys.executable, "-I", "-c", code],
            capture_output=True,
            text=True,
            check=True,
        ).stderr.strip()
        == "light"
    )
