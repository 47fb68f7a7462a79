"""Launch lines of runs made on paper; times in microseconds."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from msgspec.structs import replace
from support.places import FIXTURES
from support.trace_builder import trace

import tfadvisor
from tfadvisor.cli.main import guarded_main
from tfadvisor.flags.check import check
from tfadvisor.launch.as_text import lines
from tfadvisor.launch.line import COMMAND, LaunchLine, launch_line
from tfadvisor.report.model import Fix, Report
from tfadvisor.vocabulary import Severity

SCHEDULER = "--xla_gpu_enable_latency_hiding_scheduler=true"
TUNING = "--xla_gpu_shard_autotuning=true"


def run(hosts: int = 1, version: str | None = "0.9.2", collective: float = 45.0, gpus: int = 2) -> Report:
    """Five steps of 100 µs: 50 of compute, then an all-reduce that nothing hides."""
    builder = trace()
    for host in range(hosts):
        builder.host(f"worker{host}")
        if version is not None:
            builder.plane_stat("/host:CPU", jax_version=version)
        for at in range(0, 500, 100):
            builder.step(at, at + 100).call("PjitFunction(step)", at, at + 1)
            for gpu in range(gpus):
                stats = {"hlo_op": "fusion.1", "hlo_module": "jit_step", "program_id": 7}
                builder.on_line(f"/device:GPU:{gpu}", "Stream #1(Compute)", "fusion_1", at, at + 50, **stats)
                if collective:
                    stats = {**stats, "hlo_op": "all-reduce.2"}
                    builder.collective(f"GPU:{gpu}", at + 50, at + 50 + collective, **stats)
    return builder.report()


def written(line: LaunchLine) -> list[str]:
    return [one.written for one in line.settings]


def test_a_finding_gives_its_flags_with_reason_and_saving() -> None:
    line = launch_line(run())

    first = line.settings[0]
    assert (first.written, first.rule_id) == (SCHEDULER, "exposed-collectives")
    assert first.saving.endswith("of step time")
    assert line.text == f"XLA_FLAGS={SCHEDULER} {COMMAND}"


def test_several_processes_ask_for_more() -> None:
    """0.4.30 does not share autotuning unless it is told; 0.9.2 does, so there the flag changes nothing."""
    old, new = launch_line(run(hosts=2, version="0.4.30")), launch_line(run(hosts=2))

    assert written(old) == [SCHEDULER, TUNING, "NCCL_DEBUG=WARN"]
    assert old.text == f"XLA_FLAGS='{SCHEDULER} {TUNING}' NCCL_DEBUG=WARN {COMMAND}"
    assert written(new) == [SCHEDULER, "NCCL_DEBUG=WARN"]
    assert [(one.written, one.why) for one in new.left_out] == [(TUNING, "set so by default in that version")]


def test_collectives_that_cost_little_are_a_reason_too_and_none_is_none() -> None:
    little, none = launch_line(run(collective=0.5)), launch_line(run(collective=0))

    assert written(little) == [SCHEDULER]
    assert little.settings[0].reason == "1 collective a step on 2 GPUs: compute can run meanwhile"
    assert none.settings == ()
    assert none.text == COMMAND


def test_one_gpu_has_nothing_to_hide() -> None:
    assert launch_line(run(gpus=1, collective=0)).settings == ()


def test_an_unknown_version_is_judged_by_the_newest_and_says_so() -> None:
    assert "newest recorded" in launch_line(run(version=None)).note


@pytest.mark.parametrize("hosts", [1, 2])
@pytest.mark.parametrize("version", ["0.4.30", "0.5.3", "0.9.2", "0.12.0"])
def test_every_line_passes_the_check_of_flags(hosts: int, version: str) -> None:
    line = launch_line(run(hosts, version))

    checked = check(line.text.removesuffix(COMMAND), version)

    assert checked.settings
    assert not checked.has("error")


def with_fixes(report: Report, *environments: dict[str, str]) -> Report:
    """The report with one finding for each environment, in this order."""
    (finding,) = (one for one in report.findings if one.rule_id == "exposed-collectives")
    made = [
        replace(
            finding, rule_id=f"rule-{at}", fixes=(Fix("env", "do", "", environment, "", ""),), severity=Severity.LOW
        )
        for at, environment in enumerate(environments)
    ]
    return replace(report, findings=tuple(made))


def test_the_finding_that_saves_more_decides_between_two_values() -> None:
    line = launch_line(with_fixes(run(), {"NCCL_PROTO": "SIMPLE"}, {"NCCL_PROTO": "LL"}))

    assert "NCCL_PROTO=SIMPLE" in written(line)
    (other,) = (one for one in line.left_out if one.written == "NCCL_PROTO=LL")
    assert other.why == "rule-0 asks for NCCL_PROTO=SIMPLE, which saves more"


@pytest.mark.parametrize(
    ("setting", "why"),
    [
        ({"XLA_FLAGS": "--xla_no_such_flag=1"}, "no recorded jaxlib accepts it"),
        ({"JAX_NO_SUCH": "1"}, "not a known variable"),
        ({"NCCL_P2P_LEVEL": "FAR"}, ""),
    ],
)
def test_what_the_version_does_not_know_is_left_out(setting: dict[str, str], why: str) -> None:
    line = launch_line(with_fixes(run(), setting))

    name = next(iter(setting))
    in_line = [one.name for one in line.settings]
    if why:
        assert name not in in_line
        assert any(why in one.why for one in line.left_out)
    else:
        assert name in in_line
        assert any("FAR" in one for one in line.remarks)


def test_a_fix_that_needs_a_file_first_is_no_setting() -> None:
    report = with_fixes(run(), {"XLA_FLAGS": "--xla_gpu_pgle_profile_file_or_directory_path=/path/to/profile.pb"})

    assert not any("pgle" in one for one in written(launch_line(report)))


@pytest.mark.parametrize("fixture", sorted(path.parent.name for path in FIXTURES.glob("*/truth.yaml")))
def test_runs_on_cpus_need_none_but_a_log_of_what_is_traced_again(fixture: str) -> None:
    """The log saves nothing by itself, so no saving stands beside it."""
    settings = launch_line(tfadvisor.analyze(FIXTURES / fixture)).settings

    if fixture == "jax-recompile":
        assert settings[0].written == "JAX_EXPLAIN_CACHE_MISSES=1"
        assert {one.saving for one in settings} == {""}
    else:
        assert settings == ()


def test_the_command_in_text_and_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert guarded_main(["flags", "suggest", str(FIXTURES / "jax-loader")]) == 0
    assert "No flag or variable is worth setting for this run." in capsys.readouterr().out

    assert guarded_main(["flags", "suggest", str(FIXTURES / "jax-loader"), "--format", "json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert (data["schema_version"], data["line"], data["settings"]) == ("1", COMMAND, [])

    assert guarded_main(["flags", "suggest", str(tmp_path)]) == 3


def test_text_gives_each_setting_its_reason() -> None:
    report = run(hosts=2)

    text = [one.text for one in lines(report, launch_line(report))]

    at = text.index(SCHEDULER)
    assert text[at + 1].startswith("exposed-collectives: ")
    assert "left out: --xla_gpu_shard_autotuning=true: set so by default in that version" in text
