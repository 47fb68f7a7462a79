"""Which run is read, and what is said of how it is read."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from support.places import FIXTURES

from tfadvisor.cli.main import guarded_main


@pytest.fixture
def hosts(tmp_path: Path) -> Path:
    """Alpha's and beta's traces of one job, in folders of their own."""
    for host, second in (("alpha", "06"), ("beta", "09")):
        folder = tmp_path / f"2026_01_01_00_00_{second}"
        folder.mkdir()
        shutil.copy(FIXTURES / "jax-hosts-late" / f"{host}.xplane.pb.gz", folder)
    return tmp_path


@pytest.mark.parametrize(
    ("named", "hosts_read"),
    [
        (["--run", "2026_01_01_00_00_06"], "1 CPU"),
        (["--run", "2026_01_01_00_00_06", "--run", "2026_01_01_00_00_09"], "2 hosts"),
        (["--run", "2026_01_01_00_00_06,2026_01_01_00_00_09"], "2 hosts"),
        ([], "2 hosts"),
    ],
)
def test_each_run_that_is_named_is_read(
    hosts: Path,
    named: list[str],
    hosts_read: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert guarded_main(["analyze", str(hosts), *named]) == 0

    assert f" · {hosts_read} · " in capsys.readouterr().out.splitlines()[0]


def test_an_installation_without_a_compiler_says_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("tfadvisor.trace.decode.is_compiled", lambda: False)
    monkeypatch.setattr(Path, "is_file", lambda _path: False)  # no checkout either

    assert guarded_main(["analyze", str(FIXTURES / "jax-logging")]) == 0

    assert "made without a C compiler" in capsys.readouterr().err
