"""`tfadvisor export --to pgle`: the file, what is printed, what is refused."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from support.places import FIXTURES
from support.trace_builder import TraceBuilder, trace

from tfadvisor.advice.flags.check import check
from tfadvisor.serve.export.pgle import InstructionCost, as_binary

COMMAND = Path(sys.executable).parent / "tfadvisor"


def export(
    *arguments: object, cwd: Path | None = None
) -> subprocess.CompletedProcess[str]:
    command = [COMMAND, "export", *map(str, arguments), "--to", "pgle"]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)


def run(dot: float, version: str | None = "0.9.2") -> TraceBuilder:
    """Three steps of JAX, each with a product of that many µs and an all-reduce of 5
    µs.
    """
    builder = trace().call("PjitFunction(step)", 0, 1)
    if version is not None:
        builder.plane_stat("/host:CPU", jax_version=version)
    for at in (0, 100, 200):
        for op, start, end in (
            ("dot.1", at, at + dot),
            ("all-reduce.2", at + 60, at + 65),
        ):
            builder.on_line(
                "/device:GPU:0",
                "Stream #1",
                op,
                start,
                end,
                hlo_op=op,
                hlo_module="jit_step",
                program_id=7,
            )
    return builder


def test_the_profile_and_the_line_that_uses_it(tmp_path: Path) -> None:
    run(10).write(tmp_path / "logdir")

    done = export(tmp_path / "logdir", "-o", tmp_path / "a.pb")

    assert (done.returncode, done.stderr) == (0, f"tfadvisor: wrote {tmp_path}/a.pb.\n")
    assert (tmp_path / "a.pb").read_bytes() == as_binary(
        {"all-reduce.2": InstructionCost(5.0, 3), "dot.1": InstructionCost(10.0, 3)}
    )
    assert done.stdout.splitlines() == [
        "# 2 instructions, 6 executions, from 1 trace. Compile with them:",
        "XLA_FLAGS='--xla_gpu_enable_latency_hiding_scheduler=true "
        f"--xla_gpu_pgle_profile_file_or_directory_path={tmp_path}/a.pb'",
    ]


def test_the_printed_line_passes_the_check_of_flags(tmp_path: Path) -> None:
    run(10).write(tmp_path / "logdir")

    lines = export(tmp_path / "logdir", "-o", tmp_path / "a.pb").stdout.splitlines()

    checked = check(lines[1], "0.9.2")
    assert checked.settings
    assert not checked.has("warning")


def test_a_copy_of_a_file_counts_once(tmp_path: Path) -> None:
    runs = [run(10).write(tmp_path / name) for name in ("one", "two")]

    done = export(*runs, "-o", tmp_path / "a.pb")

    assert "holds the very bytes of another file" in done.stderr
    assert "from 1 trace." in done.stdout


def test_without_a_name_it_is_named_after_the_run(tmp_path: Path) -> None:
    run(10).write(tmp_path / "logdir" / "monday")

    assert export(tmp_path / "logdir" / "monday", cwd=tmp_path).returncode == 0
    assert (tmp_path / "monday.pgle.pb").read_bytes()


def test_a_version_that_does_not_say_is_judged_by_the_newest(tmp_path: Path) -> None:
    run(10, version=None).write(tmp_path / "logdir")

    assert (
        "the newest recorded"
        in export(tmp_path / "logdir", "-o", tmp_path / "a.pb").stdout
    )


def test_a_run_on_a_cpu_is_refused_in_one_sentence(tmp_path: Path) -> None:
    done = export(FIXTURES / "jax-loader", "-o", tmp_path / "a.pb")

    assert (done.returncode, done.stdout) == (3, "")
    assert "no plane of a GPU" in done.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["-o", "a.bin"], "ends in .pb"),
        (["-o", "a.pb.gz"], "ends in .pb"),
        (["-o", "a.pb", "--steps", "1:2"], "whole traces"),
        (["-o", "logdir/a.pb"], "nothing is written into what is analysed"),
        (["-o", "a.pb", "--run", "nowhere"], "is not there"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_wrong_use_exits_with_2(
    arguments: list[str], says: str, tmp_path: Path
) -> None:
    run(10).write(tmp_path / "logdir")

    done = export("logdir", *arguments, cwd=tmp_path)

    assert (done.returncode, done.stdout) == (2, "")
    assert says in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["logdir"]
