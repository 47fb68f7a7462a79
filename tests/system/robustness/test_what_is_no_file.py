"""Pipes, sockets, devices and files of /proc: refused or skipped with a line, never
waited for.
"""

from __future__ import annotations

import os
import signal
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.trace_builder import trace

from tfadvisor.cli.main import guarded_main
from tfadvisor.trace.runs import find_runs


@pytest.fixture(autouse=True)
def at_once() -> Iterator[None]:
    """Waiting for ever fails the test instead."""
    signal.alarm(20)
    yield
    signal.alarm(0)


@pytest.fixture
def fifo(tmp_path: Path) -> Path:
    path = tmp_path / "logdir" / "pipe.xplane.pb"
    path.parent.mkdir()
    os.mkfifo(path)
    return path


def good() -> bytes:
    return trace().steps(3, period=100).busy("GPU:0", (0, 250)).bytes()


def said(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str]:
    code = guarded_main([str(one) for one in arguments])
    err = capsys.readouterr().err
    assert all(line.startswith("tfadvisor: ") for line in err.splitlines())
    assert "bug" not in err
    return code, err


@pytest.mark.parametrize("inside", [False, True], ids=["itself", "in a logdir"])
def test_a_pipe(fifo: Path, capsys: pytest.CaptureFixture[str], inside: bool) -> None:
    code, err = said(capsys, "analyze", fifo.parent if inside else fifo)

    assert code == 3
    assert "it is a pipe, not a file" in err


def test_a_pipe_beside_a_trace_is_a_host_that_is_left_out(
    fifo: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (fifo.parent / "host.xplane.pb").write_bytes(good())

    code = guarded_main(["analyze", str(fifo.parent)])

    assert code == 0
    assert "it is a pipe, not a file" in " ".join(capsys.readouterr().out.split())


def test_a_socket(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # a socket's name may have 108 bytes
    with socket.socket(socket.AF_UNIX) as one:
        one.bind("s.xplane.pb")

        code, err = said(capsys, "analyze", "s.xplane.pb")

    assert code == 3
    assert "it is a socket, not a file" in err


@pytest.mark.parametrize("device", ["/dev/zero", "/dev/tty", "/dev/full"])
def test_a_device(capsys: pytest.CaptureFixture[str], device: str) -> None:
    code, err = said(capsys, "analyze", device)

    assert code == 3
    assert "it is a device, not a file" in err


@pytest.mark.parametrize(
    "name", ["/proc/kmsg", "/proc/self/mem", "/proc/self/maps", "/proc/self/environ"]
)
def test_a_file_of_the_system(capsys: pytest.CaptureFixture[str], name: str) -> None:
    code, _ = said(capsys, "analyze", name)

    assert code == 3


@pytest.mark.parametrize("folder", ["/proc", "/proc/self", "/sys", "/dev"])
def test_a_folder_of_the_system_is_not_searched(
    capsys: pytest.CaptureFixture[str], folder: str
) -> None:
    """Through /proc/self/root lies the whole machine."""
    code, err = said(capsys, "analyze", folder)

    assert code == 3
    assert "is a folder of the system" in err


def test_a_link_to_the_system_in_a_logdir_is_passed_over(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "link").symlink_to("/proc")
    (tmp_path / "host.xplane.pb").write_bytes(good())

    assert [run.path for run in find_runs(tmp_path)] == [tmp_path]


def test_a_pipe_in_a_rules_folder_is_a_broken_rule(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "rules").mkdir()
    os.mkfifo(tmp_path / "rules" / "mine.yaml")
    (tmp_path / "host.xplane.pb").write_bytes(good())

    code, err = said(
        capsys, "analyze", tmp_path / "host.xplane.pb", "--rules", tmp_path / "rules"
    )

    assert code == 5
    assert "mine.yaml" in err
    assert "it is a pipe, not a file" in err


def test_a_pipe_as_configuration(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    os.mkfifo(tmp_path / "tfadvisor.toml")
    (tmp_path / "host.xplane.pb").write_bytes(good())

    code, err = said(
        capsys,
        "gate",
        tmp_path / "host.xplane.pb",
        "--config",
        tmp_path / "tfadvisor.toml",
    )

    assert code == 2
    assert "it is a pipe, not a file" in err


@pytest.mark.parametrize("kind", ["pipe", "/dev/zero"])
def test_a_ledger_that_is_no_file(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    kind: str,
) -> None:
    """A report is made without it, since nobody has asked for it."""
    monkeypatch.chdir(tmp_path)
    ledger = tmp_path / ".tfadvisor" / "ledger.jsonl"
    ledger.parent.mkdir()
    os.mkfifo(ledger) if kind == "pipe" else ledger.symlink_to(kind)
    (tmp_path / "host.xplane.pb").write_bytes(good())

    code, err = said(capsys, "analyze", "host.xplane.pb")

    assert code == 0
    assert "not a file" in err


def test_a_pipe_in_a_baseline_is_left_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "store" / "default").mkdir(parents=True)
    os.mkfifo(tmp_path / "store" / "default" / "run.json")

    code, err = said(capsys, "baseline", "list", "--store", tmp_path / "store")

    assert code in (0, 3)
    assert "it is a pipe, not a file" in err
