"""What lies beside a trace in a store: one listing tells it, however many hosts ask."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from support.trace_builder import trace

import tfadvisor
from tfadvisor.errors import TraceError
from tfadvisor.fleet.build import Labels, find_tasks
from tfadvisor.fleet.work import HowToRead, row_of
from tfadvisor.trace import remote_path, stores
from tfadvisor.trace.counters import read_counters
from tfadvisor.trace.remote_path import RemotePath, place_of, places_of
from tfadvisor.trace.stores import Refused

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
    """Two hosts, of which the second has counters, and a folder without traces."""
    store, folder = fsspec.core.url_to_fs(RUN)
    store.pipe_file(f"{folder}/w0.xplane.pb", trace().steps(3, period=110).busy("GPU:0", (0, 250)).bytes())
    store.pipe_file(f"{folder}/w1.xplane.pb", good)
    store.pipe_file(f"{folder}/w1.machine.json", json.dumps(COUNTERS).encode())
    store.pipe_file(f"{folder}/w0.machine.json.d/x", b"")
    yield RUN
    store.rm("/beside", recursive=True)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often the store was asked, by what."""
    counted: Counter[str] = Counter()

    def counting(name: str) -> Callable[[str], Any]:
        ask = getattr(stores, name)

        def asks(address: str) -> Any:
            counted[name] += 1
            return ask(address)

        return asks

    for name in ("entry_of", "objects_in", "objects_below"):
        monkeypatch.setattr(remote_path, name, counting(name))
    return counted


def test_of_a_logdir_the_listing_that_found_the_traces_tells_all(run: str, asked: Counter[str]) -> None:
    report = tfadvisor.analyze("memory://beside/log")

    assert len(report.run.hosts) == 2
    assert asked == {"entry_of": 1, "objects_below": 1}  # whether it is a folder; what lies there


def test_counters_beside_a_listed_trace_are_read_without_asking(run: str, asked: Counter[str]) -> None:
    folder = place_of("memory://beside/log")
    assert isinstance(folder, RemotePath)
    (with_counters,) = (file for file in folder.files_below() if file.name == "w1.xplane.pb")
    counted = read_counters(with_counters, "w1").counted

    assert counted is not None
    assert counted.seconds == 10
    assert asked == {"objects_below": 1}


def test_what_lies_beside_a_single_file_is_asked_for_by_name(run: str, asked: Counter[str]) -> None:
    """Its folder may hold any number of others."""
    file = place_of(f"{run}/w1.xplane.pb")

    assert file.with_name("w1.machine.json").is_file()
    assert not file.with_name("w0.machine.json").is_file()
    assert asked == {"entry_of": 2}


def test_files_of_one_folder_share_its_listing(run: str, asked: Counter[str]) -> None:
    files = places_of([f"{run}/w0.xplane.pb", f"{run}/w1.xplane.pb", f"{run}/w2.xplane.pb"])
    counters = files[1].with_name("w1.machine.json")

    assert [file.is_file() for file in files] == [True, True, False]
    assert counters.stat().st_size == len(json.dumps(COUNTERS))
    assert asked == {"objects_in": 1}


def test_a_run_of_a_fleet_costs_one_listing_where_it_is_read(run: str, asked: Counter[str]) -> None:
    (task,) = find_tasks([place_of("memory://beside/log")], Labels(None), HowToRead()).tasks
    asked.clear()

    row = row_of(task)

    assert (row.error, row.hosts) == (None, 2)
    assert asked == {"objects_in": 1}


def test_a_single_file_in_a_fleet_is_read_without_listing_its_folder(run: str, asked: Counter[str]) -> None:
    (task,) = find_tasks([place_of(f"{run}/w1.xplane.pb")], Labels(None), HowToRead()).tasks
    asked.clear()

    assert row_of(task).error is None
    assert asked["objects_in"] == 0


def test_a_folder_beside_it_is_none_of_its_files(run: str) -> None:
    (file,) = places_of([f"{run}/w1.xplane.pb"])

    assert not file.with_name("w0.machine.json.d").is_file()
    assert file.with_name("w0.xplane.pb").is_file()


def test_a_store_that_lists_nothing_is_asked_by_name(
    run: str, asked: Counter[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(address: str) -> None:
        raise Refused(address, "the store lists nothing")

    monkeypatch.setattr(remote_path, "objects_in", refuse)
    (file,) = places_of([f"{run}/w1.xplane.pb"])

    assert file.with_name("w1.machine.json").is_file()
    assert not file.with_name("w0.machine.json").is_file()
    assert asked == {"entry_of": 2}


def test_what_is_not_there_says_so(run: str) -> None:
    (missing,) = places_of([f"{run}/w7.xplane.pb"])

    with pytest.raises(FileNotFoundError):
        missing.stat()
    with pytest.raises(TraceError, match="it is not there"):
        missing.open("rb")
