"""What lies beside a trace in a store is asked for by name."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from tfadvisor.errors import TraceError
from tfadvisor.trace.counters import read_counters
from tfadvisor.trace.remote_path import place_of

fsspec = pytest.importorskip("fsspec", reason="the extra remote is not installed")
RUN = "memory://beside/log/plugins/profile/r"
COUNTERS = {
    "version": 1,
    "opened": {"time": 100.0, "busy_seconds": 10, "program_seconds": 4},
    "closed": {"time": 110.0, "busy_seconds": 28, "program_seconds": 14},
    "settings": {"cores": 2, "versions": {"jax": "0.10.2"}},
}


@pytest.fixture
def run(good: bytes) -> Iterator[str]:
    """A host with counters, and a folder beside it."""
    store, folder = fsspec.core.url_to_fs(RUN)
    store.pipe_file(f"{folder}/w1.xplane.pb", good)
    store.pipe_file(f"{folder}/w1.machine.json", json.dumps(COUNTERS).encode())
    store.pipe_file(f"{folder}/w0.machine.json.d/x", b"")
    yield RUN
    store.rm("/beside", recursive=True)


def test_counters_beside_a_trace_are_read(run: str) -> None:
    counted = read_counters(place_of(f"{run}/w1.xplane.pb"), "w1").counted

    assert counted is not None
    assert counted.seconds == 10


def test_what_does_not_lie_beside_it_is_no_file(run: str) -> None:
    file = place_of(f"{run}/w1.xplane.pb")

    assert file.with_name("w1.machine.json").is_file()
    assert not file.with_name("w0.machine.json").is_file()
    assert not file.with_name("w0.machine.json.d").is_file()


def test_what_is_not_there_says_so(run: str) -> None:
    missing = place_of(f"{run}/w7.xplane.pb")

    with pytest.raises(FileNotFoundError):
        missing.stat()
    with pytest.raises(TraceError, match="there is no such object"):
        missing.open("rb")
