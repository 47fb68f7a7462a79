"""Pipes and devices among what the command reads beside a trace: refused or left out
with a line, never waited for. In place of a trace: tests/system/cli/test_bad_input.py.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.said import Say
from support.trace_builder import trace

from tfadvisor.trace.runs import find_runs


@pytest.fixture(autouse=True)
def at_once() -> Iterator[None]:
    """Waiting for ever fails the test instead."""
    signal.alarm(20)
    yield
    signal.alarm(0)


@pytest.fixture
def host(tmp_path: Path) -> Path:
    """A trace."""
    path = tmp_path / "host.xplane.pb"
    path.write_bytes(trace().steps(3, period=100).busy("GPU:0", (0, 250)).bytes())
    return path


def test_a_pipe_beside_a_trace_is_a_host_that_is_left_out(say: Say, host: Path) -> None:
    os.mkfifo(host.with_name("pipe.xplane.pb"))

    said = say("analyze", host.parent)

    assert said.code == 0
    assert "it is a pipe, not a file" in " ".join(said.out.split())


def test_a_link_to_the_system_in_a_logdir_is_passed_over(host: Path) -> None:
    """Through /proc/self/root lies the whole machine."""
    (host.parent / "deep").mkdir()
    (host.parent / "deep" / "link").symlink_to("/proc")

    assert [run.path for run in find_runs(host.parent)] == [host.parent]


def test_a_pipe_in_a_rules_folder_is_a_broken_rule(say: Say, host: Path) -> None:
    rules = host.parent / "rules"
    rules.mkdir()
    os.mkfifo(rules / "mine.yaml")

    code, _, err = say("analyze", host, "--rules", rules)

    assert code == 5
    assert "mine.yaml" in err
    assert "it is a pipe, not a file" in err


def test_a_pipe_as_configuration(say: Say, host: Path) -> None:
    config = host.with_name("tfadvisor.toml")
    os.mkfifo(config)

    code, _, err = say("gate", host, "--config", config)

    assert code == 2
    assert "it is a pipe, not a file" in err


@pytest.mark.parametrize("kind", ["pipe", "/dev/zero"])
def test_a_report_is_made_without_a_ledger_that_is_no_file(
    say: Say, host: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    """Since nobody has asked for it; a note says so."""
    monkeypatch.chdir(host.parent)
    ledger = host.parent / ".tfadvisor" / "ledger.jsonl"
    ledger.parent.mkdir()
    os.mkfifo(ledger) if kind == "pipe" else ledger.symlink_to(kind)

    said = say("analyze", host)

    assert said.code == 0
    assert "not a file" in " ".join(said.out.split())


def test_a_pipe_in_a_baseline_is_left_out(say: Say, tmp_path: Path) -> None:
    (tmp_path / "store" / "default").mkdir(parents=True)
    os.mkfifo(tmp_path / "store" / "default" / "run.json")

    code, _, err = say("baseline", "list", "--store", tmp_path / "store")

    assert code == 0
    assert "it is a pipe, not a file" in err
