"""A folder of runs of two teams, and the command in this process."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.fleet_runs import add

from tfadvisor.cli.main import guarded_main

pytest.importorskip("pyarrow", reason="the extra fleet is not installed")


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    """Two runs of vision, one of them on two hosts, one of text, and one that no
    profiler wrote.
    """
    folder = tmp_path / "logs"
    add(folder, "vision/resnet/a/2026_01_02_03_04_05")
    add(folder, "vision/resnet/b/2026_01_03_03_04_05", busy=20, hosts=2)
    add(folder, "text/bert/a/2026_01_04_03_04_05", busy=20)
    broken = add(folder, "text/bert/b/2026_01_05_03_04_05")
    for file in broken.iterdir():
        file.write_bytes(b"\xff" * 3000)
    return folder


@pytest.fixture
def say(capsys: pytest.CaptureFixture[str]):
    """Runs the command in this process and returns (exit code, stdout, stderr)."""

    def run(*arguments: object) -> tuple[int, str, str]:
        code = guarded_main([str(one) for one in arguments])
        out, err = capsys.readouterr()
        assert "Traceback" not in err
        assert "bug in tfadvisor" not in err
        return code, out, err

    return run
