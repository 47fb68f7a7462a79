"""Every test here has a trace to put somewhere."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from support.trace_builder import trace
from support.web_server import Objects, web_server

from tfadvisor.cli.main import guarded_main
from tfadvisor.trace import local_copies as transfer


@pytest.fixture(autouse=True)
def no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    """Before another try."""
    monkeypatch.setattr(transfer, "_PAUSE_S", 0.0)


@pytest.fixture
def web() -> Iterator[Objects]:
    """A web server."""
    with web_server() as held:
        yield held


@pytest.fixture
def good() -> bytes:
    """A trace of three steps of 100 ms."""
    return trace().steps(3, period=100).busy("GPU:0", (0, 250)).bytes()


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
