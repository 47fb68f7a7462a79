"""`tfadvisor export`: where it writes, what it refuses."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from support.perfetto_reader import read
from support.places import FIXTURES
from support.trace_builder import trace

COMMAND = Path(sys.executable).parent / "tfadvisor"
RUN = FIXTURES / "jax-loader"


def export(*arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [COMMAND, "export", *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
    )


def test_help_teaches() -> None:
    done = export("--help")

    assert done.returncode == 0
    for word in ("ui.perfetto.dev", "--to", "Examples", "Exit codes"):
        assert word in done.stdout


@pytest.mark.parametrize(
    "arguments",
    [
        [RUN],
        [RUN, "--to", "excel", "-o", "x"],
        [RUN, "--to", "perfetto", "-o", RUN / "run.pftrace"],
        [RUN, "--to", "perfetto", "-o", "/nonexistent/run.pftrace"],
        [RUN, "--to", "perfetto", "-o", "/tmp"],
        [RUN, "--to", "perfetto", "-o", "x", "--run", "nowhere"],
    ],
    ids=lambda arguments: " ".join(Path(str(one)).name for one in arguments),
)
def test_wrong_use_exits_with_2_and_one_message(arguments: list[object]) -> None:
    done = export(*arguments)

    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("tfadvisor: ")
    assert "Traceback" not in done.stderr


def test_without_a_name_it_is_named_after_the_run_and_overwrites_nothing(
    tmp_path: Path,
) -> None:
    def call() -> subprocess.CompletedProcess[str]:
        command = [COMMAND, "export", RUN, "--to", "perfetto"]
        return subprocess.run(
            command, cwd=tmp_path, capture_output=True, text=True, check=False
        )

    first, second = call(), call()

    assert (first.returncode, first.stdout) == (0, "")
    assert first.stderr == "tfadvisor: wrote jax-loader.pftrace.\n"
    assert (second.returncode, second.stdout) == (2, "")
    assert (
        second.stderr
        == "tfadvisor: jax-loader.pftrace is there already. Give a name: -o FILE.\n"
    )
    assert [path.name for path in tmp_path.iterdir()] == ["jax-loader.pftrace"]


def test_nothing_to_export_exits_with_3(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()

    done = export(
        tmp_path / "empty", "--to", "perfetto", "-o", tmp_path / "run.pftrace"
    )

    assert (done.returncode, done.stdout) == (3, "")
    assert not (tmp_path / "run.pftrace").exists()


def test_a_file_that_cannot_be_read_leaves_what_was_there(tmp_path: Path) -> None:
    damaged, target = tmp_path / "h.xplane.pb", tmp_path / "out" / "run.pftrace"
    damaged.write_bytes(trace().steps(3, period=100).bytes()[:-5])
    target.parent.mkdir()
    target.write_text("before")

    done = export(damaged, "--to", "perfetto", "-o", target)

    assert done.returncode == 3
    assert target.read_text() == "before"
    assert [path.name for path in target.parent.iterdir()] == ["run.pftrace"]


def test_only_the_file_is_there_and_a_second_export_is_the_same(tmp_path: Path) -> None:
    for _ in range(2):
        assert (
            export(RUN, "--to", "perfetto", "-o", tmp_path / "a.pftrace").returncode
            == 0
        )
    first = (tmp_path / "a.pftrace").read_bytes()
    assert export(RUN, "--to", "perfetto", "-o", tmp_path / "b.pftrace").returncode == 0

    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "a.pftrace",
        "b.pftrace",
    ]
    assert (tmp_path / "b.pftrace").read_bytes() == first


def test_a_packed_file_holds_the_same(tmp_path: Path) -> None:
    for name in ("a.pftrace", "a.pftrace.gz"):
        assert export(RUN, "--to", "perfetto", "-o", tmp_path / name).returncode == 0

    assert read(tmp_path / "a.pftrace.gz") == read(tmp_path / "a.pftrace")
    assert (tmp_path / "a.pftrace.gz").stat().st_size < (
        tmp_path / "a.pftrace"
    ).stat().st_size / 3


def test_analyze_loads_nothing_of_it() -> None:
    """Starting any other command stays quick."""
    code = (
        "import sys; from tfadvisor.cli.main import guarded_main; "
        f"guarded_main(['analyze', {str(RUN)!r}, '--format', 'json']); "
        "sys.stderr.write(str([name for name in sys.modules if 'export' in name or "
        "'pyarrow' in name]))"
    )

    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )

    assert done.stderr == "[]"
