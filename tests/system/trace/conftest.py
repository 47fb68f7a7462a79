"""Every test here has a trace to put somewhere."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from support.trace_builder import trace
from support.web_server import Objects, web_server

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
